-- Seals of LangGraph's checkpoints, made with a key that is not in the database: what was changed, swapped or deleted there
-- is found when it is loaded. A seal commits in the transaction of what it seals.

-- A run is a thread of LangGraph, under the one spelling that PostgreSQL itself gives a uuid; other threads are nobody's run.
CREATE FUNCTION ledger.run_of(thread text) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN thread ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN thread::uuid END
$$;

CREATE TABLE ledger.checkpoint_seals (
    tenant        text  NOT NULL,
    thread_id     text  NOT NULL,
    checkpoint_ns text  NOT NULL,
    checkpoint_id text  NOT NULL,
    parts         jsonb NOT NULL, -- what is sealed: digests of row, record and blobs, the parent and its seal
    key_id        text  NOT NULL,
    seal          text  NOT NULL,
    PRIMARY KEY (tenant, thread_id, checkpoint_ns, checkpoint_id)
);

CREATE TABLE ledger.write_seals (
    tenant        text    NOT NULL,
    thread_id     text    NOT NULL,
    checkpoint_ns text    NOT NULL,
    checkpoint_id text    NOT NULL,
    task_id       text    NOT NULL,
    idx           integer NOT NULL,
    key_id        text    NOT NULL,
    seal          text    NOT NULL,
    PRIMARY KEY (tenant, thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);

-- Checkpoints that failed their check, and why: never loaded again.
CREATE TABLE ledger.rejected_checkpoints (
    tenant        text        NOT NULL,
    run_id        uuid        NOT NULL,
    checkpoint_ns text        NOT NULL,
    checkpoint_id text        NOT NULL,
    reason        text        NOT NULL,
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, run_id, checkpoint_ns, checkpoint_id)
);

-- Pending writes that failed their check, as they were found: their task runs again.
CREATE TABLE ledger.rejected_writes (
    tenant        text        NOT NULL,
    run_id        uuid        NOT NULL,
    checkpoint_ns text        NOT NULL,
    checkpoint_id text        NOT NULL,
    task_id       text        NOT NULL,
    idx           integer     NOT NULL,
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    reason        text        NOT NULL,
    found         jsonb, -- the row, null where it was missing
    seal          jsonb, -- its seal, null where there was none
    PRIMARY KEY (tenant, run_id, checkpoint_ns, checkpoint_id, task_id, idx, at)
);

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.rejected_checkpoints
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.rejected_writes
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

-- Version 2 of a record; null in records of version 1.
ALTER TABLE ledger.checkpoint_records
    ADD COLUMN ledger_version   bigint, -- the newest sealed version of the run's ledger that its worker knew
    ADD COLUMN ledger_seal      text,   -- and that version's seal
    ADD COLUMN summary_artifact text,   -- the working summary
    ADD COLUMN approval         jsonb,  -- the review that is asked, and how many decisions were applied
    ADD COLUMN wave             jsonb;  -- the number of the wave that is out, and its tasks with their status

