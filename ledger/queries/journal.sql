-- name: BeginOperation :one
-- Returns the accepted result; else the attempt that a dead worker left with its answer; else a new attempt's number.
WITH opened AS (
    INSERT INTO ledger.operations (tenant, run_id, operation_id, task_id, kind, key, key_id, body)
    VALUES (%(tenant)s, %(run_id)s, %(operation_id)s, %(task_id)s, %(kind)s, %(key)s, %(key_id)s, %(body)s)
    ON CONFLICT DO NOTHING
), earlier AS (
    SELECT attempt.* FROM ledger.attempts AS attempt
     WHERE attempt.tenant = %(tenant)s AND attempt.run_id = %(run_id)s AND attempt.operation_id = %(operation_id)s
), accepted AS (
    SELECT artifact.key_id, artifact.body
      FROM ledger.operations AS operation
      JOIN earlier ON earlier.operation_id = operation.operation_id AND earlier.number = operation.accepted_attempt
      JOIN ledger.artifacts AS artifact
        ON artifact.tenant = operation.tenant AND artifact.artifact_id = earlier.result_artifact
     WHERE operation.tenant = %(tenant)s AND operation.run_id = %(run_id)s
), received AS (
    SELECT number, received_artifact, received_key_id, received_body
      FROM earlier WHERE outcome = 'started' AND received_artifact IS NOT NULL ORDER BY number LIMIT 1
), begun AS (
    INSERT INTO ledger.attempts (tenant, run_id, operation_id, number, worker, fence, settings)
    SELECT %(tenant)s, %(run_id)s, %(operation_id)s, (SELECT coalesce(max(number), 0) + 1 FROM earlier),
           %(worker)s, %(fence)s, %(settings)s
     WHERE NOT EXISTS (SELECT FROM accepted) AND NOT EXISTS (SELECT FROM received)
    RETURNING number
)
SELECT (SELECT key_id FROM accepted), (SELECT body FROM accepted),
       coalesce((SELECT number FROM begun), (SELECT number FROM received)) AS number,
       (SELECT received_artifact FROM received), (SELECT received_key_id FROM received),
       (SELECT received_body FROM received);

-- name: AnswerElsewhere :maybe
-- What another operation holds that asks the same: the newest result, else what a dead worker received for it. Nothing
-- where the operation has an answer of its own. What was itself taken from another does not count: that one does.
SELECT operation.operation_id, attempt.number, attempt.result_artifact,
       attempt.received_artifact, attempt.received_key_id, attempt.received_body
  FROM ledger.attempts AS attempt
  JOIN ledger.operations AS operation USING (tenant, run_id, operation_id)
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND operation_id <> %(operation_id)s
   AND attempt.settings ? 'form' AND attempt.settings ->> 'form' = %(form)s AND attempt.settings ->> 'reused' IS NULL
   AND (attempt.number = operation.accepted_attempt
        OR (operation.accepted_attempt IS NULL AND attempt.outcome = 'started'
            AND attempt.received_artifact IS NOT NULL))
   AND NOT EXISTS (SELECT FROM ledger.operations AS own
                    WHERE own.tenant = %(tenant)s AND own.run_id = %(run_id)s
                      AND own.operation_id = %(operation_id)s AND own.accepted_attempt IS NOT NULL)
   AND NOT EXISTS (SELECT FROM ledger.attempts AS own
                    WHERE own.tenant = %(tenant)s AND own.run_id = %(run_id)s
                      AND own.operation_id = %(operation_id)s
                      AND own.outcome = 'started' AND own.received_artifact IS NOT NULL)
 ORDER BY attempt.result_artifact IS NULL, attempt.ended_at DESC, operation_id
 LIMIT 1;

-- name: ReceiveAnswer :one
UPDATE ledger.attempts
   SET received_artifact = %(artifact)s, received_key_id = %(key_id)s, received_body = %(body)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND operation_id = %(operation_id)s AND number = %(number)s
   AND outcome = 'started'
RETURNING number;

