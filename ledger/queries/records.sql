-- name: RecordCheckpoint :none
INSERT INTO ledger.checkpoint_records (tenant, run_id, checkpoint_ns, checkpoint_id, parent_checkpoint, schema_version,
                                       workflow_version, fingerprint, boundary, phase, step, tasks, fence)
VALUES (%(tenant)s, %(run_id)s, %(checkpoint_ns)s, %(checkpoint_id)s, %(parent_checkpoint)s, %(schema_version)s,
        %(workflow_version)s, %(fingerprint)s, %(boundary)s, %(phase)s, %(step)s, %(tasks)s, %(fence)s)
ON CONFLICT DO NOTHING;

-- name: ListRecords :many
SELECT checkpoint_id, checkpoint_ns, parent_checkpoint, schema_version, workflow_version, fingerprint, boundary, phase,
       step, tasks, fence, created_at
  FROM ledger.checkpoint_records WHERE tenant = %(tenant)s AND run_id = %(run_id)s
 ORDER BY created_at DESC, checkpoint_id DESC;
