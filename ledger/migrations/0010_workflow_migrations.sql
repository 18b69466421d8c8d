-- The log of migrations: each time that a sleeping run was brought to another version of the workflow. Only ever added to.
CREATE TABLE ledger.workflow_migrations (
    tenant           text        NOT NULL,
    run_id           uuid        NOT NULL,
    number           integer     NOT NULL CHECK (number > 0),
    from_version     integer     NOT NULL,
    from_fingerprint text        NOT NULL,
    to_version       integer     NOT NULL,
    to_fingerprint   text        NOT NULL,
    old_checkpoint   text,       -- NULL: the run had not begun, so that there was no place to move
    new_checkpoint   text,
    worker           text        NOT NULL,
    fence            bigint      NOT NULL,
    at               timestamptz NOT NULL DEFAULT clock_timestamp(),
    key_id           text        NOT NULL,
    body             bytea       NOT NULL, -- what changed: steps, channels, reviews, plan
    PRIMARY KEY (tenant, run_id, number),
    FOREIGN KEY (tenant, run_id) REFERENCES ledger.runs,
    CHECK ((old_checkpoint IS NULL) = (new_checkpoint IS NULL))
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.workflow_migrations
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_statement BEFORE TRUNCATE ON ledger.workflow_migrations
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.workflow_migrations
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('number');

-- As before, with the table of this one.
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
SELECT 'review_votes', concat_ws(' ', review_id, number), to_jsonb(r) FROM ledger.review_votes AS r
 WHERE tenant = of_tenant AND run_id = of_run
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
UNION ALL
SELECT 'effects', key, to_jsonb(r) FROM ledger.effects AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'effect_attempts', concat_ws(' ', key, number), to_jsonb(r) FROM ledger.effect_attempts AS r
 WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'workflow_migrations', number::text, to_jsonb(r) FROM ledger.workflow_migrations AS r
 WHERE tenant = of_tenant AND run_id = of_run
$$;
