-- What was found at each recovery of a run, the branches that people asked to research once more, and the runs that
-- began in the middle of another.

-- One row for each time that a worker took up a run that was begun before. It stands from the first step on, so that
-- whoever dies in the middle of a recovery has said that it began.
CREATE TABLE ledger.recoveries (
    tenant     text        NOT NULL,
    run_id     uuid        NOT NULL,
    number     integer     NOT NULL CHECK (number > 0),
    worker     text        NOT NULL,
    fence      bigint      NOT NULL,
    -- begun -> resumed | blocked | paused
    outcome    text        NOT NULL DEFAULT 'begun' CHECK (outcome IN ('begun', 'resumed', 'blocked', 'paused')),
    began_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at   timestamptz,
    key_id     text,
    body       bytea, -- the report
    PRIMARY KEY (tenant, run_id, number),
    FOREIGN KEY (tenant, run_id) REFERENCES ledger.runs,
    CHECK ((body IS NULL) = (outcome = 'begun')),
    CHECK ((ended_at IS NULL) = (outcome = 'begun'))
);

-- A branch that is researched once more: its calls are made anew, what its attempts before found is kept.
CREATE TABLE ledger.retries (
    tenant       text        NOT NULL,
    run_id       uuid        NOT NULL,
    task_id      text        NOT NULL,
    number       integer     NOT NULL CHECK (number > 0),
    -- whose findings stand afterwards: those of the first attempt that found something, of the latest, or as a person decides
    rule         text        NOT NULL CHECK (rule IN ('first', 'latest', 'review')),
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- the checkpoint that sends the graph back to where tasks are sent out; unset until it is stored
    checkpoint_id text,
    -- open until the branch has ended and the rule was applied
    settled      text        CHECK (settled IN ('first', 'latest', 'review')),
    -- where a person says whose findings stand: whether they have said it
    decided      boolean,
    PRIMARY KEY (tenant, run_id, task_id, number),
    FOREIGN KEY (tenant, run_id, task_id) REFERENCES ledger.tasks
);

-- How often a branch was researched anew: part of the key of its operations, so that it makes its calls again. NULL is
-- never: rows that were sealed before this migration stand as they were sealed.
ALTER TABLE ledger.tasks ADD COLUMN retries integer;
ALTER TABLE ledger.findings ADD COLUMN retry integer;
-- What a finding was set aside by when a retry found it again.
ALTER TABLE ledger.findings ADD COLUMN revived_from text;

CREATE TABLE ledger.forks (
    tenant            text        NOT NULL,
    run_id            uuid        NOT NULL,
    origin_run        uuid        NOT NULL,
    origin_checkpoint text        NOT NULL,
    ledger_version    bigint      NOT NULL,
    forked_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, run_id),
    FOREIGN KEY (tenant, run_id) REFERENCES ledger.runs
);

-- The rows of a table of a run as they stood at a version of its ledger.
CREATE FUNCTION ledger.rows_as_of(wanted_tenant text, wanted_run uuid, wanted_table text, wanted_version bigint)
RETURNS SETOF jsonb LANGUAGE sql STABLE AS $$
    SELECT newest.row
      FROM (SELECT DISTINCT ON (change.row_key) change.row
              FROM ledger.changes AS change
             WHERE change.tenant = wanted_tenant AND change.run_id = wanted_run AND change.table_name = wanted_table
               AND change.version <= wanted_version
             ORDER BY change.row_key, change.version DESC, change.sequence DESC) AS newest
     WHERE newest.row IS NOT NULL
$$;

CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.recoveries
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('number');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.retries
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('task_id', 'number');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.forks
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change();
-- Its own hashes have no key, and nothing told of an end that was cut off.
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.audit_log
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('sequence');

-- A forged rejection would send a run back.
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.rejected_checkpoints
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('checkpoint_ns', 'checkpoint_id');

-- As of migration 0002, with the tables of this one.
CREATE OR REPLACE FUNCTION ledger.rows_of(of_tenant text, of_run uuid) RETURNS TABLE (table_name text, row_key text, "row" jsonb)
LANGUAGE sql STABLE SET timezone = 'UTC' SET bytea_output = 'hex' SET extra_float_digits = 1 AS $$
SELECT 'runs', '', to_jsonb(r) FROM ledger.runs AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'leases', '', ledger.recorded_part('leases', to_jsonb(r)) FROM ledger.leases AS r
 WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'tasks', task_id, to_jsonb(r) FROM ledger.tasks AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'operations', operation_id, to_jsonb(r) FROM ledger.operations AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'attempts', concat_ws(' ', operation_id, number), to_jsonb(r) FROM ledger.attempts AS r
 WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'sources', source_id, to_jsonb(r) FROM ledger.sources AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'evidence', evidence_id, to_jsonb(r) FROM ledger.evidence AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'findings', finding_id, to_jsonb(r) FROM ledger.findings AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'finding_evidence', concat_ws(' ', finding_id, position), to_jsonb(r) FROM ledger.finding_evidence AS r
 WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'citations', concat_ws(' ', report_artifact, number), to_jsonb(r) FROM ledger.citations AS r
 WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'reviews', review_id, to_jsonb(r) FROM ledger.reviews AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'recoveries', number::text, to_jsonb(r) FROM ledger.recoveries AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'retries', concat_ws(' ', task_id, number), to_jsonb(r) FROM ledger.retries AS r
 WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'audit_log', sequence::text, to_jsonb(r) FROM ledger.audit_log AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'rejected_checkpoints', concat_ws(' ', checkpoint_ns, checkpoint_id), to_jsonb(r)
  FROM ledger.rejected_checkpoints AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'forks', '', to_jsonb(r) FROM ledger.forks AS r WHERE tenant = of_tenant AND run_id = of_run
$$;
