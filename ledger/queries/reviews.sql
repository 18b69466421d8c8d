-- name: AskReview :none
INSERT INTO ledger.reviews (tenant, run_id, review_id, kind, shown_digest, key_id, body, persons, due_at, at_deadline)
-- stale -> open: exactly the same is asked again
VALUES (%(tenant)s, %(run_id)s, %(review_id)s, %(kind)s, %(shown_digest)s, %(key_id)s, %(body)s, %(persons)s,
        clock_timestamp() + make_interval(secs => %(due_seconds)s::double precision),
        CASE WHEN %(due_seconds)s::double precision IS NOT NULL THEN %(at_deadline)s::text END)
ON CONFLICT (tenant, run_id, review_id) DO UPDATE
   SET status = 'open', persons = excluded.persons, due_at = excluded.due_at, at_deadline = excluded.at_deadline
 WHERE ledger.reviews.status = 'stale';

-- name: StaleReviews :none
-- open -> stale
UPDATE ledger.reviews SET status = 'stale'
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND kind = %(kind)s AND status = 'open'
   AND NOT review_id = ANY (%(kept)s);

-- name: ReplaceReview :none
-- open -> stale: a migration asks another in its place
UPDATE ledger.reviews SET status = 'stale'
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND review_id = %(review_id)s AND status = 'open';

-- name: GetReview :maybe
SELECT review_id, run_id, kind, status, shown_digest, key_id, body, asked_at, decision, decision_key_id, decision_body,
       decided_at, persons, due_at, at_deadline, applied_at, due_at <= clock_timestamp() AS overdue
  FROM ledger.reviews WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND review_id = %(review_id)s;

-- name: FindReviews :many
-- Two rows are enough to know that a prefix is ambiguous.
SELECT review_id, run_id, kind, status, shown_digest, key_id, body, asked_at, decision, decision_key_id, decision_body,
       decided_at, persons, due_at, at_deadline, applied_at, due_at <= clock_timestamp() AS overdue
  FROM ledger.reviews WHERE tenant = %(tenant)s AND starts_with(review_id, %(prefix)s) LIMIT 2;

-- name: ListReviews :many
SELECT review_id, run_id, kind, status, shown_digest, key_id, body, asked_at, decision, decision_key_id, decision_body,
       decided_at, persons, due_at, at_deadline, applied_at, due_at <= clock_timestamp() AS overdue
  FROM ledger.reviews
 WHERE tenant = %(tenant)s AND (%(run_id)s::uuid IS NULL OR run_id = %(run_id)s::uuid)
 ORDER BY asked_at DESC, review_id;

-- name: LockReview :maybe
-- Who decides waits here for whoever decides at the same moment.
SELECT status FROM ledger.reviews
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND review_id = %(review_id)s FOR UPDATE;

-- name: DecideReview :maybe
-- open -> decided
UPDATE ledger.reviews
   SET status = 'decided', decision = %(decision)s, decision_key_id = %(decision_key_id)s,
       decision_body = %(decision_body)s, decided_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND review_id = %(review_id)s AND status = 'open'
   AND shown_digest = %(shown_digest)s
   -- A person decides before the deadline, the deadline after it, by this database's clock.
   AND (coalesce(at_deadline, 'stay') <> 'stay' AND due_at <= clock_timestamp()) = %(by_deadline)s::boolean
RETURNING review_id;

-- name: ApplyReview :maybe
-- What was decided is done once.
UPDATE ledger.reviews SET applied_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND review_id = %(review_id)s AND status = 'decided'
   AND applied_at IS NULL
RETURNING review_id;

-- name: SecondsToDue :one
-- How long it is until a deadline passes at which something happens. One that has passed is found as such, and nothing is
-- waited for: who cannot act on it here would look again and again without a pause.
SELECT extract(epoch FROM min(due_at) - clock_timestamp())::double precision AS seconds
  FROM ledger.reviews JOIN ledger.runs AS run USING (tenant, run_id)
 WHERE tenant = %(tenant)s AND reviews.status = 'open' AND at_deadline <> 'stay' AND run.status = 'paused'
   AND due_at > clock_timestamp();
