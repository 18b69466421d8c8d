-- name: ChangedVersions :many
-- The versions that this transaction made of these runs, each with what it was made on top of.
SELECT head.run_id, head.version, head.key_id AS head_key_id, head.seal AS head_seal, before.key_id, before.seal,
       before.content AS content_before, earlier.seal AS earlier_seal,
       (SELECT made.content FROM ledger.contents AS made
         WHERE made.tenant = head.tenant AND made.run_id = head.run_id AND made.version = head.version) AS content
  FROM ledger.heads AS head
  LEFT JOIN ledger.seals AS before
    ON before.tenant = head.tenant AND before.run_id = head.run_id AND before.version = head.version - 1
  LEFT JOIN ledger.seals AS earlier
    ON earlier.tenant = head.tenant AND earlier.run_id = head.run_id AND earlier.version = head.version - 2
 WHERE head.tenant = %(tenant)s AND head.run_id = ANY (%(run_ids)s)
   AND head.transaction = pg_current_xact_id_if_assigned();

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

-- name: KeyOfRun :maybe
SELECT head.key_id, EXISTS (SELECT FROM ledger.seal_keys AS known
                             WHERE known.tenant = head.tenant AND known.key_id = head.key_id) AS registered
  FROM ledger.heads AS head WHERE head.tenant = %(tenant)s AND head.run_id = %(run_id)s;
