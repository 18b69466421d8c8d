-- name: TryRunLock :one
SELECT pg_try_advisory_lock(hashtextextended(%(tenant)s || ' run ' || %(run_id)s::uuid::text, 0)) AS taken;

-- name: ReleaseRunLock :one
SELECT pg_advisory_unlock(hashtextextended(%(tenant)s || ' run ' || %(run_id)s::uuid::text, 0)) AS released;

-- name: RaiseFence :one
INSERT INTO ledger.leases (tenant, run_id, owner, fence) VALUES (%(tenant)s, %(run_id)s, %(owner)s, 1)
ON CONFLICT (tenant, run_id) DO UPDATE
   SET owner = excluded.owner, fence = ledger.leases.fence + 1, acquired_at = clock_timestamp()
RETURNING fence;

-- name: OwnerOfRun :maybe
SELECT owner FROM ledger.leases WHERE tenant = %(tenant)s AND run_id = %(run_id)s;
