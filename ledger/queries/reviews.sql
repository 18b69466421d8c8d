-- name: AskReview :none
INSERT INTO ledger.reviews (tenant, run_id, review_id, kind, shown_digest, key_id, body)
-- stale -> open: exactly the same is asked again
VALUES (%(tenant)s, %(run_id)s, %(review_id)s, %(kind)s, %(shown_digest)s, %(key_id)s, %(body)s)
ON CONFLICT (tenant, run_id, review_id) DO UPDATE SET status = 'open' WHERE ledger.reviews.status = 'stale';

-- name: StaleReviews :none
-- open -> stale
UPDATE ledger.reviews SET status = 'stale'
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND kind = %(kind)s AND status = 'open' AND review_id <> %(review_id)s;

-- name: GetReview :maybe
SELECT review_id, run_id, kind, status, shown_digest, key_id, body, asked_at, decision, decision_key_id, decision_body,
       decided_at
  FROM ledger.reviews WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND review_id = %(review_id)s;

-- name: FindReviews :many
-- Two rows are enough to know that a prefix is ambiguous.
SELECT review_id, run_id, kind, status, shown_digest, key_id, body, asked_at, decision, decision_key_id, decision_body,
       decided_at
  FROM ledger.reviews WHERE tenant = %(tenant)s AND starts_with(review_id, %(prefix)s) LIMIT 2;

-- name: ListReviews :many
SELECT review_id, run_id, kind, status, shown_digest, key_id, body, asked_at, decision, decision_key_id, decision_body,
       decided_at
  FROM ledger.reviews
 WHERE tenant = %(tenant)s AND (%(run_id)s::uuid IS NULL OR run_id = %(run_id)s::uuid)
 ORDER BY asked_at DESC, review_id;

-- name: DecideReview :maybe
-- open -> decided
UPDATE ledger.reviews
   SET status = 'decided', decision = %(decision)s, decision_key_id = %(decision_key_id)s,
       decision_body = %(decision_body)s, decided_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND review_id = %(review_id)s AND status = 'open'
   AND shown_digest = %(shown_digest)s
RETURNING review_id;
