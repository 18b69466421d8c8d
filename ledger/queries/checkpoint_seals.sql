-- name: StoreCheckpoint :none
SELECT ledger.store_checkpoint(
    %(tenant)s, %(thread_id)s, %(checkpoint_ns)s, %(checkpoint_id)s, %(parent)s, %(checkpoint)s::text::jsonb,
    %(metadata)s::text::jsonb, %(channels)s::text[], %(versions)s::text[], %(types)s::text[], %(blobs)s::bytea[],
    %(record)s::text::jsonb, %(parts)s::text::jsonb, %(key_id)s, %(seal)s,
    %(held)s::bigint);

-- name: StoreWrites :none
SELECT ledger.store_writes(
    %(tenant)s, %(thread_id)s, %(checkpoint_ns)s, %(checkpoint_id)s, %(task_id)s, %(task_path)s, %(idxs)s::integer[],
    %(channels)s::text[], %(types)s::text[], %(blobs)s::bytea[], %(key_ids)s::text[], %(seals)s::text[], %(replaced)s,
    %(held)s::bigint);

-- name: BlobsOf :many
-- What is stored of channels that the checkpoint's parent does not tell about.
SELECT blob.channel, blob.version, blob.type, blob.blob
  FROM unnest(%(channels)s::text[], %(versions)s::text[]) AS named (channel, version)
  JOIN langgraph.checkpoint_blobs AS blob
    ON blob.thread_id = %(thread_id)s AND blob.checkpoint_ns = %(checkpoint_ns)s
   AND blob.channel = named.channel AND blob.version = named.version;

-- name: LoadCheckpoint :maybe
-- One checkpoint, without an id the newest.
SELECT %(thread_id)s::text AS thread_id, %(checkpoint_ns)s::text AS checkpoint_ns, wanted.checkpoint_id, stored.*
  FROM coalesce(%(checkpoint_id)s::text, ledger.newest_checkpoint(%(tenant)s, %(thread_id)s, %(checkpoint_ns)s))
       AS wanted (checkpoint_id)
 CROSS JOIN LATERAL ledger.stored_checkpoint(%(tenant)s, %(thread_id)s, %(checkpoint_ns)s, wanted.checkpoint_id) AS stored
 WHERE wanted.checkpoint_id IS NOT NULL;

-- name: ListCheckpoints :many
-- Those of LangGraph's table, newest first, but for rejected ones; every condition may be null.
SELECT known.thread_id, known.checkpoint_ns, known.checkpoint_id, stored.*
  FROM (SELECT thread_id, checkpoint_ns, checkpoint_id FROM langgraph.checkpoints AS c
         WHERE (%(thread_id)s::text IS NULL OR thread_id = %(thread_id)s)
           AND (%(checkpoint_ns)s::text IS NULL OR checkpoint_ns = %(checkpoint_ns)s)
           AND (%(checkpoint_id)s::text IS NULL OR checkpoint_id = %(checkpoint_id)s)
           AND (%(before)s::text IS NULL OR checkpoint_id < %(before)s)
           AND (%(filter)s::text IS NULL OR metadata @> %(filter)s::jsonb)
           AND NOT EXISTS (SELECT FROM ledger.rejected_checkpoints AS rejected
                            WHERE rejected.tenant = %(tenant)s AND rejected.run_id = ledger.run_of(c.thread_id)
                              AND rejected.checkpoint_ns = c.checkpoint_ns AND rejected.checkpoint_id = c.checkpoint_id)
         ORDER BY checkpoint_id DESC LIMIT %(limit)s::bigint) AS known
 CROSS JOIN LATERAL ledger.stored_checkpoint(%(tenant)s, known.thread_id, known.checkpoint_ns, known.checkpoint_id) AS stored
 ORDER BY known.checkpoint_id DESC;

