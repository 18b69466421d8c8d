-- Row seals: whoever can write the database cannot change, remove, add or exchange a row of a run without it showing.
--
-- A trigger records every change of a run's rows; the transaction that made them seals them before it commits, with a
-- key that the database does not hold. A seal covers the one before it, and the head names the newest.
--
-- A run that is older than this migration has no history that anybody could vouch for, so it gets none by itself: its
-- head says that nothing is recorded, and the trigger leaves it alone until a person adopts the run as it is, once, and
-- the audit log says who (ledger/integrity.py). Were its rows sealed silently, so would be what was done to them before.

-- One row per run. Whoever writes for a run has its head locked until the commit: the first change of a transaction
-- raises the version, and its end writes the seal. Locks are taken in this order: lease, head, anything else.
CREATE TABLE ledger.heads (
    tenant      text    NOT NULL,
    run_id      uuid    NOT NULL,
    version     bigint  NOT NULL CHECK (version >= 0),
    transaction xid8,   -- which raised the version
    recorded    boolean NOT NULL DEFAULT true, -- false: older than the seals, and not adopted
    key_id      text,
    seal        text,
    PRIMARY KEY (tenant, run_id)
) WITH (fillfactor = 50);

-- Every row of a run as each change left it; a deleted one is NULL.
CREATE TABLE ledger.changes (
    tenant     text    NOT NULL,
    run_id     uuid    NOT NULL,
    version    bigint  NOT NULL,
    sequence   integer NOT NULL, -- within the version
    table_name text    NOT NULL,
    row_key    text    NOT NULL, -- the primary key without tenant and run
    row        jsonb,
    digest     text,
    PRIMARY KEY (tenant, run_id, version, sequence),
    CHECK ((row IS NULL) = (digest IS NULL))
);
CREATE INDEX changes_by_row ON ledger.changes (tenant, run_id, table_name, row_key, version DESC, sequence DESC);

CREATE TABLE ledger.seals (
    tenant  text   NOT NULL,
    run_id  uuid   NOT NULL,
    version bigint NOT NULL,
    content text   NOT NULL, -- the digest of the version's changes
    key_id  text   NOT NULL,
    seal    text   NOT NULL, -- over tenant, run, version, the seal before it and content
    PRIMARY KEY (tenant, run_id, version)
);

-- Every key that ever sealed: tells a key that is missing here from one that somebody made up.
CREATE TABLE ledger.seal_keys (
    tenant        text        NOT NULL,
    key_id        text        NOT NULL,
    first_used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, key_id)
);

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.changes
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_statement BEFORE TRUNCATE ON ledger.changes
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.seals
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_statement BEFORE TRUNCATE ON ledger.seals
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- What a seal says of a version's changes.
CREATE VIEW ledger.contents AS
SELECT tenant, run_id, version,
       encode(sha256(convert_to(jsonb_agg(jsonb_build_array(sequence, table_name, row_key, digest)
                                          ORDER BY sequence)::text, 'UTF8')), 'hex') AS content
  FROM ledger.changes GROUP BY tenant, run_id, version;

CREATE FUNCTION ledger.row_digest(wanted jsonb) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN encode(sha256(convert_to(wanted::text, 'UTF8')), 'hex');

