-- name: WorkersOfRuns :many
SELECT run_id,
       CASE WHEN lease.released_at IS NULL AND lease.expires_at > clock_timestamp()
             AND ledger.owner_is_connected(tenant, run_id, lease.fence) THEN 'working'
            WHEN run.status <> 'running' THEN 'none'
            WHEN lease.released_at IS NULL THEN 'orphaned'
            WHEN lease.released_as IN ('drained', 'interrupted') THEN lease.released_as
            ELSE 'none' END AS worker
  FROM ledger.runs AS run JOIN ledger.leases AS lease USING (tenant, run_id)
 WHERE tenant = %(tenant)s;

-- name: FindOrphans :many
-- A worker whose connection was cut comes back at its next beat, so who is patient gives it half of its lease to do so.
SELECT run_id, run.fingerprint, run.workflow_version, lease.owner
  FROM ledger.leases AS lease JOIN ledger.runs AS run USING (tenant, run_id)
 WHERE tenant = %(tenant)s AND lease.released_at IS NULL AND run.status = 'running'
   AND (lease.expires_at <= clock_timestamp()
        OR ((NOT %(patient)s::boolean
             OR clock_timestamp() > lease.renewed_at + (lease.expires_at - lease.renewed_at) / 2)
            AND NOT ledger.owner_is_connected(tenant, run_id, lease.fence)))
   AND ledger.supports(%(versions)s::integer[], %(fingerprints)s::text[], run.workflow_version, run.fingerprint) = %(taken)s
 ORDER BY lease.expires_at;

-- name: NextExpiry :one
-- How long it is until a lease runs out that was not released.
SELECT extract(epoch FROM min(expires_at) - clock_timestamp())::double precision AS seconds
  FROM ledger.leases JOIN ledger.runs AS run USING (tenant, run_id)
 WHERE tenant = %(tenant)s AND released_at IS NULL AND run.status = 'running'
   AND expires_at > clock_timestamp();

-- name: FindPostponed :many
-- Runs that wait for a service and whose time to try again has come.
SELECT run_id, run.fingerprint, run.workflow_version, lease.owner
  FROM ledger.runs AS run JOIN ledger.leases AS lease USING (tenant, run_id)
 WHERE tenant = %(tenant)s AND run.status = 'blocked' AND run.try_again_at <= clock_timestamp()
   AND (lease.released_at IS NOT NULL OR lease.expires_at <= clock_timestamp())
   AND ledger.supports(%(versions)s::integer[], %(fingerprints)s::text[], run.workflow_version, run.fingerprint) = %(taken)s
 ORDER BY run.try_again_at;

-- name: NextTry :one
SELECT extract(epoch FROM min(try_again_at) - clock_timestamp())::double precision AS seconds
  FROM ledger.runs WHERE tenant = %(tenant)s AND status = 'blocked' AND try_again_at > clock_timestamp();

-- name: FindOverdue :many
-- Runs that wait for a person whose time is over; whoever takes one up records that.
SELECT DISTINCT run_id, run.fingerprint, run.workflow_version, lease.owner
  FROM ledger.reviews AS review
  JOIN ledger.runs AS run USING (tenant, run_id)
  JOIN ledger.leases AS lease USING (tenant, run_id)
 WHERE tenant = %(tenant)s AND review.status = 'open' AND review.at_deadline <> 'stay'
   AND review.due_at <= clock_timestamp() AND run.status = 'paused'
   AND (lease.released_at IS NOT NULL OR lease.expires_at <= clock_timestamp())
   AND ledger.supports(%(versions)s::integer[], %(fingerprints)s::text[], run.workflow_version, run.fingerprint) = %(taken)s;
