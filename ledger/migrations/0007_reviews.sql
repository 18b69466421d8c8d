-- Reviews of six kinds, several at once; two persons where policy wants them; deadlines; and that a decision was applied.

ALTER TABLE ledger.reviews DROP CONSTRAINT reviews_kind_check;
ALTER TABLE ledger.reviews
    ADD CONSTRAINT reviews_kind_check CHECK (kind IN ('plan', 'sources', 'conflict', 'sensitive', 'report', 'effect')),
    -- How many people have to say the same; NULL is one.
    ADD COLUMN persons     integer CHECK (persons > 1),
    -- When nobody needs to be waited for any more, and what happens then: it stays open, is rejected, or the run goes on.
    ADD COLUMN due_at      timestamptz,
    ADD COLUMN at_deadline text CHECK (at_deadline IN ('stay', 'reject', 'go-on')),
    -- When the run did what was decided: once.
    ADD COLUMN applied_at  timestamptz,
    ADD CHECK ((due_at IS NULL) = (at_deadline IS NULL)),
    ADD CHECK (applied_at IS NULL OR status = 'decided');
CREATE INDEX reviews_due ON ledger.reviews (tenant, due_at) WHERE status = 'open' AND at_deadline <> 'stay';

-- A source that a person left out, or took although something was the matter with it: the review that says so.
ALTER TABLE ledger.sources ADD COLUMN excluded_by text, ADD COLUMN accepted_by text;

-- Where two people have to say the same: what each said, until they agree. Only ever added to.
CREATE TABLE ledger.review_votes (
    tenant    text        NOT NULL,
    run_id    uuid        NOT NULL,
    review_id text        NOT NULL,
    number    integer     NOT NULL CHECK (number > 0),
    choice    text        NOT NULL CHECK (choice IN ('approve', 'edit')),
    key_id    text        NOT NULL,
    body      bytea       NOT NULL, -- who, comment and edit
    voted_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, run_id, review_id, number),
    FOREIGN KEY (tenant, run_id, review_id) REFERENCES ledger.reviews
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.review_votes
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_statement BEFORE TRUNCATE ON ledger.review_votes
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.review_votes
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('review_id', 'number');

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
$$;
