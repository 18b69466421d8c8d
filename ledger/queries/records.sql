-- name: ListRecords :many
SELECT checkpoint_id, checkpoint_ns, parent_checkpoint, schema_version, workflow_version, fingerprint, boundary, phase,
       step, tasks, fence, created_at, ledger_version, ledger_seal, summary_artifact, approval, wave,
       effects
  FROM ledger.checkpoint_records WHERE tenant = %(tenant)s AND run_id = %(run_id)s
 ORDER BY created_at DESC, checkpoint_id DESC;

-- name: StoredCheckpoints :many
-- What is stored of these, in their order.
SELECT %(thread_id)s::text AS thread_id, named.checkpoint_ns, named.checkpoint_id, stored.*
  FROM unnest(%(namespaces)s::text[], %(checkpoint_ids)s::text[])
       WITH ORDINALITY AS named (checkpoint_ns, checkpoint_id, position)
 CROSS JOIN LATERAL ledger.stored_checkpoint(%(tenant)s, %(thread_id)s, named.checkpoint_ns, named.checkpoint_id) AS stored
 ORDER BY named.position;
