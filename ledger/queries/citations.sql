-- name: RecordCitation :none
INSERT INTO ledger.citations (tenant, run_id, report_artifact, number, evidence_id)
VALUES (%(tenant)s, %(run_id)s, %(report_artifact)s, %(number)s, %(evidence_id)s)
ON CONFLICT DO NOTHING;

-- name: ListCitations :many
SELECT citation.number, citation.evidence_id, evidence.start_position AS start, evidence.end_position AS "end",
       evidence.text_artifact, evidence.key_id, evidence.body, source.content_artifact,
       source.key_id AS source_key_id, source.body AS source_body
  FROM ledger.citations AS citation
  JOIN ledger.evidence AS evidence USING (tenant, run_id, evidence_id)
  JOIN ledger.sources AS source USING (tenant, run_id, source_id)
 WHERE citation.tenant = %(tenant)s AND citation.run_id = %(run_id)s AND citation.report_artifact = %(report_artifact)s
 ORDER BY citation.number;