-- name: DeleteThreads :none
WITH of_writes AS (DELETE FROM langgraph.checkpoint_writes WHERE thread_id = ANY(%(thread_ids)s::text[])),
     of_blobs AS (DELETE FROM langgraph.checkpoint_blobs WHERE thread_id = ANY(%(thread_ids)s::text[])),
     of_rows AS (DELETE FROM langgraph.checkpoints WHERE thread_id = ANY(%(thread_ids)s::text[])),
     of_write_seals AS (DELETE FROM ledger.write_seals
                         WHERE tenant = %(tenant)s AND thread_id = ANY(%(thread_ids)s::text[])),
     of_records AS (DELETE FROM ledger.checkpoint_records
                     WHERE tenant = %(tenant)s AND run_id = ANY(%(run_ids)s::uuid[]))
DELETE FROM ledger.checkpoint_seals WHERE tenant = %(tenant)s AND thread_id = ANY(%(thread_ids)s::text[]);

-- name: ThreadsOfRuns :many
-- What LangGraph calls a run is one invocation.
SELECT DISTINCT thread_id FROM langgraph.checkpoints WHERE metadata ->> 'run_id' = ANY(%(run_ids)s::text[]);

-- name: DeleteForRuns :none
WITH gone AS (
    DELETE FROM langgraph.checkpoints WHERE metadata ->> 'run_id' = ANY(%(run_ids)s::text[])
    RETURNING thread_id, checkpoint_ns, checkpoint_id
), of_writes AS (
    DELETE FROM langgraph.checkpoint_writes AS stored USING gone
     WHERE stored.thread_id = gone.thread_id AND stored.checkpoint_ns = gone.checkpoint_ns
       AND stored.checkpoint_id = gone.checkpoint_id
), of_write_seals AS (
    DELETE FROM ledger.write_seals AS stored USING gone
     WHERE stored.tenant = %(tenant)s AND stored.thread_id = gone.thread_id
       AND stored.checkpoint_ns = gone.checkpoint_ns AND stored.checkpoint_id = gone.checkpoint_id
), of_records AS (
    DELETE FROM ledger.checkpoint_records AS stored USING gone
     WHERE stored.tenant = %(tenant)s AND stored.run_id = ledger.run_of(gone.thread_id)
       AND stored.checkpoint_ns = gone.checkpoint_ns AND stored.checkpoint_id = gone.checkpoint_id
)
DELETE FROM ledger.checkpoint_seals AS stored USING gone
 WHERE stored.tenant = %(tenant)s AND stored.thread_id = gone.thread_id
   AND stored.checkpoint_ns = gone.checkpoint_ns AND stored.checkpoint_id = gone.checkpoint_id;

-- name: DeleteUnusedBlobs :none
DELETE FROM langgraph.checkpoint_blobs AS blob
 WHERE blob.thread_id = ANY(%(thread_ids)s::text[])
   AND NOT EXISTS (SELECT FROM langgraph.checkpoints AS kept
                    WHERE kept.thread_id = blob.thread_id AND kept.checkpoint_ns = blob.checkpoint_ns
                      AND kept.checkpoint -> 'channel_versions' ->> blob.channel = blob.version);

-- name: NamespacesOf :many
SELECT DISTINCT checkpoint_ns FROM ledger.checkpoint_seals WHERE tenant = %(tenant)s AND thread_id = %(thread_id)s
UNION
SELECT DISTINCT checkpoint_ns FROM langgraph.checkpoints WHERE thread_id = %(thread_id)s;

-- name: DeleteRejected :none
-- A checkpoint that is never loaded must not be taken for the newest.
DELETE FROM langgraph.checkpoints AS stored USING ledger.rejected_checkpoints AS rejected
 WHERE stored.thread_id = %(thread_id)s AND rejected.tenant = %(tenant)s
   AND rejected.run_id = ledger.run_of(%(thread_id)s) AND rejected.checkpoint_ns = stored.checkpoint_ns
   AND rejected.checkpoint_id = stored.checkpoint_id;

