-- The consequences of a run outside: each is recorded before it is carried out, and carried out once.

-- Which request a key stands for, for ever: no history that is deleted frees a key, or the same would be done again under it.
CREATE TABLE ledger.effect_keys (
    tenant         text        NOT NULL,
    key            text        NOT NULL,
    run_id         uuid        NOT NULL, -- the run whose effect it is
    request_digest text        NOT NULL,
    first_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, key)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.effect_keys
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_statement BEFORE TRUNCATE ON ledger.effect_keys
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TABLE ledger.effects (
    tenant         text        NOT NULL,
    run_id         uuid        NOT NULL,
    key            text        NOT NULL, -- the idempotency key that the target is given
    step           text        NOT NULL, -- what in the run decided it
    -- publication: the run is finished when it is settled; notice: a relay sends it, the run does not wait
    mode           text        NOT NULL CHECK (mode IN ('publication', 'notice')),
    kind           text        NOT NULL,
    target         text        NOT NULL,
    contract_kind  text        NOT NULL CHECK (contract_kind IN ('keyed', 'queryable', 'conditional', 'transactional', 'opaque')),
    contract       jsonb       NOT NULL, -- what the target promised when this was decided
    request_digest text        NOT NULL,
    key_id         text        NOT NULL,
    body           bytea       NOT NULL, -- the canonical request
    -- intended -> sending | failed; sending -> confirmed | failed | in_doubt | intended; in_doubt -> confirmed | failed | awaiting_person;
    -- awaiting_person -> confirmed | failed | intended; failed -> intended
    status         text        NOT NULL DEFAULT 'intended'
                   CHECK (status IN ('intended', 'sending', 'confirmed', 'failed', 'in_doubt', 'awaiting_person')),
    reason         text,
    attempts       integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    external_id    text,
    reused_from    uuid, -- the run that carried it out, where a fork counts that as its own
    -- Who said last what happened, and why.
    settled_key_id text,
    settled_body   bytea,
    settled_at     timestamptz,
    intended_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Not before this moment is it tried again.
    patient_until  timestamptz,
    PRIMARY KEY (tenant, run_id, key),
    FOREIGN KEY (tenant, run_id) REFERENCES ledger.runs,
    FOREIGN KEY (tenant, key) REFERENCES ledger.effect_keys,
    CHECK ((external_id IS NOT NULL) = (status = 'confirmed')),
    CHECK (attempts > 0 OR status IN ('intended', 'failed') OR reused_from IS NOT NULL),
    CHECK (reused_from IS NULL OR (status = 'confirmed' AND attempts = 0)),
    CHECK (reason IS NOT NULL OR status IN ('intended', 'sending', 'confirmed')),
    CHECK ((settled_at IS NULL) = (settled_body IS NULL) AND (settled_at IS NULL) = (settled_key_id IS NULL))
);
CREATE INDEX effects_unsettled ON ledger.effects (tenant, mode, status) WHERE status IN ('intended', 'sending', 'in_doubt');

-- One row for each time that the target was called, committed before it is.
CREATE TABLE ledger.effect_attempts (
    tenant     text        NOT NULL,
    run_id     uuid        NOT NULL,
    key        text        NOT NULL,
    number     integer     NOT NULL CHECK (number > 0),
    act        text        NOT NULL CHECK (act IN ('send', 'look_up')),
    worker     text        NOT NULL,
    fence      bigint      NOT NULL, -- 0: a relay, which holds no run
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at   timestamptz,
    -- started -> confirmed | refused | not_sent | unknown | differs | absent | no_look_up; of a dead worker it stays started
    outcome    text        NOT NULL DEFAULT 'started'
               CHECK (outcome IN ('started', 'confirmed', 'refused', 'not_sent', 'unknown', 'differs', 'absent', 'no_look_up')),
    key_id     text,
    body       bytea, -- what the target said
    PRIMARY KEY (tenant, run_id, key, number),
    FOREIGN KEY (tenant, run_id, key) REFERENCES ledger.effects,
    CHECK ((ended_at IS NULL) = (outcome = 'started')),
    CHECK ((body IS NULL) = (outcome = 'started')),
    CHECK (act = 'look_up' OR outcome NOT IN ('absent', 'no_look_up')),
    CHECK (act = 'send' OR outcome NOT IN ('refused', 'not_sent'))
);

CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.effects
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('key');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.effect_attempts
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('key', 'number');

-- What becomes of the effects of the run that a fork comes from: 'reuse' counts them as the fork's own, 'reissue' carries them
-- out again; NULL forbids both.
ALTER TABLE ledger.forks ADD COLUMN effects text CHECK (effects IN ('forbid', 'reuse', 'reissue'));

-- The effects that a checkpoint decides, with their status: a notice is sent once the checkpoint that names it is stored.
ALTER TABLE ledger.checkpoint_records ADD COLUMN effects jsonb;

-- As of migration 0003, with the new column.
CREATE OR REPLACE FUNCTION ledger.store_checkpoint(
    new_tenant text, new_thread text, new_ns text, new_id text, new_parent text, new_checkpoint jsonb, new_metadata jsonb,
    new_channels text[], new_versions text[], new_types text[], new_blobs bytea[], new_record jsonb,
    new_parts jsonb, new_key_id text, new_seal text, held bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF ledger.run_of(new_thread) IS NOT NULL THEN
        PERFORM ledger.check_fence(new_tenant, ledger.run_of(new_thread), held);
    END IF;
    INSERT INTO langgraph.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT new_thread, new_ns, channel, version, type, blob
      FROM unnest(new_channels, new_versions, new_types, new_blobs) AS new (channel, version, type, blob)
    ON CONFLICT DO NOTHING;

    INSERT INTO langgraph.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
    VALUES (new_thread, new_ns, new_id, new_parent, new_checkpoint, new_metadata)
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id) DO UPDATE
       SET parent_checkpoint_id = excluded.parent_checkpoint_id, type = excluded.type,
           checkpoint = excluded.checkpoint, metadata = excluded.metadata;

    IF new_record IS NOT NULL THEN
        INSERT INTO ledger.checkpoint_records
        SELECT new.* FROM jsonb_populate_record(NULL::ledger.checkpoint_records, new_record) AS new
        ON CONFLICT (tenant, run_id, checkpoint_ns, checkpoint_id) DO UPDATE
           SET (parent_checkpoint, schema_version, workflow_version, fingerprint, boundary, phase, step, tasks, fence,
                created_at, ledger_version, ledger_seal, summary_artifact, approval, wave, effects)
             = ROW (excluded.parent_checkpoint, excluded.schema_version, excluded.workflow_version, excluded.fingerprint,
                excluded.boundary, excluded.phase, excluded.step, excluded.tasks, excluded.fence, excluded.created_at,
                excluded.ledger_version, excluded.ledger_seal, excluded.summary_artifact, excluded.approval, excluded.wave,
                excluded.effects);
    END IF;

    INSERT INTO ledger.checkpoint_seals (tenant, thread_id, checkpoint_ns, checkpoint_id, parts, key_id, seal)
    VALUES (new_tenant, new_thread, new_ns, new_id, new_parts, new_key_id, new_seal)
    ON CONFLICT (tenant, thread_id, checkpoint_ns, checkpoint_id) DO UPDATE
       SET parts = excluded.parts, key_id = excluded.key_id, seal = excluded.seal;
END
$$;

-- As of migration 0005, with the tables of this one.
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
UNION ALL
SELECT 'effects', key, to_jsonb(r) FROM ledger.effects AS r WHERE tenant = of_tenant AND run_id = of_run
UNION ALL
SELECT 'effect_attempts', concat_ws(' ', key, number), to_jsonb(r) FROM ledger.effect_attempts AS r
 WHERE tenant = of_tenant AND run_id = of_run
$$;
