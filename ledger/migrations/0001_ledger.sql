-- The ledger. Every table has the tenant first in its key; every payload is a pair (key_id, body) that went through one
-- codec, so that it can be encrypted, and erased by deleting its key; states move by one guarded UPDATE each. Rows whose
-- table says attempt, record or log are only ever added.

-- What runs, and how far it is. That a run is finished is said here and nowhere else.
CREATE TABLE ledger.runs (
    tenant           text        NOT NULL,
    run_id           uuid        NOT NULL,
    -- running -> paused | blocked | completed | failed | cancelled; paused | blocked | failed -> running
    status           text        NOT NULL CHECK (status IN ('running', 'paused', 'blocked', 'completed', 'failed', 'cancelled')),
    phase            text        NOT NULL,
    reason           text,
    key_id           text        NOT NULL,
    body             bytea       NOT NULL, -- question and options
    workflow_version integer     NOT NULL,
    fingerprint      text        NOT NULL,
    corpus_artifact  text,
    report_artifact  text,
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at      timestamptz,
    PRIMARY KEY (tenant, run_id),
    CHECK ((finished_at IS NOT NULL) = (status IN ('completed', 'cancelled'))),
    CHECK (status <> 'completed' OR report_artifact IS NOT NULL)
);
CREATE INDEX runs_by_age ON ledger.runs (tenant, created_at);
-- A run is a thread of LangGraph, whose tables know no tenant: an id that one tenant has is taken for all, or their runs
-- would work on one state.
CREATE UNIQUE INDEX runs_by_thread ON ledger.runs (run_id);

-- One writer per run: whoever wrote the highest fence. Rows of a run are written under the current fence only.
CREATE TABLE ledger.leases (
    tenant      text        NOT NULL,
    run_id      uuid        NOT NULL,
    owner       text        NOT NULL,
    fence       bigint      NOT NULL CHECK (fence > 0),
    acquired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, run_id)
);

-- Immutable bytes under the digest of what they say.
CREATE TABLE ledger.artifacts (
    tenant      text        NOT NULL,
    artifact_id text        NOT NULL CHECK (artifact_id ~ '^sha256:[0-9a-f]{64}$'),
    media_type  text        NOT NULL,
    size_bytes  bigint      NOT NULL CHECK (size_bytes >= 0),
    key_id      text        NOT NULL,
    body        bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, artifact_id)
);

-- What an extractor made of some bytes, or why it made nothing: read once, known for every later corpus.
CREATE TABLE ledger.extractions (
    tenant           text        NOT NULL,
    content_artifact text        NOT NULL,
    extractor        text        NOT NULL,
    media_type       text        NOT NULL,
    text_artifact    text,
    key_id           text        NOT NULL,
    body             bytea       NOT NULL, -- title and the reason of a refusal
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, content_artifact, extractor)
);

-- The plan of a run. Waves are numbered from 1; a task runs once its dependencies are complete or blocked.
CREATE TABLE ledger.tasks (
    tenant     text        NOT NULL,
    run_id     uuid        NOT NULL,
    task_id    text        NOT NULL,
    position   integer     NOT NULL,
    worker     text        NOT NULL,
    depends_on text[]      NOT NULL,
    -- pending -> running -> complete | retryable | blocked; pending -> superseded
    status     text        NOT NULL CHECK (status IN ('pending', 'running', 'complete', 'retryable', 'blocked', 'superseded')),
    attempts   integer     NOT NULL DEFAULT 0,
    reason     text,
    key_id     text        NOT NULL,
    body       bytea       NOT NULL, -- question and gaps
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, run_id, task_id),
    FOREIGN KEY (tenant, run_id) REFERENCES ledger.runs
);

-- The journal. An operation is one outside read that a run needs; an attempt is one try at it.
CREATE TABLE ledger.operations (
    tenant           text        NOT NULL,
    run_id           uuid        NOT NULL,
    operation_id     text        NOT NULL,
    task_id          text        NOT NULL,
    kind             text        NOT NULL,
    key              text        NOT NULL,
    key_id           text        NOT NULL,
    body             bytea       NOT NULL, -- the canonical request
    accepted_attempt integer,
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, run_id, operation_id),
    FOREIGN KEY (tenant, run_id) REFERENCES ledger.runs
);

