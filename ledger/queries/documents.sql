-- name: KnownExtractions :many
SELECT extraction.content_artifact, extraction.extractor, extraction.media_type, extraction.text_artifact,
       extraction.key_id, extraction.body
  FROM unnest(%(contents)s::text[], %(extractors)s::text[]) AS wanted (content_artifact, extractor)
  JOIN ledger.extractions AS extraction USING (content_artifact, extractor)
 WHERE extraction.tenant = %(tenant)s;

-- name: RecordExtraction :none
INSERT INTO ledger.extractions (tenant, content_artifact, extractor, media_type, text_artifact, key_id, body)
VALUES (%(tenant)s, %(content_artifact)s, %(extractor)s, %(media_type)s, %(text_artifact)s, %(key_id)s, %(body)s)
ON CONFLICT DO NOTHING;
