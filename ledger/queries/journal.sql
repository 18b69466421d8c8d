-- name: OpenOperation :none
INSERT INTO ledger.operations (tenant, run_id, operation_id, task_id, kind, key, key_id, body)
VALUES (%(tenant)s, %(run_id)s, %(operation_id)s, %(task_id)s, %(kind)s, %(key)s, %(key_id)s, %(body)s)
ON CONFLICT DO NOTHING;

-- name: AcceptedResult :maybe
SELECT artifact.key_id, artifact.body
  FROM ledger.operations AS operation
  JOIN ledger.attempts AS attempt
    ON attempt.tenant = operation.tenant AND attempt.run_id = operation.run_id
   AND attempt.operation_id = operation.operation_id AND attempt.number = operation.accepted_attempt
  JOIN ledger.artifacts AS artifact
    ON artifact.tenant = attempt.tenant AND artifact.artifact_id = attempt.result_artifact
 WHERE operation.tenant = %(tenant)s AND operation.run_id = %(run_id)s AND operation.operation_id = %(operation_id)s;

-- name: BeginAttempt :one
INSERT INTO ledger.attempts (tenant, run_id, operation_id, number, worker, fence, settings)
SELECT %(tenant)s, %(run_id)s, %(operation_id)s, coalesce(max(number), 0) + 1, %(worker)s, %(fence)s, %(settings)s
  FROM ledger.attempts
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND operation_id = %(operation_id)s
RETURNING number;

-- name: SucceedAttempt :one
-- started -> succeeded
UPDATE ledger.attempts
   SET outcome = 'succeeded', ended_at = clock_timestamp(), result_artifact = %(result)s,
       response_id = %(response_id)s, usage = %(usage)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND operation_id = %(operation_id)s AND number = %(number)s
   AND outcome = 'started'
RETURNING number;

-- name: FailAttempt :one
-- started -> failed
UPDATE ledger.attempts SET outcome = 'failed', ended_at = clock_timestamp(), reason = %(reason)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND operation_id = %(operation_id)s AND number = %(number)s
   AND outcome = 'started'
RETURNING number;

-- name: AcceptAttempt :maybe
-- The acceptance rule `first`: only an operation without an accepted attempt takes one.
UPDATE ledger.operations SET accepted_attempt = %(number)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND operation_id = %(operation_id)s AND accepted_attempt IS NULL
RETURNING accepted_attempt;

-- name: ListOperations :many
SELECT operation_id, task_id, kind, key, key_id, body, accepted_attempt
  FROM ledger.operations WHERE tenant = %(tenant)s AND run_id = %(run_id)s ORDER BY created_at, operation_id;

-- name: ListAttempts :many
SELECT attempt.operation_id, attempt.number, attempt.worker, attempt.fence, attempt.settings, attempt.started_at,
       attempt.ended_at, attempt.outcome, attempt.reason, attempt.response_id, attempt.usage,
       attempt.number IS NOT DISTINCT FROM operation.accepted_attempt AS accepted
  FROM ledger.attempts AS attempt
  JOIN ledger.operations AS operation USING (tenant, run_id, operation_id)
 WHERE attempt.tenant = %(tenant)s AND attempt.run_id = %(run_id)s ORDER BY attempt.operation_id, attempt.number;
