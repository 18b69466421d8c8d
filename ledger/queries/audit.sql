-- name: LockChain :one
SELECT pg_advisory_xact_lock(hashtextextended(%(tenant)s || ' audit ' || %(run_id)s::uuid::text, 0));

-- name: HeadOfChain :one
-- The entry that the next one follows, and the time of the next one.
SELECT coalesce(max(sequence), 0) AS sequence,
       (array_agg(hash ORDER BY sequence DESC))[1] AS hash,
       clock_timestamp() AS at
  FROM ledger.audit_log WHERE tenant = %(tenant)s AND run_id = %(run_id)s;

-- name: AppendEntry :none
INSERT INTO ledger.audit_log (tenant, run_id, sequence, event, actor, detail, at, previous, hash)
VALUES (%(tenant)s, %(run_id)s, %(sequence)s, %(event)s, %(actor)s, %(detail)s, %(at)s, %(previous)s, %(hash)s);

-- name: ListEntries :many
SELECT sequence, event, actor, detail, at, previous, hash
  FROM ledger.audit_log WHERE tenant = %(tenant)s AND run_id = %(run_id)s ORDER BY sequence;
