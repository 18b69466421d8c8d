-- name: ClaimKey :maybe
-- A row: the key is new.
INSERT INTO ledger.effect_keys (tenant, key, run_id, request_digest)
VALUES (%(tenant)s, %(key)s, %(run_id)s, %(request_digest)s) ON CONFLICT DO NOTHING
RETURNING key;

-- name: KeyStandsFor :maybe
-- Only where its effect is recorded: what became of one whose record was deleted, nobody knows any more.
SELECT claimed.run_id, claimed.request_digest
  FROM ledger.effect_keys AS claimed
  JOIN ledger.effects AS effect USING (tenant, run_id, key)
 WHERE claimed.tenant = %(tenant)s AND claimed.key = %(key)s;

-- name: IntendEffect :none
INSERT INTO ledger.effects (tenant, run_id, key, step, mode, kind, target, contract_kind, contract, request_digest, key_id, body)
VALUES (%(tenant)s, %(run_id)s, %(key)s, %(step)s, %(mode)s, %(kind)s, %(target)s, %(contract_kind)s, %(contract)s,
        %(request_digest)s, %(key_id)s, %(body)s)
ON CONFLICT DO NOTHING;

-- name: ReuseEffect :none
-- What another run did stands for this one's, with its name outside.
INSERT INTO ledger.effects (tenant, run_id, key, step, mode, kind, target, contract_kind, contract, request_digest, key_id, body,
                            status, external_id, reused_from)
SELECT tenant, %(run_id)s, key, step, mode, kind, target, contract_kind, contract, request_digest, key_id, body,
       status, external_id, run_id
  FROM ledger.effects
 WHERE tenant = %(tenant)s AND run_id = %(done_by)s AND key = %(key)s AND status = 'confirmed'
ON CONFLICT DO NOTHING;

-- name: GetEffect :maybe
SELECT run_id, key, step, mode, kind, target, contract, request_digest, key_id, body, status, reason, attempts, external_id,
       reused_from, settled_key_id, settled_body, settled_at, intended_at, changed_at,
       extract(epoch FROM patient_until - clock_timestamp())::double precision AS patience_seconds
  FROM ledger.effects WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s;

-- name: ListEffects :many
SELECT run_id, key, step, mode, kind, target, contract, request_digest, key_id, body, status, reason, attempts, external_id,
       reused_from, settled_key_id, settled_body, settled_at, intended_at, changed_at,
       extract(epoch FROM patient_until - clock_timestamp())::double precision AS patience_seconds
  FROM ledger.effects WHERE tenant = %(tenant)s AND run_id = %(run_id)s ORDER BY intended_at, key;

-- name: FindEffects :many
-- Two rows are enough to know that a prefix is ambiguous; an effect that is reused is that of the run that did it.
SELECT run_id, key FROM ledger.effects
 WHERE tenant = %(tenant)s AND starts_with(key, %(prefix)s) AND reused_from IS NULL LIMIT 2;

-- name: ListEffectAttempts :many
SELECT key, number, act, worker, fence, started_at, ended_at, outcome, key_id, body,
       extract(epoch FROM clock_timestamp() - started_at)::double precision AS age_seconds
  FROM ledger.effect_attempts
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND (%(key)s::text IS NULL OR key = %(key)s::text)
 ORDER BY key, number;

-- name: BeginSending :maybe
-- intended -> sending
UPDATE ledger.effects
   SET status = 'sending', attempts = attempts + 1, reason = NULL, patient_until = NULL, changed_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s AND status = 'intended'
   AND attempts = %(attempts)s
RETURNING attempts AS number;

-- name: TryInDoubt :maybe
-- It stays in doubt: asked for, or sent again where the contract makes that safe.
UPDATE ledger.effects SET attempts = attempts + 1, patient_until = NULL, changed_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s AND status = 'in_doubt'
   AND attempts = %(attempts)s
RETURNING attempts AS number;

-- name: RecordEffectAttempt :none
INSERT INTO ledger.effect_attempts (tenant, run_id, key, number, act, worker, fence)
VALUES (%(tenant)s, %(run_id)s, %(key)s, %(number)s, %(act)s, %(worker)s, %(fence)s);

-- name: EndEffectAttempt :maybe
-- started -> confirmed | refused | not_sent | unknown | differs | absent | no_look_up
UPDATE ledger.effect_attempts
   SET outcome = %(outcome)s, key_id = %(key_id)s, body = %(body)s, ended_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s AND number = %(number)s AND outcome = 'started'
RETURNING number;

-- name: PutBack :maybe
-- sending -> intended
UPDATE ledger.effects
   SET status = 'intended', reason = %(reason)s, changed_at = clock_timestamp(),
       patient_until = clock_timestamp() + make_interval(secs => %(seconds)s)
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s AND attempts = %(number)s AND status = 'sending'
RETURNING key;

-- name: Doubt :maybe
-- sending -> in_doubt
UPDATE ledger.effects SET status = 'in_doubt', reason = %(reason)s, changed_at = clock_timestamp(),
       patient_until = clock_timestamp() + make_interval(secs => %(seconds)s)
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s AND attempts = %(number)s AND status = 'sending'
RETURNING key;

-- name: StayInDoubt :maybe
UPDATE ledger.effects SET reason = %(reason)s, changed_at = clock_timestamp(),
       patient_until = clock_timestamp() + make_interval(secs => %(seconds)s)
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s AND attempts = %(number)s AND status = 'in_doubt'
RETURNING key;

