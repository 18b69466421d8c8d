-- name: ReadLease :maybe
SELECT owner, fence, acquired_at, expires_at,
       released_at IS NOT NULL OR expires_at <= clock_timestamp()
       OR NOT ledger.owner_is_connected(tenant, run_id, fence) AS free,
       released_at IS NULL AS unreleased
  FROM ledger.leases WHERE tenant = %(tenant)s AND run_id = %(run_id)s;

-- name: TakeLease :maybe
-- Waits for the commits in flight of the owner before: they hold the row FOR KEY SHARE, which a plain UPDATE passes by.
WITH locked AS (
    SELECT fence FROM ledger.leases WHERE tenant = %(tenant)s AND run_id = %(run_id)s FOR UPDATE
)
INSERT INTO ledger.leases (tenant, run_id, owner, fence, renewed_at, expires_at)
VALUES (%(tenant)s, %(run_id)s, %(owner)s,
        greatest((SELECT fence FROM locked), ledger.newest_fence(%(tenant)s, %(run_id)s)) + 1,
        clock_timestamp(), clock_timestamp() + make_interval(secs => %(seconds)s))
ON CONFLICT (tenant, run_id) DO UPDATE
   SET owner = excluded.owner, fence = excluded.fence, acquired_at = clock_timestamp(),
       renewed_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(secs => %(seconds)s),
       released_at = NULL, released_as = NULL
 WHERE ledger.leases.fence = %(seen)s::bigint
RETURNING fence;

-- name: LockLease :one
SELECT pg_try_advisory_lock(ledger.lease_key(%(tenant)s, %(run_id)s, %(fence)s)) AS taken;

-- name: CutOwner :many
-- Those of the dead owner; and whoever has been at it for as long as a lease lasts, frozen in a take of its own.
-- The server calls a transaction active that its client sends in a pipeline, so no timer ends one whose client is frozen.
SELECT pg_terminate_backend(pid) AS cut
  FROM pg_stat_activity
 WHERE pid = ANY (pg_blocking_pids(%(taker)s))
   AND (application_name = %(application)s
        OR xact_start < clock_timestamp() - make_interval(secs => %(seconds)s));

-- name: RenewLease :maybe
UPDATE ledger.leases
   SET renewed_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(secs => %(seconds)s)
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND fence = %(fence)s AND released_at IS NULL
RETURNING fence;

-- name: ReleaseLease :maybe
UPDATE ledger.leases SET released_at = clock_timestamp(), released_as = %(released_as)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND fence = %(fence)s AND released_at IS NULL
RETURNING fence;
