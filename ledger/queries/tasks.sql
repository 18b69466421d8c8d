-- name: AddTask :none
INSERT INTO ledger.tasks (tenant, run_id, task_id, position, worker, depends_on, status, key_id, body)
VALUES (%(tenant)s, %(run_id)s, %(task_id)s, %(position)s, %(worker)s, %(depends_on)s, 'pending', %(key_id)s, %(body)s)
ON CONFLICT DO NOTHING;

-- name: SupersedePlan :none
-- pending -> superseded
UPDATE ledger.tasks SET status = 'superseded', updated_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND status = 'pending' AND NOT task_id = ANY (%(kept)s);

-- name: RewordTask :one
-- A task that nobody has begun.
UPDATE ledger.tasks SET depends_on = %(depends_on)s, key_id = %(key_id)s, body = %(body)s, updated_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND task_id = %(task_id)s AND status = 'pending'
RETURNING task_id;

-- name: ListTasks :many
SELECT task_id, position, depends_on, worker, status, attempts, coalesce(retries, 0) AS retries, reason, key_id, body
  FROM ledger.tasks WHERE tenant = %(tenant)s AND run_id = %(run_id)s ORDER BY position, task_id;

-- name: GetTask :one
SELECT task_id, position, depends_on, worker, status, attempts, coalesce(retries, 0) AS retries, reason, key_id, body
  FROM ledger.tasks WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND task_id = %(task_id)s;

-- name: ReadyTasks :many
SELECT task_id, position, depends_on, worker, status, attempts, coalesce(retries, 0) AS retries, reason, key_id, body
  FROM ledger.tasks AS waiting
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND status IN ('pending', 'running')
   AND NOT EXISTS (
       SELECT FROM ledger.tasks AS needed
        WHERE needed.tenant = waiting.tenant AND needed.run_id = waiting.run_id
          AND needed.task_id = ANY (waiting.depends_on) AND needed.status IN ('pending', 'running'))
 ORDER BY position, task_id LIMIT %(limit)s;

-- name: BeginTask :none
-- pending -> running; a task that a dead worker left running begins its next attempt
UPDATE ledger.tasks SET status = 'running', attempts = attempts + 1, updated_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND task_id = %(task_id)s AND status IN ('pending', 'running');

-- name: EndTask :none
-- running -> complete | retryable | blocked
UPDATE ledger.tasks
   SET status = %(status)s, reason = %(reason)s, key_id = %(key_id)s, body = %(body)s, updated_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND task_id = %(task_id)s AND status = 'running';

-- name: CountTasks :many
SELECT status, count(*) AS tasks FROM ledger.tasks
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s GROUP BY status;