-- What is recorded of a row: of a lease who holds it, not until when and how it ended, which heartbeats move.
CREATE FUNCTION ledger.recorded_part(table_name text, wanted jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE table_name WHEN 'leases' THEN wanted - '{expires_at,renewed_at,released_at,released_as}'::text[] ELSE wanted END;

-- The arguments are the columns of the primary key after tenant and run. How a value reads as JSON depends on settings
-- of the session, hence the function's own.
CREATE FUNCTION ledger.record_change() RETURNS trigger LANGUAGE plpgsql
SET timezone = 'UTC' SET bytea_output = 'hex' SET extra_float_digits = 1 AS $$
DECLARE
    wanted  jsonb := ledger.recorded_part(TG_TABLE_NAME, CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END);
    of_tenant text := wanted ->> 'tenant';
    of_run  uuid := wanted ->> 'run_id';
    key     text := concat_ws(' ', wanted ->> TG_ARGV[0], wanted ->> TG_ARGV[1]);
    before  jsonb := CASE TG_OP WHEN 'INSERT' THEN NULL ELSE ledger.recorded_part(TG_TABLE_NAME, to_jsonb(OLD)) END;
    known   jsonb;
    head    record;
BEGIN
    IF TG_OP = 'UPDATE' AND wanted = before THEN
        RETURN NULL;
    END IF;
    SELECT version, transaction, recorded INTO head
      FROM ledger.heads WHERE tenant = of_tenant AND run_id = of_run;
    IF NOT head.recorded THEN
        RETURN NULL;
    END IF;
    -- Nothing is written over a row that is not as it was recorded: the seal of the change would vouch for the rest of it.
    SELECT row INTO known FROM ledger.changes
     WHERE tenant = of_tenant AND run_id = of_run AND table_name = TG_TABLE_NAME AND row_key = key
     ORDER BY version DESC, sequence DESC LIMIT 1;
    IF NOT ledger.stands(before, known) THEN
        RAISE EXCEPTION 'damaged row' USING ERRCODE = 'PF003', DETAIL = concat_ws(' ', of_run, 'row', TG_TABLE_NAME, key);
    END IF;
    IF head.transaction IS DISTINCT FROM pg_current_xact_id() THEN
        INSERT INTO ledger.heads AS mine (tenant, run_id, version, transaction)
        VALUES (of_tenant, of_run, 1, pg_current_xact_id())
        ON CONFLICT (tenant, run_id) DO UPDATE SET version = mine.version + 1, transaction = excluded.transaction
        RETURNING version, transaction, recorded INTO head;
    END IF;
    IF TG_OP = 'DELETE' THEN
        wanted := NULL;
    END IF;
    INSERT INTO ledger.changes (tenant, run_id, version, sequence, table_name, row_key, row, digest)
    SELECT of_tenant, of_run, head.version, coalesce(max(sequence), 0) + 1, TG_TABLE_NAME, key, wanted,
           ledger.row_digest(wanted)
      FROM ledger.changes WHERE tenant = of_tenant AND run_id = of_run AND version = head.version;
    RETURN NULL;
END
$$;

CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.runs
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change();
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.leases
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change();
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.tasks
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('task_id');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.operations
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('operation_id');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.attempts
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('operation_id', 'number');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.sources
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('source_id');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.evidence
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('evidence_id');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.findings
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('finding_id');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.finding_evidence
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('finding_id', 'position');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.citations
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('report_artifact', 'number');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ledger.reviews
    FOR EACH ROW EXECUTE FUNCTION ledger.record_change('review_id');

-- Every transaction that writes ends with these two; as functions their plans are made once for each connection.

-- The versions that this transaction made of these runs, each with what it was made on top of.
CREATE FUNCTION ledger.changed_versions(of_tenant text, run_ids uuid[]) RETURNS TABLE (
    run_id uuid, version bigint, content text, head_key_id text, head_seal text,
    key_id text, seal text, content_before text, earlier_seal text
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT head.run_id, head.version,
           (SELECT made.content FROM ledger.contents AS made
             WHERE made.tenant = head.tenant AND made.run_id = head.run_id AND made.version = head.version),
           head.key_id, head.seal, before.key_id, before.seal, before.content, earlier.seal
      FROM ledger.heads AS head
      LEFT JOIN ledger.seals AS before
        ON before.tenant = head.tenant AND before.run_id = head.run_id AND before.version = head.version - 1
      LEFT JOIN ledger.seals AS earlier
        ON earlier.tenant = head.tenant AND earlier.run_id = head.run_id AND earlier.version = head.version - 2
     WHERE head.tenant = of_tenant AND head.run_id = ANY (run_ids)
       AND head.transaction = pg_current_xact_id_if_assigned();
END
$$;

CREATE FUNCTION ledger.seal_version(
    of_tenant text, of_run uuid, of_version bigint, sealed_content text, with_key text, made_seal text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ledger.seals (tenant, run_id, version, content, key_id, seal)
    VALUES (of_tenant, of_run, of_version, sealed_content, with_key, made_seal);
    UPDATE ledger.heads SET key_id = with_key, seal = made_seal WHERE tenant = of_tenant AND run_id = of_run;
    IF NOT EXISTS (SELECT FROM ledger.seal_keys WHERE tenant = of_tenant AND key_id = with_key) THEN
        INSERT INTO ledger.seal_keys (tenant, key_id) VALUES (of_tenant, with_key) ON CONFLICT DO NOTHING;
    END IF;
END
$$;

-- The rows of a run as they stand, in the form in which they are recorded. A migration that seals another table gives
-- it the trigger and replaces this function; a column that it adds to a sealed one starts out NULL.
CREATE FUNCTION ledger.rows_of(of_tenant text, of_run uuid) RETURNS TABLE (table_name text, row_key text, "row" jsonb)
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
$$;

-- Whether a row stands as it was recorded: the same values, and nothing in columns that came later.
CREATE FUNCTION ledger.stands(present jsonb, recorded jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN present IS NOT DISTINCT FROM recorded THEN true
    WHEN jsonb_typeof(present) = 'object' AND jsonb_typeof(recorded) = 'object'
    THEN present || recorded = present
         AND NOT EXISTS (SELECT FROM jsonb_each(present) AS field
                          WHERE NOT recorded ? field.key AND field.value <> 'null')
    ELSE false
END;

INSERT INTO ledger.heads (tenant, run_id, version, recorded)
SELECT tenant, run_id, 0, false FROM ledger.runs
UNION
SELECT tenant, run_id, 0, false FROM ledger.leases;

-- What an extractor made of a document serves every run, so each row has a seal of its own; one without is made anew.
ALTER TABLE ledger.extractions ADD COLUMN seal_key_id text, ADD COLUMN seal text;
