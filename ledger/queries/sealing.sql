-- name: ChangedVersions :many
SELECT run_id, version, content, head_key_id, head_seal, key_id, seal, content_before, earlier_seal
  FROM ledger.changed_versions(%(tenant)s, %(run_ids)s);

-- name: SealVersion :none
WITH registered AS (
    INSERT INTO ledger.seal_keys (tenant, key_id)
    SELECT %(tenant)s, %(key_id)s
     WHERE NOT EXISTS (SELECT FROM ledger.seal_keys WHERE tenant = %(tenant)s AND key_id = %(key_id)s)
    ON CONFLICT DO NOTHING
), sealed AS (
    INSERT INTO ledger.seals (tenant, run_id, version, content, key_id, seal)
    VALUES (%(tenant)s, %(run_id)s, %(version)s, %(content)s, %(key_id)s, %(seal)s)
)
UPDATE ledger.heads SET key_id = %(key_id)s, seal = %(seal)s WHERE tenant = %(tenant)s AND run_id = %(run_id)s;

-- name: UsedKeys :many
SELECT key_id FROM ledger.seal_keys WHERE tenant = %(tenant)s ORDER BY first_used_at;

-- name: KeysOfRun :many
-- A key that was never registered here is made up: that is damage, and told as such.
SELECT known.key_id FROM ledger.seal_keys AS known
 WHERE known.tenant = %(tenant)s
   AND EXISTS (SELECT FROM ledger.seals AS made
                WHERE made.tenant = known.tenant AND made.run_id = %(run_id)s AND made.key_id = known.key_id);

-- name: SealVersion :one
SELECT ledger.seal_version(%(tenant)s, %(run_id)s, %(version)s, %(content)s, %(key_id)s, %(seal)s);