CREATE TABLE ledger.attempts (
    tenant            text        NOT NULL,
    run_id            uuid        NOT NULL,
    operation_id      text        NOT NULL,
    number            integer     NOT NULL CHECK (number > 0),
    worker            text        NOT NULL,
    fence             bigint      NOT NULL,
    settings          jsonb       NOT NULL, -- model, prompt-template version, tool-configuration version
    started_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at          timestamptz,
    -- started -> succeeded | failed; a started attempt of a dead worker stays so
    outcome           text        NOT NULL DEFAULT 'started' CHECK (outcome IN ('started', 'succeeded', 'failed')),
    reason            text,
    -- what came back, as it came: committed before anything is made of it
    received_artifact text,
    received_key_id   text,
    received_body     bytea, -- where it came from, and what the transfer said of it
    result_artifact   text,
    response_id       text,
    usage             jsonb       NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant, run_id, operation_id, number),
    FOREIGN KEY (tenant, run_id, operation_id) REFERENCES ledger.operations,
    CHECK ((ended_at IS NULL) = (outcome = 'started')),
    CHECK ((result_artifact IS NOT NULL) = (outcome = 'succeeded')),
    CHECK ((received_artifact IS NULL) = (received_body IS NULL))
);

-- Documents that a run read.
CREATE TABLE ledger.sources (
    tenant           text        NOT NULL,
    run_id           uuid        NOT NULL,
    source_id        text        NOT NULL,
    status           text        NOT NULL CHECK (status IN ('retained', 'changed', 'unavailable', 'forbidden')),
    content_artifact text        NOT NULL,
    text_artifact    text        NOT NULL,
    extractor        text        NOT NULL,
    key_id           text        NOT NULL,
    body             bytea       NOT NULL, -- addresses, redirects, title, metadata of the transfer
    retrieved_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, run_id, source_id),
    FOREIGN KEY (tenant, run_id) REFERENCES ledger.runs,
    FOREIGN KEY (tenant, content_artifact) REFERENCES ledger.artifacts,
    FOREIGN KEY (tenant, text_artifact) REFERENCES ledger.artifacts
);

-- Exact quotes. Positions are code points in the text artifact.
CREATE TABLE ledger.evidence (
    tenant         text    NOT NULL,
    run_id         uuid    NOT NULL,
    evidence_id    text    NOT NULL,
    source_id      text    NOT NULL,
    text_artifact  text    NOT NULL,
    start_position integer NOT NULL CHECK (start_position >= 0),
    end_position   integer NOT NULL,
    key_id         text    NOT NULL,
    body           bytea   NOT NULL, -- exact, prefix, suffix
    PRIMARY KEY (tenant, run_id, evidence_id),
    FOREIGN KEY (tenant, run_id, source_id) REFERENCES ledger.sources,
    CHECK (end_position > start_position)
);

CREATE TABLE ledger.findings (
    tenant       text             NOT NULL,
    run_id       uuid             NOT NULL,
    finding_id   text             NOT NULL,
    task_id      text             NOT NULL,
    attempt      integer          NOT NULL,
    kind         text             NOT NULL CHECK (kind IN ('claim', 'disagreement', 'open_question')),
    confidence   double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    verdict      text             NOT NULL DEFAULT 'not-checked'
                 CHECK (verdict IN ('supported', 'contradicted', 'insufficient', 'not-checked')),
    flagged      boolean          NOT NULL DEFAULT false,
    superseded_by text,
    key_id       text             NOT NULL,
    body         bytea            NOT NULL, -- the claim, and the findings that it is about
    created_at   timestamptz      NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, run_id, finding_id),
    FOREIGN KEY (tenant, run_id, task_id) REFERENCES ledger.tasks
);

CREATE TABLE ledger.finding_evidence (
    tenant      text    NOT NULL,
    run_id      uuid    NOT NULL,
    finding_id  text    NOT NULL,
    position    integer NOT NULL,
    evidence_id text    NOT NULL,
    PRIMARY KEY (tenant, run_id, finding_id, position),
    FOREIGN KEY (tenant, run_id, finding_id) REFERENCES ledger.findings,
    FOREIGN KEY (tenant, run_id, evidence_id) REFERENCES ledger.evidence
);

