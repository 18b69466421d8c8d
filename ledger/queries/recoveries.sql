-- name: BeginRecovery :one
INSERT INTO ledger.recoveries (tenant, run_id, number, worker, fence)
SELECT %(tenant)s, %(run_id)s, coalesce(max(number), 0) + 1, %(worker)s, %(fence)s
  FROM ledger.recoveries WHERE tenant = %(tenant)s AND run_id = %(run_id)s
RETURNING number;

-- name: EndRecovery :one
-- begun -> resumed | blocked | paused
UPDATE ledger.recoveries
   SET outcome = %(outcome)s, key_id = %(key_id)s, body = %(body)s, ended_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND number = %(number)s AND outcome = 'begun'
RETURNING number;

-- name: ListRecoveries :many
SELECT number, worker, fence, outcome, began_at, ended_at, key_id, body
  FROM ledger.recoveries WHERE tenant = %(tenant)s AND run_id = %(run_id)s ORDER BY number DESC;

-- name: AnswersAtHand :one
-- What earlier workers left: answers that need no call any more, and calls of which nobody knows how they ended.
SELECT count(*) FILTER (WHERE operation.accepted_attempt IS NOT NULL) AS accepted,
       array_agg(operation.operation_id ORDER BY operation.operation_id)
           FILTER (WHERE operation.accepted_attempt IS NULL AND standing.received) AS received,
       array_agg(operation.operation_id ORDER BY operation.operation_id)
           FILTER (WHERE operation.accepted_attempt IS NULL AND NOT standing.received AND standing.begun) AS unanswered
  FROM ledger.operations AS operation
  CROSS JOIN LATERAL (
      SELECT coalesce(bool_or(attempt.outcome = 'started' AND attempt.received_artifact IS NOT NULL), false) AS received,
             coalesce(bool_or(attempt.outcome = 'started' AND attempt.received_artifact IS NULL), false) AS begun
        FROM ledger.attempts AS attempt
       WHERE attempt.tenant = operation.tenant AND attempt.run_id = operation.run_id
         AND attempt.operation_id = operation.operation_id AND operation.accepted_attempt IS NULL) AS standing
 WHERE operation.tenant = %(tenant)s AND operation.run_id = %(run_id)s;
