-- name: RecordEvidence :none
INSERT INTO ledger.evidence (tenant, run_id, evidence_id, source_id, text_artifact, start_position, end_position, key_id,
                             body)
VALUES (%(tenant)s, %(run_id)s, %(evidence_id)s, %(source_id)s, %(text_artifact)s, %(start)s, %(end)s, %(key_id)s,
        %(body)s)
ON CONFLICT DO NOTHING;

-- name: ListEvidence :many
SELECT evidence_id, source_id, text_artifact, start_position AS start, end_position AS "end", key_id, body
  FROM ledger.evidence WHERE tenant = %(tenant)s AND run_id = %(run_id)s
   AND (%(evidence_ids)s::text[] IS NULL OR evidence_id = ANY (%(evidence_ids)s::text[]))
 ORDER BY evidence_id;
