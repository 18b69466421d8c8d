-- name: DamagedRows :many
-- Rows that do not stand as they were recorded last.
WITH recorded AS MATERIALIZED (
    SELECT DISTINCT ON (table_name, row_key) table_name, row_key, row
      FROM ledger.changes WHERE tenant = %(tenant)s AND run_id = %(run_id)s
     ORDER BY table_name, row_key, version DESC, sequence DESC
), present AS MATERIALIZED (
    SELECT table_name, row_key, row FROM ledger.rows_of(%(tenant)s, %(run_id)s)
)
SELECT table_name, row_key,
       CASE WHEN present.row IS NULL THEN 'missing' WHEN recorded.row IS NULL THEN 'not recorded' ELSE 'changed' END
       AS problem
  FROM recorded FULL JOIN present USING (table_name, row_key)
 WHERE NOT ledger.stands(present.row, recorded.row)
 ORDER BY table_name, row_key;

-- name: DamagedChanges :many
-- Records of changes whose row is no longer the one that was digested.
SELECT version, sequence, table_name, row_key FROM ledger.changes
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND digest IS DISTINCT FROM ledger.row_digest(row)
 ORDER BY version, sequence;

-- name: ChainOfSeals :many
-- Every version with its seal and with what its changes come to now; what is missing is NULL.
SELECT version, seal.key_id, seal.seal, seal.content, made.content AS found,
       EXISTS (SELECT FROM ledger.seal_keys AS known WHERE known.tenant = %(tenant)s AND known.key_id = seal.key_id)
       AS registered,
       CASE WHEN seal.seal IS NULL THEN (
           SELECT string_agg(DISTINCT 'row ' || change.table_name || rtrim(' ' || change.row_key), ', ')
             FROM ledger.changes AS change
            WHERE change.tenant = %(tenant)s AND change.run_id = %(run_id)s AND change.version = made.version) END AS rows
  FROM (SELECT version, key_id, seal, content FROM ledger.seals WHERE tenant = %(tenant)s AND run_id = %(run_id)s) AS seal
  FULL JOIN (SELECT version, content FROM ledger.contents WHERE tenant = %(tenant)s AND run_id = %(run_id)s) AS made
       USING (version)
 ORDER BY version;

-- name: GetHead :maybe
SELECT version, recorded, key_id, seal FROM ledger.heads WHERE tenant = %(tenant)s AND run_id = %(run_id)s;

-- name: CorpusOfRun :maybe
SELECT corpus_artifact FROM ledger.runs WHERE tenant = %(tenant)s AND run_id = %(run_id)s;

-- name: DamagedArtifacts :many
-- Of these artifacts and all that rows of the run name, those that are missing or are not what their names say.
WITH named AS (
    SELECT unnest(%(artifact_ids)s::text[]) AS artifact_id
    UNION
    SELECT unnest(ARRAY[corpus_artifact, report_artifact]) FROM ledger.runs
     WHERE tenant = %(tenant)s AND run_id = %(run_id)s
    UNION
    SELECT report_artifact FROM ledger.citations WHERE tenant = %(tenant)s AND run_id = %(run_id)s
    UNION
    SELECT unnest(ARRAY[content_artifact, text_artifact]) FROM ledger.sources
     WHERE tenant = %(tenant)s AND run_id = %(run_id)s
    UNION
    SELECT text_artifact FROM ledger.evidence WHERE tenant = %(tenant)s AND run_id = %(run_id)s
    UNION
    SELECT unnest(ARRAY[received_artifact, result_artifact]) FROM ledger.attempts
     WHERE tenant = %(tenant)s AND run_id = %(run_id)s
), examined AS (
    SELECT named.artifact_id,
           CASE WHEN artifact.artifact_id IS NULL THEN 'missing'
                WHEN artifact.key_id IS DISTINCT FROM 'plain' THEN 'stored under a key that never was'
                WHEN artifact.size_bytes IS DISTINCT FROM length(artifact.body)
                  OR artifact.artifact_id IS DISTINCT FROM 'sha256:' || encode(sha256(artifact.body), 'hex') THEN 'changed'
           END AS problem
      FROM named LEFT JOIN ledger.artifacts AS artifact
        ON artifact.tenant = %(tenant)s AND artifact.artifact_id = named.artifact_id
     WHERE named.artifact_id IS NOT NULL
)
SELECT artifact_id, problem FROM examined WHERE problem IS NOT NULL ORDER BY artifact_id;

-- name: RowsAsOf :many
SELECT table_name, row FROM (
    SELECT DISTINCT ON (table_name, row_key) table_name, row_key, row
      FROM ledger.changes WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND version <= %(version)s
     ORDER BY table_name, row_key, version DESC, sequence DESC) AS newest
 WHERE row IS NOT NULL ORDER BY table_name, row_key;

-- name: WasSealed :one
-- Whether there is a trace of seals, of rows or of checkpoints.
SELECT EXISTS (SELECT FROM ledger.seals WHERE tenant = %(tenant)s AND run_id = %(run_id)s)
    OR EXISTS (SELECT FROM ledger.changes WHERE tenant = %(tenant)s AND run_id = %(run_id)s)
    OR EXISTS (SELECT FROM ledger.checkpoint_records
                WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND schema_version >= 2) AS sealed;

-- name: AdoptRows :maybe
-- Record the rows of a run that is older than the seals as its first version.
WITH adopted AS (
    UPDATE ledger.heads SET recorded = true, version = 1, transaction = pg_current_xact_id()
     WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND NOT recorded AND version = 0
    RETURNING tenant, run_id, version
), recorded AS (
    INSERT INTO ledger.changes (tenant, run_id, version, sequence, table_name, row_key, row, digest)
    SELECT tenant, run_id, version, row_number() OVER (ORDER BY table_name, row_key), table_name, row_key, row,
           ledger.row_digest(row)
      FROM adopted, ledger.rows_of(tenant, run_id)
    RETURNING 1
)
SELECT count(*) AS rows FROM adopted, recorded HAVING count(*) > 0;

-- name: SealOfVersion :many
SELECT version, seal FROM ledger.seals
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND version = %(version)s;
