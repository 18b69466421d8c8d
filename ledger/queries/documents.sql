-- name: KnownExtractions :many
SELECT extraction.content_artifact, extraction.extractor, extraction.media_type, extraction.text_artifact,
       extraction.key_id, extraction.body, extraction.seal_key_id, extraction.seal
  FROM unnest(%(contents)s::text[], %(extractors)s::text[]) AS wanted (content_artifact, extractor)
  JOIN ledger.extractions AS extraction USING (content_artifact, extractor)
 WHERE extraction.tenant = %(tenant)s;

-- name: RecordExtraction :none
INSERT INTO ledger.extractions AS known (tenant, content_artifact, extractor, media_type, text_artifact, key_id, body,
                                         seal_key_id, seal)
VALUES (%(tenant)s, %(content_artifact)s, %(extractor)s, %(media_type)s, %(text_artifact)s, %(key_id)s, %(body)s,
        %(seal_key_id)s, %(seal)s)
ON CONFLICT (tenant, content_artifact, extractor) DO UPDATE
   SET media_type = excluded.media_type, text_artifact = excluded.text_artifact, key_id = excluded.key_id,
       body = excluded.body, seal_key_id = excluded.seal_key_id, seal = excluded.seal
 WHERE (known.media_type, known.text_artifact, known.key_id, known.body, known.seal_key_id, known.seal) IS DISTINCT FROM
       (excluded.media_type, excluded.text_artifact, excluded.key_id, excluded.body, excluded.seal_key_id, excluded.seal);