-- name: ForgetPruned :none
-- What belonged to rows of this thread that are gone; a record of one that stays follows no other any more.
WITH of_seals AS (
    DELETE FROM ledger.checkpoint_seals AS sealed
     WHERE tenant = %(tenant)s AND thread_id = %(thread_id)s
       AND NOT EXISTS (SELECT FROM langgraph.checkpoints AS kept
                        WHERE kept.thread_id = sealed.thread_id AND kept.checkpoint_ns = sealed.checkpoint_ns
                          AND kept.checkpoint_id = sealed.checkpoint_id)
), of_records AS (
    DELETE FROM ledger.checkpoint_records AS recorded
     WHERE tenant = %(tenant)s AND run_id = ledger.run_of(%(thread_id)s)
       AND NOT EXISTS (SELECT FROM langgraph.checkpoints AS kept
                        WHERE kept.thread_id = %(thread_id)s AND kept.checkpoint_ns = recorded.checkpoint_ns
                          AND kept.checkpoint_id = recorded.checkpoint_id)
), heads AS (
    UPDATE ledger.checkpoint_records AS recorded SET parent_checkpoint = NULL
      FROM langgraph.checkpoints AS kept
     WHERE recorded.tenant = %(tenant)s AND recorded.run_id = ledger.run_of(%(thread_id)s)
       AND kept.thread_id = %(thread_id)s AND kept.checkpoint_ns = recorded.checkpoint_ns
       AND kept.checkpoint_id = recorded.checkpoint_id AND kept.parent_checkpoint_id IS NULL
)
DELETE FROM ledger.write_seals AS sealed
 WHERE tenant = %(tenant)s AND thread_id = %(thread_id)s
   AND NOT EXISTS (SELECT FROM langgraph.checkpoint_writes AS kept
                    WHERE kept.thread_id = sealed.thread_id AND kept.checkpoint_ns = sealed.checkpoint_ns
                      AND kept.checkpoint_id = sealed.checkpoint_id AND kept.task_id = sealed.task_id
                      AND kept.idx = sealed.idx);

-- name: SealCheckpoint :none
INSERT INTO ledger.checkpoint_seals (tenant, thread_id, checkpoint_ns, checkpoint_id, parts, key_id, seal)
VALUES (%(tenant)s, %(thread_id)s, %(checkpoint_ns)s, %(checkpoint_id)s, %(parts)s::text::jsonb, %(key_id)s, %(seal)s)
ON CONFLICT (tenant, thread_id, checkpoint_ns, checkpoint_id) DO UPDATE
   SET parts = excluded.parts, key_id = excluded.key_id, seal = excluded.seal;

-- name: SealWrite :none
INSERT INTO ledger.write_seals (tenant, thread_id, checkpoint_ns, checkpoint_id, task_id, idx, key_id, seal)
VALUES (%(tenant)s, %(thread_id)s, %(checkpoint_ns)s, %(checkpoint_id)s, %(task_id)s, %(idx)s, %(key_id)s, %(seal)s);

-- name: AddRecord :none
INSERT INTO ledger.checkpoint_records
SELECT new.* FROM jsonb_populate_record(NULL::ledger.checkpoint_records, %(record)s::text::jsonb) AS new;

