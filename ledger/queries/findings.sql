-- name: RecordFinding :none
-- One that a retry set aside and that is found again stands again.
INSERT INTO ledger.findings (tenant, run_id, finding_id, task_id, attempt, retry, kind, confidence, key_id, body)
VALUES (%(tenant)s, %(run_id)s, %(finding_id)s, %(task_id)s, %(attempt)s, nullif(%(retry)s, 0), %(kind)s, %(confidence)s,
        %(key_id)s, %(body)s)
ON CONFLICT (tenant, run_id, finding_id) DO UPDATE
   SET superseded_by = NULL, revived_from = ledger.findings.superseded_by
 WHERE ledger.findings.superseded_by LIKE 'retry %%';

-- name: SupportFinding :none
INSERT INTO ledger.finding_evidence (tenant, run_id, finding_id, position, evidence_id)
VALUES (%(tenant)s, %(run_id)s, %(finding_id)s, %(position)s, %(evidence_id)s)
ON CONFLICT DO NOTHING;

-- name: ListFindings :many
-- Equally confident ones stand as the researcher named them: an id would order them differently in every run.
SELECT finding.finding_id, finding.task_id, finding.attempt, coalesce(finding.retry, 0) AS retry, finding.kind, finding.confidence, finding.verdict,
       finding.flagged, finding.superseded_by, finding.key_id, finding.body, finding.created_at,
       array(SELECT evidence_id FROM ledger.finding_evidence AS support
              WHERE support.tenant = finding.tenant AND support.run_id = finding.run_id
                AND support.finding_id = finding.finding_id ORDER BY support.position) AS evidence_ids
  FROM ledger.findings AS finding
  JOIN ledger.tasks AS task USING (tenant, run_id, task_id)
 WHERE finding.tenant = %(tenant)s AND finding.run_id = %(run_id)s AND finding.superseded_by IS NULL
   AND (%(task_id)s::text IS NULL OR finding.task_id = %(task_id)s::text)
 ORDER BY task.position, finding.confidence DESC, finding.created_at, finding.finding_id;

-- name: SetVerdict :none
UPDATE ledger.findings SET verdict = %(verdict)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND finding_id = %(finding_id)s;

-- name: FlagFinding :none
UPDATE ledger.findings SET flagged = true
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND finding_id = %(finding_id)s;

-- name: SupersedeFinding :none
UPDATE ledger.findings SET superseded_by = %(by)s
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND finding_id = %(finding_id)s AND superseded_by IS NULL;

-- name: FindingsRestingOn :many
SELECT DISTINCT support.finding_id
  FROM ledger.finding_evidence AS support
  JOIN ledger.evidence AS evidence USING (tenant, run_id, evidence_id)
 WHERE support.tenant = %(tenant)s AND support.run_id = %(run_id)s AND evidence.source_id = ANY (%(source_ids)s)
 ORDER BY support.finding_id;
