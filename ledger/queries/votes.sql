-- name: RecordVote :one
INSERT INTO ledger.review_votes (tenant, run_id, review_id, number, choice, key_id, body)
SELECT %(tenant)s, %(run_id)s, %(review_id)s, count(*) + 1, %(choice)s, %(key_id)s, %(body)s
  FROM ledger.review_votes
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND review_id = %(review_id)s
RETURNING number;

-- name: VotesOfReviews :many
SELECT review_id, number, choice, key_id, body, voted_at
  FROM ledger.review_votes
 WHERE tenant = %(tenant)s AND (%(run_id)s::uuid IS NULL OR run_id = %(run_id)s::uuid)
   AND review_id = ANY (%(review_ids)s)
 ORDER BY review_id, number;
