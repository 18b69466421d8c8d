-- name: ChangedVersions :many
SELECT run_id, version, content, head_key_id, head_seal, key_id, seal, content_before, earlier_seal
  FROM ledger.changed_versions(%(tenant)s, %(run_ids)s);

-- name: SealVersion :one
SELECT ledger.seal_version(%(tenant)s, %(run_id)s, %(version)s, %(content)s, %(key_id)s, %(seal)s);
