-- name: NameTransaction :one
SELECT set_config('perdure.tenant', %(tenant)s, true),
       set_config('perdure.actor', %(actor)s, true),
       set_config('perdure.fence', %(fence)s, true);

-- name: NameTransactionOfRun :one
SELECT set_config('perdure.tenant', %(tenant)s, true),
       set_config('perdure.actor', %(actor)s, true),
       set_config('perdure.fence', %(fence)s, true),
       ledger.check_fence(%(tenant)s, %(run_id)s, %(held)s),
       ledger.check_not_cancelled(%(tenant)s, %(run_id)s);

-- name: CheckFenceOnly :one
SELECT ledger.check_fence(%(tenant)s, %(run_id)s, %(fence)s);

-- name: CheckUnheld :one
SELECT ledger.check_unheld(%(tenant)s, %(run_id)s);

-- name: SeeOneMoment :none
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;

-- name: LockHead :maybe
-- Before anything else of the run is locked; two that write for it would otherwise wait for each other.
SELECT FROM ledger.heads WHERE tenant = %(tenant)s AND run_id = %(run_id)s FOR UPDATE;
