-- name: PutArtifact :none
INSERT INTO ledger.artifacts (tenant, artifact_id, media_type, size_bytes, key_id, body)
VALUES (%(tenant)s, %(artifact_id)s, %(media_type)s, %(size_bytes)s, %(key_id)s, %(body)s)
ON CONFLICT DO NOTHING;

-- name: GetArtifacts :many
SELECT artifact_id, key_id, body FROM ledger.artifacts
 WHERE tenant = %(tenant)s AND artifact_id = ANY (%(artifact_ids)s);

-- name: FindArtifacts :many
-- Two rows are enough to know that a prefix is ambiguous.
SELECT artifact_id, media_type, size_bytes
  FROM ledger.artifacts WHERE tenant = %(tenant)s AND starts_with(artifact_id, %(prefix)s) LIMIT 2;
