-- name: ListChanges :many
-- Every row of a run as each change left it; who held the run when, and the chain of the audit log, are of this database.
SELECT version, sequence, table_name, row_key, row FROM ledger.changes
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND NOT table_name = ANY ('{leases,audit_log,recoveries}')
 ORDER BY version, sequence;

-- name: IsRecorded :maybe
SELECT recorded FROM ledger.heads WHERE tenant = %(tenant)s AND run_id = %(run_id)s;

-- name: ExistingArtifacts :many
SELECT artifact_id, media_type FROM ledger.artifacts
 WHERE tenant = %(tenant)s AND artifact_id = ANY (%(artifact_ids)s);

-- name: BesideTriggers :one
-- Of a scratch database: rows are put in as they stood, so nothing is checked or recorded of it.
SELECT set_config('session_replication_role', 'replica', false);

-- name: OthersAtWork :one
-- Whether another session of this database is within a transaction.
SELECT EXISTS (SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
                  AND backend_type = 'client backend') AS found;

-- name: EndOthers :none
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
   AND backend_type = 'client backend';

-- name: ClearRows :none
WITH
  runs AS (DELETE FROM ledger.runs), leases AS (DELETE FROM ledger.leases), heads AS (DELETE FROM ledger.heads),
  tasks AS (DELETE FROM ledger.tasks), retries AS (DELETE FROM ledger.retries), forks AS (DELETE FROM ledger.forks),
  operations AS (DELETE FROM ledger.operations), attempts AS (DELETE FROM ledger.attempts),
  sources AS (DELETE FROM ledger.sources), evidence AS (DELETE FROM ledger.evidence),
  findings AS (DELETE FROM ledger.findings), finding_evidence AS (DELETE FROM ledger.finding_evidence),
  citations AS (DELETE FROM ledger.citations), reviews AS (DELETE FROM ledger.reviews),
  review_votes AS (DELETE FROM ledger.review_votes), effects AS (DELETE FROM ledger.effects),
  effect_attempts AS (DELETE FROM ledger.effect_attempts), effect_keys AS (DELETE FROM ledger.effect_keys),
  audit_log AS (DELETE FROM ledger.audit_log)
SELECT 1;

-- name: PutRows :none
-- `put` holds the rows by table; the run is held by whoever plays it, and none of its changes is recorded.
WITH put AS MATERIALIZED (SELECT %(put)s::jsonb AS rows),
  runs AS (INSERT INTO ledger.runs SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.runs, rows -> 'runs') AS new),
  tasks AS (INSERT INTO ledger.tasks SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.tasks, rows -> 'tasks') AS new),
  retries AS (INSERT INTO ledger.retries SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.retries, rows -> 'retries') AS new),
  forks AS (INSERT INTO ledger.forks SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.forks, rows -> 'forks') AS new),
  operations AS (INSERT INTO ledger.operations SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.operations, rows -> 'operations') AS new),
  attempts AS (INSERT INTO ledger.attempts SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.attempts, rows -> 'attempts') AS new),
  sources AS (INSERT INTO ledger.sources SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.sources, rows -> 'sources') AS new),
  evidence AS (INSERT INTO ledger.evidence SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.evidence, rows -> 'evidence') AS new),
  findings AS (INSERT INTO ledger.findings SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.findings, rows -> 'findings') AS new),
  finding_evidence AS (INSERT INTO ledger.finding_evidence SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.finding_evidence, rows -> 'finding_evidence') AS new),
  citations AS (INSERT INTO ledger.citations SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.citations, rows -> 'citations') AS new),
  reviews AS (INSERT INTO ledger.reviews SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.reviews, rows -> 'reviews') AS new),
  review_votes AS (INSERT INTO ledger.review_votes SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.review_votes, rows -> 'review_votes') AS new),
  effects AS (INSERT INTO ledger.effects SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.effects, rows -> 'effects') AS new),
  effect_attempts AS (INSERT INTO ledger.effect_attempts SELECT new.* FROM put, jsonb_populate_recordset(NULL::ledger.effect_attempts, rows -> 'effect_attempts') AS new),
  effect_keys AS (INSERT INTO ledger.effect_keys (tenant, key, run_id, request_digest)
                  SELECT tenant, key, coalesce(reused_from, run_id), request_digest
                    FROM put, jsonb_populate_recordset(NULL::ledger.effects, rows -> 'effects')),
  heads AS (INSERT INTO ledger.heads (tenant, run_id, version, recorded) VALUES (%(tenant)s, %(run_id)s, 0, false)),
  leases AS (INSERT INTO ledger.leases (tenant, run_id, owner, fence, renewed_at, expires_at)
             VALUES (%(tenant)s, %(run_id)s, 'replay', %(fence)s, clock_timestamp(), 'infinity'))
SELECT 1;
