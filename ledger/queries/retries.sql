-- name: RequestRetry :one
INSERT INTO ledger.retries (tenant, run_id, task_id, number, rule)
SELECT %(tenant)s, %(run_id)s, task.task_id, coalesce(task.retries, 0) + 1, %(rule)s
  FROM ledger.tasks AS task
 WHERE task.tenant = %(tenant)s AND task.run_id = %(run_id)s AND task.task_id = %(task_id)s
   AND task.status IN ('complete', 'blocked', 'retryable')
RETURNING number;

-- name: ReopenTask :one
-- complete | blocked | retryable -> pending
UPDATE ledger.tasks SET status = 'pending', retries = %(number)s, updated_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND task_id = %(task_id)s
   AND status IN ('complete', 'blocked', 'retryable')
RETURNING task_id;

-- name: SetAside :none
-- What the task found, and what was said of the whole, stands no more until the retry is settled.
UPDATE ledger.findings SET superseded_by = %(mark)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND superseded_by IS NULL
   AND (task_id = %(task_id)s OR kind = 'disagreement');

-- name: NotApplied :many
SELECT task_id, number, rule FROM ledger.retries
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND checkpoint_id IS NULL ORDER BY requested_at, task_id;

-- name: ApplyRetry :none
UPDATE ledger.retries SET checkpoint_id = %(checkpoint_id)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND task_id = %(task_id)s AND number = %(number)s
   AND checkpoint_id IS NULL;

-- name: OpenRetry :maybe
SELECT number, rule FROM ledger.retries
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND task_id = %(task_id)s AND settled IS NULL
 ORDER BY number DESC LIMIT 1;

-- name: SettleRetry :none
UPDATE ledger.retries SET settled = %(settled)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND task_id = %(task_id)s AND number = %(number)s
   AND settled IS NULL;

-- name: FindingsOfRetry :many
-- What was set aside for this retry, and what the retry itself came to.
SELECT finding_id, superseded_by IS NULL AS again,
       coalesce(superseded_by, revived_from) IS NOT DISTINCT FROM %(mark)s AS before
  FROM ledger.findings
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND task_id = %(task_id)s AND kind <> 'disagreement'
   AND (superseded_by = %(mark)s OR superseded_by IS NULL);

-- name: Stand :none
UPDATE ledger.findings SET superseded_by = NULL
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND finding_id = %(finding_id)s;

-- name: ListRetries :many
SELECT task_id, number, rule, requested_at, checkpoint_id, settled FROM ledger.retries
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s ORDER BY requested_at DESC, task_id;

-- name: UndecidedRetries :many
SELECT DISTINCT task_id FROM ledger.retries
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND settled = 'review' AND decided IS NULL ORDER BY task_id;

-- name: DecideRetries :none
UPDATE ledger.retries SET decided = true
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND task_id = %(task_id)s AND settled = 'review' AND decided IS NULL;
