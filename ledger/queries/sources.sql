-- name: RecordSource :none
INSERT INTO ledger.sources (tenant, run_id, source_id, status, content_artifact, text_artifact, extractor, key_id, body)
VALUES (%(tenant)s, %(run_id)s, %(source_id)s, %(status)s, %(content_artifact)s, %(text_artifact)s, %(extractor)s,
        %(key_id)s, %(body)s)
ON CONFLICT DO NOTHING;

-- name: ListSources :many
SELECT source_id, status, content_artifact, text_artifact, extractor, key_id, body, retrieved_at, excluded_by,
       accepted_by
  FROM ledger.sources WHERE tenant = %(tenant)s AND run_id = %(run_id)s ORDER BY retrieved_at, source_id;

-- name: GetSources :many
SELECT source_id, status, content_artifact, text_artifact, extractor, key_id, body, retrieved_at, excluded_by,
       accepted_by
  FROM ledger.sources WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND source_id = ANY (%(source_ids)s);

-- name: ExcludeSource :none
UPDATE ledger.sources SET excluded_by = %(review_id)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND source_id = %(source_id)s AND excluded_by IS NULL;

-- name: AcceptSource :none
UPDATE ledger.sources SET accepted_by = %(review_id)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND source_id = %(source_id)s AND accepted_by IS NULL;

-- name: SetSourceStatus :maybe
-- What it was before, where it was another.
UPDATE ledger.sources AS source SET status = %(status)s
  FROM ledger.sources AS before
 WHERE source.tenant = %(tenant)s AND source.run_id = %(run_id)s AND source.source_id = %(source_id)s
   AND (before.tenant, before.run_id, before.source_id) = (source.tenant, source.run_id, source.source_id)
   AND source.status <> %(status)s
RETURNING before.status;
