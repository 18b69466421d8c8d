-- A lease runs out by this database's clock unless its owner renews it. Rows from before have run out.
ALTER TABLE ledger.leases
    ADD COLUMN renewed_at  timestamptz NOT NULL DEFAULT 'epoch',
    ADD COLUMN expires_at  timestamptz NOT NULL DEFAULT 'epoch',
    ADD COLUMN released_at timestamptz,
    -- How its owner let go of it; one that was never released belongs to a living worker, or to one that died.
    ADD COLUMN released_as text CHECK (released_as IN ('ended', 'drained', 'interrupted', 'failed')),
    ADD CHECK ((released_at IS NULL) = (released_as IS NULL));
CREATE INDEX leases_unreleased ON ledger.leases (tenant, expires_at) WHERE released_at IS NULL;

-- What the session of a lease's owner holds a lock on for as long as it is connected. Each lease has a key of its own, so
-- that the session of a frozen owner does not pass for its successor's.
CREATE FUNCTION ledger.lease_key(wanted_tenant text, wanted_run uuid, held bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT hashtextextended(wanted_tenant || ' run ' || wanted_run::text || ' ' || held::text, 0)
$$;

-- Whether the owner of a lease is connected: one that was killed is not, long before its lease runs out. Only looked up,
-- because whoever tried the lock would for that moment keep it from its owner.
CREATE FUNCTION ledger.owner_is_connected(wanted_tenant text, wanted_run uuid, held bigint) RETURNS boolean
LANGUAGE sql AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks
         WHERE locktype = 'advisory' AND granted AND objsubid = 1
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND classid = (ledger.lease_key(wanted_tenant, wanted_run, held) >> 32 & 4294967295)::oid
           AND objid = (ledger.lease_key(wanted_tenant, wanted_run, held) & 4294967295)::oid
    )
$$;

-- The highest fence that anything of a run was written under: a lease row that is lost does not begin again at 1, where
-- an old worker's fence might be that of a new one.
CREATE FUNCTION ledger.newest_fence(wanted_tenant text, wanted_run uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT greatest(
        0,
        (SELECT max(fence) FROM ledger.checkpoint_records WHERE tenant = wanted_tenant AND run_id = wanted_run),
        (SELECT max(fence) FROM ledger.attempts WHERE tenant = wanted_tenant AND run_id = wanted_run)
    )
$$;

-- As before, but with the weakest row lock: a renewal does not wait for the owner's own writes, nor they for it. A
-- takeover does wait, because it locks the row FOR UPDATE.
CREATE OR REPLACE FUNCTION ledger.check_fence(wanted_tenant text, wanted_run uuid, held bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    current_fence bigint;
    current_owner text;
BEGIN
    SELECT fence, owner INTO current_fence, current_owner FROM ledger.leases
     WHERE tenant = wanted_tenant AND run_id = wanted_run FOR KEY SHARE;
    IF current_fence IS DISTINCT FROM held THEN
        RAISE EXCEPTION 'stale fence' USING ERRCODE = 'PF001', DETAIL = coalesce(current_owner, 'nobody');
    END IF;
END
$$;

-- What works on a whole thread (delete, prune, copy onto it) is refused while a worker has its run.
CREATE FUNCTION ledger.check_unheld(wanted_tenant text, wanted_run uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    holder text;
BEGIN
    SELECT owner INTO holder FROM ledger.leases
     WHERE tenant = wanted_tenant AND run_id = wanted_run AND released_at IS NULL AND expires_at > clock_timestamp() FOR UPDATE;
    IF FOUND THEN
        RAISE EXCEPTION 'held' USING ERRCODE = 'PF001', DETAIL = holder;
    END IF;
END
$$;
