-- Expands. Which workflows worked here, and which runs the workers take: code that knows neither works on beside code that does.

-- What a workflow looks like, by the fingerprint that runs and checkpoints bear: whoever meets a run of another one can say
-- how that differs, without its code. Never trusted: a topology that does not have its fingerprint is none.
CREATE TABLE ledger.workflows (
    tenant           text        NOT NULL,
    fingerprint      text        NOT NULL,
    workflow_version integer     NOT NULL,
    topology         jsonb       NOT NULL,
    at               timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, fingerprint)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.workflows
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only_statement BEFORE TRUNCATE ON ledger.workflows
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- What each worker that was here of late takes: the runs that bear versions[i] with fingerprints[i].
CREATE TABLE ledger.workers (
    tenant       text        NOT NULL,
    worker       text        NOT NULL, -- as leases.owner
    application  text        NOT NULL, -- what its sessions are called
    versions     integer[]   NOT NULL,
    fingerprints text[]      NOT NULL,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, worker)
);

-- Whether a run's stamp is among those of a worker; of one that names none, every run's.
CREATE FUNCTION ledger.supports(versions integer[], fingerprints text[], of_version integer, of_fingerprint text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN versions IS NULL OR EXISTS (
    SELECT FROM unnest(versions, fingerprints) AS taken (version, fingerprint)
     WHERE taken.version = of_version AND taken.fingerprint = of_fingerprint);