-- name: AcceptedResults :many
SELECT operation.operation_id, artifact.key_id, artifact.body
  FROM ledger.operations AS operation
  JOIN ledger.attempts AS attempt
    ON attempt.tenant = operation.tenant AND attempt.run_id = operation.run_id
   AND attempt.operation_id = operation.operation_id AND attempt.number = operation.accepted_attempt
  JOIN ledger.artifacts AS artifact
    ON artifact.tenant = attempt.tenant AND artifact.artifact_id = attempt.result_artifact
 WHERE operation.tenant = %(tenant)s AND operation.run_id = %(run_id)s
   AND operation.operation_id = ANY (%(operation_ids)s);

-- name: HasAnswer :one
-- Whether no call is needed: a result is accepted, or an attempt was left with its answer.
SELECT EXISTS (SELECT FROM ledger.operations AS operation
                WHERE operation.tenant = %(tenant)s AND operation.run_id = %(run_id)s
                  AND operation.operation_id = %(operation_id)s AND operation.accepted_attempt IS NOT NULL)
    OR EXISTS (SELECT FROM ledger.attempts AS attempt
                WHERE attempt.tenant = %(tenant)s AND attempt.run_id = %(run_id)s
                  AND attempt.operation_id = %(operation_id)s
                  AND attempt.outcome = 'started' AND attempt.received_artifact IS NOT NULL) AS answered;

-- name: SucceedAttempt :maybe
-- started -> succeeded; the acceptance rule `first`: only an operation without an accepted attempt takes one.
WITH succeeded AS (
    UPDATE ledger.attempts
       SET outcome = 'succeeded', ended_at = clock_timestamp(), result_artifact = %(result)s,
           response_id = %(response_id)s, usage = %(usage)s
     WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND operation_id = %(operation_id)s AND number = %(number)s
       AND outcome = 'started'
    RETURNING number
)
UPDATE ledger.operations SET accepted_attempt = %(number)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND operation_id = %(operation_id)s AND accepted_attempt IS NULL
   AND EXISTS (SELECT FROM succeeded)
RETURNING accepted_attempt;

-- name: FailAttempt :one
-- started -> failed
UPDATE ledger.attempts
   SET outcome = 'failed', ended_at = clock_timestamp(), reason = %(reason)s,
       response_id = %(response_id)s, usage = %(usage)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND operation_id = %(operation_id)s AND number = %(number)s
   AND outcome = 'started'
RETURNING number;

-- name: SpentByTask :many
-- What calls of one kind cost so far, those that came to nothing too.
SELECT operation.task_id, count(*) AS calls,
       coalesce(sum((attempt.usage->>'prompt_tokens')::numeric), 0)::double precision AS prompt_tokens,
       coalesce(sum((attempt.usage->>'completion_tokens')::numeric), 0)::double precision AS completion_tokens,
       coalesce(sum((attempt.usage->>'cost_usd')::numeric), 0)::double precision AS cost_usd
  FROM ledger.operations AS operation
  JOIN ledger.attempts AS attempt USING (tenant, run_id, operation_id)
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND operation.kind = %(kind)s
 GROUP BY operation.task_id;

-- name: ListOperations :many
SELECT operation_id, task_id, kind, key, key_id, body, accepted_attempt
  FROM ledger.operations WHERE tenant = %(tenant)s AND run_id = %(run_id)s ORDER BY created_at, operation_id;

-- name: ListAttempts :many
SELECT attempt.operation_id, attempt.number, attempt.worker, attempt.fence, attempt.settings, attempt.started_at,
       attempt.ended_at, attempt.outcome, attempt.reason, attempt.response_id, attempt.usage,
       attempt.received_artifact IS NOT NULL AS received,
       attempt.number IS NOT DISTINCT FROM operation.accepted_attempt AS accepted
  FROM ledger.attempts AS attempt
  JOIN ledger.operations AS operation USING (tenant, run_id, operation_id)
 WHERE attempt.tenant = %(tenant)s AND attempt.run_id = %(run_id)s ORDER BY attempt.operation_id, attempt.number;
