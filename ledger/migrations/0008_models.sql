-- Expands. Language models: a run that waits for an endpoint says when it tries again, and what was verified of an endpoint is kept.

ALTER TABLE ledger.runs
    ADD COLUMN try_again_at timestamptz; -- counts while the run is blocked: older code does not clear it
CREATE INDEX runs_postponed ON ledger.runs (tenant, try_again_at) WHERE try_again_at IS NOT NULL;

-- What was found out about the endpoint of a model, the newest of each question. It belongs to no run, and names no key.
CREATE TABLE ledger.endpoint_checks (
    tenant     text        NOT NULL,
    endpoint   text        NOT NULL, -- model and host
    name       text        NOT NULL,
    ok         boolean     NOT NULL,
    detail     text        NOT NULL,
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, endpoint, name)
);