-- The citations of a run's report, in its numbering: a citation that no evidence stands behind cannot be stored.
CREATE TABLE ledger.citations (
    tenant          text    NOT NULL,
    run_id          uuid    NOT NULL,
    report_artifact text    NOT NULL,
    number          integer NOT NULL CHECK (number > 0),
    evidence_id     text    NOT NULL,
    PRIMARY KEY (tenant, run_id, report_artifact, number),
    FOREIGN KEY (tenant, run_id, evidence_id) REFERENCES ledger.evidence
);

-- What a person was asked and what they decided about exactly that.
CREATE TABLE ledger.reviews (
    tenant       text        NOT NULL,
    run_id       uuid        NOT NULL,
    review_id    text        NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('plan', 'sources', 'report')),
    -- open -> decided | stale
    status       text        NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'decided', 'stale')),
    shown_digest text        NOT NULL,
    key_id       text        NOT NULL,
    body         bytea       NOT NULL, -- what was shown
    asked_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    decision     text        CHECK (decision IN ('approve', 'edit', 'reject', 'respond')),
    decision_key_id text,
    decision_body   bytea, -- who, comment, edit or response
    decided_at   timestamptz,
    PRIMARY KEY (tenant, run_id, review_id),
    FOREIGN KEY (tenant, run_id) REFERENCES ledger.runs,
    CHECK ((status = 'decided') = (decision IS NOT NULL)),
    CHECK ((decision IS NULL) = (decided_at IS NULL)),
    CHECK ((decision IS NULL) = (decision_body IS NULL))
);

-- The application's view of every checkpoint, committed with it and readable without LangGraph.
CREATE TABLE ledger.checkpoint_records (
    tenant            text        NOT NULL,
    run_id            uuid        NOT NULL,
    checkpoint_ns     text        NOT NULL,
    checkpoint_id     text        NOT NULL,
    parent_checkpoint text,
    schema_version    integer     NOT NULL,
    workflow_version  integer     NOT NULL,
    fingerprint       text        NOT NULL,
    boundary          text        NOT NULL,
    phase             text        NOT NULL,
    step              integer     NOT NULL,
    tasks             jsonb       NOT NULL, -- how many stand where
    fence             bigint,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, run_id, checkpoint_ns, checkpoint_id)
);

-- Who did what to a run: one chain of hashes each, only ever added to.
CREATE TABLE ledger.audit_log (
    tenant      text        NOT NULL,
    run_id      uuid        NOT NULL,
    sequence    integer     NOT NULL CHECK (sequence > 0),
    event       text        NOT NULL,
    actor       text        NOT NULL,
    detail      jsonb       NOT NULL, -- ids, counts and digests; nothing personal
    at          timestamptz NOT NULL,
    previous    text,
    hash        text        NOT NULL,
    PRIMARY KEY (tenant, run_id, sequence),
    CHECK ((previous IS NULL) = (sequence = 1))
);

CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.audit_log
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_statement BEFORE TRUNCATE ON ledger.audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- The check at the head of every transaction that writes for a run: whoever holds an older fence than the row's writes
-- nothing. FOR SHARE makes a takeover wait for the commit in flight, so that no write can follow it.
CREATE FUNCTION ledger.check_fence(wanted_tenant text, wanted_run uuid, held bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    current_fence bigint;
    current_owner text;
BEGIN
    SELECT fence, owner INTO current_fence, current_owner FROM ledger.leases
     WHERE tenant = wanted_tenant AND run_id = wanted_run FOR SHARE;
    IF current_fence IS DISTINCT FROM held THEN
        RAISE EXCEPTION 'stale fence' USING ERRCODE = 'PF001', DETAIL = coalesce(current_owner, 'nobody');
    END IF;
END
$$;

-- A cancelled run takes no more results; its last checkpoint is still stored.
CREATE FUNCTION ledger.check_not_cancelled(wanted_tenant text, wanted_run uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM ledger.runs WHERE tenant = wanted_tenant AND run_id = wanted_run AND status = 'cancelled';
    IF FOUND THEN
        RAISE EXCEPTION 'run cancelled' USING ERRCODE = 'PF002';
    END IF;
END
$$;
