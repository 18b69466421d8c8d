-- name: LogMigration :one
INSERT INTO ledger.workflow_migrations
       (tenant, run_id, number, from_version, from_fingerprint, to_version, to_fingerprint, old_checkpoint, new_checkpoint,
        worker, fence, key_id, body)
SELECT %(tenant)s, %(run_id)s, count(*) + 1, %(from_version)s, %(from_fingerprint)s, %(to_version)s, %(to_fingerprint)s,
       %(old_checkpoint)s, %(new_checkpoint)s, %(worker)s, %(fence)s, %(key_id)s, %(body)s
  FROM ledger.workflow_migrations WHERE tenant = %(tenant)s AND run_id = %(run_id)s
RETURNING number;

-- name: MigrationsOfRun :many
SELECT number, from_version, from_fingerprint, to_version, to_fingerprint, old_checkpoint, new_checkpoint, worker, fence, at,
       key_id, body
  FROM ledger.workflow_migrations WHERE tenant = %(tenant)s AND run_id = %(run_id)s ORDER BY number DESC;

-- name: LockRun :maybe
-- Whoever decides a review of it waits until it is moved, or is seen.
SELECT run_id FROM ledger.runs WHERE tenant = %(tenant)s AND run_id = %(run_id)s FOR UPDATE;

-- name: MoveRun :one
UPDATE ledger.runs
   SET workflow_version = %(to_version)s, fingerprint = %(to_fingerprint)s, key_id = %(key_id)s, body = %(body)s,
       updated_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s
   AND workflow_version = %(from_version)s AND fingerprint = %(from_fingerprint)s
   AND status IN ('running', 'paused', 'blocked', 'failed')
RETURNING run_id;

-- name: OtherwiseBegun :many
-- The unfinished runs of other topologies, after one of them by its id.
SELECT run_id FROM ledger.runs
 WHERE tenant = %(tenant)s AND (workflow_version, fingerprint) <> (%(version)s, %(fingerprint)s)
   AND status IN ('running', 'paused', 'blocked', 'failed')
   AND (%(after)s::uuid IS NULL OR run_id > %(after)s::uuid)
 ORDER BY run_id LIMIT %(limit)s;

-- name: CountOtherwiseBegun :one
SELECT count(*) AS runs FROM ledger.runs
 WHERE tenant = %(tenant)s AND (workflow_version, fingerprint) <> (%(version)s, %(fingerprint)s)
   AND status IN ('running', 'paused', 'blocked', 'failed');
