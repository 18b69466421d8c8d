-- name: DescribeWorkflow :none
INSERT INTO ledger.workflows (tenant, fingerprint, workflow_version, topology)
VALUES (%(tenant)s, %(fingerprint)s, %(workflow_version)s, %(topology)s)
ON CONFLICT DO NOTHING;

-- name: DeclareWorker :none
INSERT INTO ledger.workers (tenant, worker, application, versions, fingerprints)
VALUES (%(tenant)s, %(worker)s, %(application)s, %(versions)s::integer[], %(fingerprints)s::text[])
ON CONFLICT (tenant, worker) DO UPDATE
   SET versions = excluded.versions, fingerprints = excluded.fingerprints, at = excluded.at;

-- name: ForgetWorkers :none
-- Those that are gone, once nobody asks any more who was here.
DELETE FROM ledger.workers
 WHERE tenant = %(tenant)s AND at < clock_timestamp() - make_interval(days => %(days)s)
   AND application NOT IN (SELECT application_name FROM pg_stat_activity WHERE application_name IS NOT NULL);

-- name: TopologyOf :maybe
SELECT topology FROM ledger.workflows WHERE tenant = %(tenant)s AND fingerprint = %(fingerprint)s;

-- name: WorkersHere :many
SELECT worker, versions, fingerprints, at,
       application IN (SELECT application_name FROM pg_stat_activity WHERE application_name IS NOT NULL) AS connected
  FROM ledger.workers WHERE tenant = %(tenant)s ORDER BY at DESC, worker;

-- name: UnsupportedRuns :many
-- Runs that are not finished and that no worker takes that was here of late.
SELECT run_id, workflow_version, fingerprint
  FROM ledger.runs AS run
 WHERE tenant = %(tenant)s AND status NOT IN ('completed', 'cancelled')
   AND NOT ledger.supports(%(versions)s::integer[], %(fingerprints)s::text[], workflow_version, fingerprint)
   AND NOT EXISTS (SELECT FROM ledger.workers AS worker
                    WHERE worker.tenant = run.tenant
                      AND ledger.supports(worker.versions, worker.fingerprints, run.workflow_version, run.fingerprint))
 ORDER BY workflow_version, run_id;