-- Everything that is checked when one checkpoint is loaded, as one snapshot sees it; one row, whatever is there or missing.
-- JSON is given as text: a number that nobody wrote may be more than a reader can take. A function, because its plan is kept.
CREATE FUNCTION ledger.stored_checkpoint(wanted_tenant text, wanted_thread text, wanted_ns text, wanted_id text)
RETURNS TABLE (
    has_row boolean, parent text, row_type text, checkpoint text, metadata text,
    blob_channels text[], blob_types text[], blobs bytea[],
    write_tasks text[], write_idxs integer[], write_paths text[], write_channels text[], write_types text[],
    writes bytea[], write_found boolean[], write_key_ids text[], write_seals text[],
    key_id text, seal text, parts text, has_parent boolean, parent_seal text,
    record text, rejected text, thread_sealed boolean
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    wanted_run CONSTANT uuid := ledger.run_of(wanted_thread);
BEGIN
    RETURN QUERY
    SELECT c.thread_id IS NOT NULL, c.parent_checkpoint_id, c.type, c.checkpoint::text, c.metadata::text,
           b.channels, b.types, b.blobs,
           w.tasks, w.idxs, w.paths, w.channels, w.types, w.blobs, w.found, w.key_ids, w.seals,
           s.key_id, s.seal, s.parts::text,
           p.seal IS NOT NULL OR EXISTS (
               SELECT FROM langgraph.checkpoints
                WHERE thread_id = wanted_thread AND checkpoint_ns = wanted_ns AND checkpoint_id = c.parent_checkpoint_id),
           p.seal,
           ((to_jsonb(r) - 'created_at') || jsonb_build_object(
               'created_at', to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')))::text,
           (SELECT reason FROM ledger.rejected_checkpoints
             WHERE tenant = wanted_tenant AND run_id = wanted_run AND checkpoint_ns = wanted_ns
               AND checkpoint_id = wanted_id),
           s.seal IS NOT NULL OR EXISTS (
               SELECT FROM ledger.checkpoint_seals WHERE tenant = wanted_tenant AND thread_id = wanted_thread) OR EXISTS (
               SELECT FROM ledger.write_seals WHERE tenant = wanted_tenant AND thread_id = wanted_thread) OR EXISTS (
               -- A run whose rows are sealed has no checkpoint that never was.
               SELECT FROM ledger.changes
                WHERE tenant = wanted_tenant AND run_id = wanted_run AND table_name = 'runs')
      FROM (VALUES (1)) AS one
      LEFT JOIN langgraph.checkpoints AS c
        ON c.thread_id = wanted_thread AND c.checkpoint_ns = wanted_ns AND c.checkpoint_id = wanted_id
      LEFT JOIN ledger.checkpoint_seals AS s
        ON s.tenant = wanted_tenant AND s.thread_id = wanted_thread AND s.checkpoint_ns = wanted_ns
       AND s.checkpoint_id = wanted_id
      LEFT JOIN ledger.checkpoint_seals AS p
        ON p.tenant = wanted_tenant AND p.thread_id = wanted_thread AND p.checkpoint_ns = wanted_ns
       AND p.checkpoint_id = c.parent_checkpoint_id
      LEFT JOIN ledger.checkpoint_records AS r
        ON r.tenant = wanted_tenant AND r.run_id = wanted_run AND r.checkpoint_ns = wanted_ns
       AND r.checkpoint_id = wanted_id
     CROSS JOIN LATERAL (
         SELECT array_agg(blob.channel) AS channels,
                array_agg(blob.type) AS types, array_agg(blob.blob) AS blobs
           FROM jsonb_each_text(CASE jsonb_typeof(c.checkpoint -> 'channel_versions')
                                WHEN 'object' THEN c.checkpoint -> 'channel_versions' ELSE '{}' END) AS named
          -- LIMIT: each by its key, never by a join with all blobs of the thread.
          CROSS JOIN LATERAL (SELECT * FROM langgraph.checkpoint_blobs
                               WHERE thread_id = wanted_thread AND checkpoint_ns = wanted_ns
                                 AND channel = named.key AND version = named.value LIMIT 1) AS blob) AS b
     CROSS JOIN LATERAL (
         SELECT array_agg(task_id) AS tasks, array_agg(idx) AS idxs, array_agg(found.task_path) AS paths,
                array_agg(found.channel) AS channels, array_agg(found.type) AS types, array_agg(found.blob) AS blobs,
                array_agg(found.blob IS NOT NULL) AS found, array_agg(sealed.key_id) AS key_ids,
                array_agg(sealed.seal) AS seals
           FROM (SELECT * FROM langgraph.checkpoint_writes
                  WHERE thread_id = wanted_thread AND checkpoint_ns = wanted_ns AND checkpoint_id = wanted_id) AS found
           FULL JOIN (SELECT * FROM ledger.write_seals
                       WHERE tenant = wanted_tenant AND thread_id = wanted_thread AND checkpoint_ns = wanted_ns
                         AND checkpoint_id = wanted_id) AS sealed
          USING (task_id, idx)) AS w;
END
$$;

-- The newest checkpoint that any table knows of and that was not rejected: one whose row was deleted is missed, not skipped.
CREATE FUNCTION ledger.newest_checkpoint(wanted_tenant text, wanted_thread text, wanted_ns text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    wanted_run CONSTANT uuid := ledger.run_of(wanted_thread);
    passed     CONSTANT text[] := ARRAY(
        SELECT checkpoint_id FROM ledger.rejected_checkpoints
         WHERE tenant = wanted_tenant AND run_id = wanted_run AND checkpoint_ns = wanted_ns);
BEGIN
    RETURN greatest(
        (SELECT checkpoint_id FROM langgraph.checkpoints
          WHERE thread_id = wanted_thread AND checkpoint_ns = wanted_ns AND checkpoint_id <> ALL (passed)
          ORDER BY checkpoint_id DESC LIMIT 1),
        (SELECT checkpoint_id FROM ledger.checkpoint_seals
          WHERE tenant = wanted_tenant AND thread_id = wanted_thread AND checkpoint_ns = wanted_ns
            AND checkpoint_id <> ALL (passed)
          ORDER BY checkpoint_id DESC LIMIT 1),
        (SELECT checkpoint_id FROM ledger.checkpoint_records
          WHERE tenant = wanted_tenant AND run_id = wanted_run AND checkpoint_ns = wanted_ns
            AND checkpoint_id <> ALL (passed)
          ORDER BY checkpoint_id DESC LIMIT 1));
END
$$;

-- Stores a checkpoint with its blobs, its record (null where the thread is no run) and its seal. LangGraph's own rules, but
-- that a row stored anew is new in all columns. `held` is the fence of a worker that holds the run, NULL for whoever does not:
-- it is checked first, so that nobody writes beside a run's worker, nor without holding a run that was ever held.
CREATE FUNCTION ledger.store_checkpoint(
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
                created_at, ledger_version, ledger_seal, summary_artifact, approval, wave)
             = ROW (excluded.parent_checkpoint, excluded.schema_version, excluded.workflow_version, excluded.fingerprint,
                excluded.boundary, excluded.phase, excluded.step, excluded.tasks, excluded.fence, excluded.created_at,
                excluded.ledger_version, excluded.ledger_seal, excluded.summary_artifact, excluded.approval, excluded.wave);
    END IF;

    INSERT INTO ledger.checkpoint_seals (tenant, thread_id, checkpoint_ns, checkpoint_id, parts, key_id, seal)
    VALUES (new_tenant, new_thread, new_ns, new_id, new_parts, new_key_id, new_seal)
    ON CONFLICT (tenant, thread_id, checkpoint_ns, checkpoint_id) DO UPDATE
       SET parts = excluded.parts, key_id = excluded.key_id, seal = excluded.seal;
END
$$;

-- Stores what a task wrote, each row with its seal. As LangGraph has it, what is there already stays, but for what is written
-- over: interrupts, answers, errors. The fence as above.
CREATE FUNCTION ledger.store_writes(
    new_tenant text, new_thread text, new_ns text, new_id text, new_task text, new_path text, new_idxs integer[],
    new_channels text[], new_types text[], new_blobs bytea[], new_key_ids text[], new_seals text[], replaced boolean, held bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF ledger.run_of(new_thread) IS NOT NULL THEN
        PERFORM ledger.check_fence(new_tenant, ledger.run_of(new_thread), held);
    END IF;
    IF replaced THEN
        INSERT INTO langgraph.checkpoint_writes
               (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
        SELECT new_thread, new_ns, new_id, new_task, new_path, new.*
          FROM unnest(new_idxs, new_channels, new_types, new_blobs) AS new
        ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO UPDATE
           SET task_path = excluded.task_path, channel = excluded.channel, type = excluded.type, blob = excluded.blob;
        INSERT INTO ledger.write_seals (tenant, thread_id, checkpoint_ns, checkpoint_id, task_id, idx, key_id, seal)
        SELECT new_tenant, new_thread, new_ns, new_id, new_task, new.*
          FROM unnest(new_idxs, new_key_ids, new_seals) AS new
        ON CONFLICT (tenant, thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO UPDATE
           SET key_id = excluded.key_id, seal = excluded.seal;
    ELSE
        INSERT INTO langgraph.checkpoint_writes
               (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
        SELECT new_thread, new_ns, new_id, new_task, new_path, new.*
          FROM unnest(new_idxs, new_channels, new_types, new_blobs) AS new
        ON CONFLICT DO NOTHING;
        INSERT INTO ledger.write_seals (tenant, thread_id, checkpoint_ns, checkpoint_id, task_id, idx, key_id, seal)
        SELECT new_tenant, new_thread, new_ns, new_id, new_task, new.*
          FROM unnest(new_idxs, new_key_ids, new_seals) AS new
        ON CONFLICT DO NOTHING;
    END IF;
END
$$;
