-- name: RecordFork :none
INSERT INTO ledger.forks (tenant, run_id, origin_run, origin_checkpoint, ledger_version, effects)
VALUES (%(tenant)s, %(run_id)s, %(origin_run)s, %(origin_checkpoint)s, %(ledger_version)s, %(effects)s);

-- name: ForkOf :maybe
SELECT origin_run, origin_checkpoint, ledger_version, forked_at, effects
  FROM ledger.forks WHERE tenant = %(tenant)s AND run_id = %(run_id)s;

-- name: ReviewAsOf :maybe
-- From the sealed history, as everything that a fork begins with.
SELECT (jsonb_populate_record(NULL::ledger.reviews, kept)).*
  FROM ledger.rows_as_of(%(tenant)s, %(run_id)s, 'reviews', %(version)s) AS kept
 WHERE kept ->> 'review_id' = %(review_id)s;

-- name: CopyRetries :none
INSERT INTO ledger.retries
SELECT copied.* FROM ledger.rows_as_of(%(tenant)s, %(origin)s, 'retries', %(version)s) AS kept,
       jsonb_populate_record(NULL::ledger.retries, kept || jsonb_build_object('run_id', %(run_id)s::uuid)) AS copied;

-- name: OwnerOfCheckpoint :maybe
SELECT run_id FROM ledger.checkpoint_records
 WHERE tenant = %(tenant)s AND checkpoint_id = %(checkpoint_id)s LIMIT 1;

-- name: CopyRun :none
INSERT INTO ledger.runs
SELECT copied.* FROM ledger.rows_as_of(%(tenant)s, %(origin)s, 'runs', %(version)s) AS kept,
       jsonb_populate_record(NULL::ledger.runs, kept || jsonb_build_object('run_id', %(run_id)s::uuid, 'status', 'running', 'reason', NULL, 'report_artifact', NULL,
                                    'finished_at', NULL, 'try_again_at', NULL, 'created_at', clock_timestamp(), 'updated_at', clock_timestamp())) AS copied;

-- name: CopyTasks :none
INSERT INTO ledger.tasks
SELECT copied.* FROM ledger.rows_as_of(%(tenant)s, %(origin)s, 'tasks', %(version)s) AS kept,
       jsonb_populate_record(NULL::ledger.tasks, kept || jsonb_build_object('run_id', %(run_id)s::uuid)) AS copied;

-- name: CopyOperations :none
INSERT INTO ledger.operations
SELECT copied.* FROM ledger.rows_as_of(%(tenant)s, %(origin)s, 'operations', %(version)s) AS kept,
       jsonb_populate_record(NULL::ledger.operations, kept || jsonb_build_object('run_id', %(run_id)s::uuid)) AS copied;

-- name: CopyAttempts :none
INSERT INTO ledger.attempts
SELECT copied.* FROM ledger.rows_as_of(%(tenant)s, %(origin)s, 'attempts', %(version)s) AS kept,
       jsonb_populate_record(NULL::ledger.attempts, kept || jsonb_build_object('run_id', %(run_id)s::uuid)) AS copied;

-- name: CopySources :none
INSERT INTO ledger.sources
SELECT copied.* FROM ledger.rows_as_of(%(tenant)s, %(origin)s, 'sources', %(version)s) AS kept,
       jsonb_populate_record(NULL::ledger.sources, kept || jsonb_build_object('run_id', %(run_id)s::uuid)) AS copied;

-- name: CopyEvidence :none
INSERT INTO ledger.evidence
SELECT copied.* FROM ledger.rows_as_of(%(tenant)s, %(origin)s, 'evidence', %(version)s) AS kept,
       jsonb_populate_record(NULL::ledger.evidence, kept || jsonb_build_object('run_id', %(run_id)s::uuid)) AS copied;

-- name: CopyFindings :none
INSERT INTO ledger.findings
SELECT copied.* FROM ledger.rows_as_of(%(tenant)s, %(origin)s, 'findings', %(version)s) AS kept,
       jsonb_populate_record(NULL::ledger.findings, kept || jsonb_build_object('run_id', %(run_id)s::uuid)) AS copied;

-- name: CopyFindingEvidence :none
INSERT INTO ledger.finding_evidence
SELECT copied.* FROM ledger.rows_as_of(%(tenant)s, %(origin)s, 'finding_evidence', %(version)s) AS kept,
       jsonb_populate_record(NULL::ledger.finding_evidence, kept || jsonb_build_object('run_id', %(run_id)s::uuid)) AS copied;

-- name: CopyCitations :none
INSERT INTO ledger.citations
SELECT copied.* FROM ledger.rows_as_of(%(tenant)s, %(origin)s, 'citations', %(version)s) AS kept,
       jsonb_populate_record(NULL::ledger.citations, kept || jsonb_build_object('run_id', %(run_id)s::uuid)) AS copied;