-- name: CopyThread :none
-- Rejected checkpoints stay behind.
WITH copied AS (
    INSERT INTO langgraph.checkpoints
           (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
    SELECT %(target)s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
      FROM langgraph.checkpoints AS c
     WHERE thread_id = %(thread_id)s
       AND NOT EXISTS (SELECT FROM ledger.rejected_checkpoints AS rejected
                        WHERE rejected.tenant = %(tenant)s AND rejected.run_id = ledger.run_of(%(thread_id)s)
                          AND rejected.checkpoint_ns = c.checkpoint_ns AND rejected.checkpoint_id = c.checkpoint_id)
    RETURNING checkpoint_ns, checkpoint_id
), blobs AS (
    INSERT INTO langgraph.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT %(target)s, checkpoint_ns, channel, version, type, blob
      FROM langgraph.checkpoint_blobs WHERE thread_id = %(thread_id)s
)
INSERT INTO langgraph.checkpoint_writes
       (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
SELECT %(target)s, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
  FROM langgraph.checkpoint_writes JOIN copied USING (checkpoint_ns, checkpoint_id) WHERE thread_id = %(thread_id)s;

-- name: CheckpointsBefore :many
-- The next checkpoints that any table knows of, newest first, rejected ones too; a namespace after the other. Pending
-- writes do not count: LangGraph stores them beside their checkpoint, and a worker may die before that is stored.
SELECT %(thread_id)s::text AS thread_id, known.checkpoint_ns, known.checkpoint_id, stored.*
  FROM (SELECT checkpoint_ns, checkpoint_id FROM langgraph.checkpoints WHERE thread_id = %(thread_id)s
        UNION
        SELECT checkpoint_ns, checkpoint_id FROM ledger.checkpoint_seals
         WHERE tenant = %(tenant)s AND thread_id = %(thread_id)s
        UNION
        SELECT checkpoint_ns, checkpoint_id FROM ledger.checkpoint_records
         WHERE tenant = %(tenant)s AND run_id = ledger.run_of(%(thread_id)s)
         ORDER BY checkpoint_ns, checkpoint_id DESC
         OFFSET %(passed)s LIMIT %(limit)s) AS known
 CROSS JOIN LATERAL ledger.stored_checkpoint(%(tenant)s, %(thread_id)s, known.checkpoint_ns, known.checkpoint_id) AS stored
 ORDER BY known.checkpoint_ns, known.checkpoint_id DESC;

-- name: RejectCheckpoint :maybe
INSERT INTO ledger.rejected_checkpoints (tenant, run_id, checkpoint_ns, checkpoint_id, reason)
VALUES (%(tenant)s, %(run_id)s, %(checkpoint_ns)s, %(checkpoint_id)s, %(reason)s)
ON CONFLICT DO NOTHING
RETURNING at;

-- name: RejectWrites :many
-- Moves what a task wrote, with its seals, out of the way of its next attempt.
WITH gone AS (
    DELETE FROM langgraph.checkpoint_writes AS stored
     WHERE thread_id = %(run_id)s::uuid::text AND checkpoint_ns = %(checkpoint_ns)s
       AND checkpoint_id = %(checkpoint_id)s AND task_id = %(task_id)s
    RETURNING idx, to_jsonb(stored) AS found
), gone_seals AS (
    DELETE FROM ledger.write_seals AS sealed
     WHERE tenant = %(tenant)s AND thread_id = %(run_id)s::uuid::text AND checkpoint_ns = %(checkpoint_ns)s
       AND checkpoint_id = %(checkpoint_id)s AND task_id = %(task_id)s
    RETURNING idx, to_jsonb(sealed) AS seal
)
INSERT INTO ledger.rejected_writes
       (tenant, run_id, checkpoint_ns, checkpoint_id, task_id, idx, reason, found, seal)
SELECT %(tenant)s, %(run_id)s, %(checkpoint_ns)s, %(checkpoint_id)s, %(task_id)s, idx, %(reason)s, found, seal
  FROM gone FULL JOIN gone_seals USING (idx)
RETURNING idx;

-- name: IsSealed :one
-- Whether anything of a thread was sealed, or recorded by a version that seals.
SELECT EXISTS (SELECT FROM ledger.checkpoint_seals WHERE tenant = %(tenant)s AND thread_id = %(thread_id)s)
    OR EXISTS (SELECT FROM ledger.write_seals WHERE tenant = %(tenant)s AND thread_id = %(thread_id)s)
    OR EXISTS (SELECT FROM ledger.changes
                WHERE tenant = %(tenant)s AND run_id = ledger.run_of(%(thread_id)s) AND table_name = 'runs')
    OR EXISTS (SELECT FROM ledger.checkpoint_records
                WHERE tenant = %(tenant)s AND run_id = ledger.run_of(%(thread_id)s) AND schema_version > 1) AS sealed;

-- name: ListRejected :many
SELECT checkpoint_ns, checkpoint_id, reason FROM ledger.rejected_checkpoints
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s ORDER BY at, checkpoint_id;