-- name: ConfirmEffect :maybe
-- sending -> confirmed
-- in_doubt -> confirmed
UPDATE ledger.effects SET status = 'confirmed', external_id = %(external_id)s, reason = NULL, changed_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s AND attempts = %(number)s
   AND status IN ('sending', 'in_doubt')
RETURNING key;

-- name: FailEffect :maybe
-- What a person said before is no word about this refusal; the history keeps it.
-- sending -> failed
-- in_doubt -> failed
UPDATE ledger.effects
   SET status = 'failed', reason = %(reason)s, changed_at = clock_timestamp(),
       settled_key_id = NULL, settled_body = NULL, settled_at = NULL
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s AND attempts = %(number)s
   AND status IN ('sending', 'in_doubt')
RETURNING key;

-- name: AwaitPerson :maybe
-- in_doubt -> awaiting_person
UPDATE ledger.effects SET status = 'awaiting_person', reason = %(reason)s, changed_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s AND attempts = %(number)s AND status = 'in_doubt'
RETURNING key;

-- name: ForbidEffect :maybe
-- intended -> failed
UPDATE ledger.effects
   SET status = 'failed', reason = %(reason)s, settled_key_id = %(settled_key_id)s, settled_body = %(settled_body)s,
       settled_at = clock_timestamp(), changed_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s AND status = 'intended'
RETURNING key;

-- name: SettleHappened :maybe
-- awaiting_person -> confirmed
-- in_doubt -> confirmed
UPDATE ledger.effects
   SET status = 'confirmed', external_id = %(external_id)s, reason = NULL, settled_key_id = %(settled_key_id)s,
       settled_body = %(settled_body)s, settled_at = clock_timestamp(), changed_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s AND status IN ('awaiting_person', 'in_doubt')
RETURNING key;

-- name: SettleDidNotHappen :maybe
-- A refusal that nobody has taken note of yet counts as settled from then on.
-- awaiting_person -> failed
-- in_doubt -> failed
UPDATE ledger.effects
   SET status = 'failed', reason = %(reason)s, settled_key_id = %(settled_key_id)s, settled_body = %(settled_body)s,
       settled_at = clock_timestamp(), changed_at = clock_timestamp()
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s
   AND (status IN ('awaiting_person', 'in_doubt') OR (status = 'failed' AND settled_at IS NULL))
RETURNING key;

-- name: SettleAgain :maybe
-- awaiting_person -> intended
-- failed -> intended
UPDATE ledger.effects
   SET status = 'intended', reason = %(reason)s, settled_key_id = %(settled_key_id)s, settled_body = %(settled_body)s,
       settled_at = clock_timestamp(), changed_at = clock_timestamp(), patient_until = NULL
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND key = %(key)s
   AND status IN ('awaiting_person', 'failed') AND attempts > 0
RETURNING key;

-- name: NextNotice :maybe
-- A notice is due once a checkpoint that decides it is stored, however late that commits: there is no cursor that could have
-- passed it. One that another relay works, or whose run is written just now, is left for the next look.
SELECT effect.run_id, effect.key
  FROM ledger.effects AS effect
  JOIN ledger.heads AS head USING (tenant, run_id)
  JOIN ledger.runs AS run USING (tenant, run_id)
 WHERE effect.tenant = %(tenant)s AND effect.mode = 'notice' AND effect.status IN ('intended', 'sending', 'in_doubt')
   AND (effect.patient_until IS NULL OR effect.patient_until <= clock_timestamp())
   AND NOT (effect.key = ANY (%(seen)s::text[]))
   AND ledger.supports(%(versions)s::integer[], %(fingerprints)s::text[], run.workflow_version, run.fingerprint)
   AND (effect.status <> 'sending' OR EXISTS (
       SELECT FROM ledger.effect_attempts AS attempt
        WHERE attempt.tenant = effect.tenant AND attempt.run_id = effect.run_id AND attempt.key = effect.key
          AND attempt.number = effect.attempts
          AND attempt.started_at + make_interval(secs => %(lease)s + (effect.contract ->> 'request_seconds')::double precision)
              <= clock_timestamp()))
   -- Of a run that was cancelled there is nothing to tell any more; what was begun is looked into all the same.
   AND (run.status <> 'cancelled' OR effect.status <> 'intended')
   -- That a run is done is decided by its row, in the transaction of the notice.
   AND (run.status = 'completed'
        OR EXISTS (SELECT FROM ledger.checkpoint_records AS record
                    WHERE record.tenant = effect.tenant AND record.run_id = effect.run_id AND record.effects ? effect.key))
 ORDER BY effect.intended_at, effect.key
 LIMIT 1
   FOR UPDATE OF head SKIP LOCKED;

-- name: UnsettledRuns :many
-- Runs that stand still for an effect which may be looked into again by now.
SELECT DISTINCT run_id, run.fingerprint, run.workflow_version, lease.owner
  FROM ledger.effects AS effect
  JOIN ledger.runs AS run USING (tenant, run_id)
  JOIN ledger.leases AS lease USING (tenant, run_id)
 WHERE tenant = %(tenant)s AND effect.mode = 'publication' AND effect.status IN ('intended', 'in_doubt')
   AND effect.attempts > 0 AND run.status = 'blocked'
   AND (effect.patient_until IS NULL OR effect.patient_until <= clock_timestamp())
   AND (lease.released_at IS NOT NULL OR lease.expires_at <= clock_timestamp())
   AND ledger.supports(%(versions)s::integer[], %(fingerprints)s::text[], run.workflow_version, run.fingerprint) = %(taken)s;
