-- name: CreateRun :maybe
INSERT INTO ledger.runs (tenant, run_id, status, phase, key_id, body, workflow_version, fingerprint)
VALUES (%(tenant)s, %(run_id)s, 'running', 'plan', %(key_id)s, %(body)s, %(workflow_version)s, %(fingerprint)s)
ON CONFLICT DO NOTHING
RETURNING run_id, status, phase, reason, key_id, body, workflow_version, fingerprint, corpus_artifact, report_artifact,
          created_at, updated_at, finished_at, try_again_at;

-- name: GetRun :maybe
SELECT run_id, status, phase, reason, key_id, body, workflow_version, fingerprint, corpus_artifact, report_artifact,
       created_at, updated_at, finished_at, try_again_at
  FROM ledger.runs WHERE tenant = %(tenant)s AND run_id = %(run_id)s;

-- name: RunWasRecorded :maybe
-- A run that was there once is not unknown: its row was removed.
SELECT 1 AS recorded FROM ledger.changes
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND table_name = 'runs' LIMIT 1;

-- name: ListRuns :many
SELECT run_id, status, phase, reason, key_id, body, workflow_version, fingerprint, corpus_artifact, report_artifact,
       created_at, updated_at, finished_at, try_again_at
  FROM ledger.runs WHERE tenant = %(tenant)s ORDER BY created_at DESC, run_id DESC;

-- name: RunsByPrefix :many
-- Two rows are enough to know that a prefix is ambiguous.
SELECT run_id, status, phase, reason, key_id, body, workflow_version, fingerprint, corpus_artifact, report_artifact,
       created_at, updated_at, finished_at, try_again_at
  FROM ledger.runs WHERE tenant = %(tenant)s AND starts_with(run_id::text, %(prefix)s) ORDER BY run_id LIMIT 2;

-- name: SetStatus :one
-- running | paused | blocked | failed -> running | paused | blocked | failed
UPDATE ledger.runs
   SET status = %(status)s, reason = %(reason)s, updated_at = clock_timestamp(),
       try_again_at = clock_timestamp() + make_interval(secs => %(again_in)s)
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND status IN ('running', 'paused', 'blocked', 'failed')
RETURNING run_id;

-- name: MinutesSinceStart :one
SELECT (extract(epoch FROM clock_timestamp() - created_at) / 60)::double precision AS minutes
  FROM ledger.runs WHERE tenant = %(tenant)s AND run_id = %(run_id)s;

-- name: SetPhase :one
UPDATE ledger.runs SET phase = %(phase)s, updated_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s RETURNING run_id;

-- name: SetCorpus :none
UPDATE ledger.runs SET corpus_artifact = %(corpus_artifact)s, updated_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND corpus_artifact IS NULL;

-- name: SetOptions :one
UPDATE ledger.runs SET key_id = %(key_id)s, body = %(body)s, updated_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND status IN ('running', 'paused', 'blocked', 'failed')
RETURNING run_id;

-- name: CompleteRun :one
-- running -> completed
UPDATE ledger.runs
   SET status = 'completed', phase = 'done', reason = NULL, report_artifact = %(report_artifact)s,
       finished_at = clock_timestamp(), updated_at = clock_timestamp(), try_again_at = NULL
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND status = 'running' RETURNING run_id;

-- name: CloseReviews :none
-- open -> stale: nothing goes on that a decision could change
UPDATE ledger.reviews SET status = 'stale'
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND status = 'open';

-- name: CancelRun :one
-- running | paused | blocked | failed -> cancelled
UPDATE ledger.runs SET status = 'cancelled', finished_at = clock_timestamp(), updated_at = clock_timestamp(), try_again_at = NULL
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND status IN ('running', 'paused', 'blocked', 'failed')
RETURNING run_id;
