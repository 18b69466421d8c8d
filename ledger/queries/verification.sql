-- name: ArtifactsOfRun :many
-- Everything that rows of a run name by digest, and what each is to the run.
SELECT corpus_artifact AS artifact_id, 'corpus' AS used_as FROM ledger.runs
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND corpus_artifact IS NOT NULL
UNION
SELECT report_artifact, 'report' FROM ledger.runs
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND report_artifact IS NOT NULL
UNION
SELECT report_artifact, 'report' FROM ledger.citations WHERE tenant = %(tenant)s AND run_id = %(run_id)s
UNION
SELECT content_artifact, 'content' FROM ledger.sources WHERE tenant = %(tenant)s AND run_id = %(run_id)s
UNION
SELECT text_artifact, 'text' FROM ledger.sources WHERE tenant = %(tenant)s AND run_id = %(run_id)s
UNION
SELECT text_artifact, 'text' FROM ledger.evidence WHERE tenant = %(tenant)s AND run_id = %(run_id)s
UNION
SELECT result_artifact, 'result' FROM ledger.attempts
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND result_artifact IS NOT NULL
 ORDER BY used_as, artifact_id;

-- name: AcceptedAttempts :many
-- Each operation that has an accepted result, with the attempt that gave it, if there is one, and its answer.
SELECT operation.operation_id, operation.accepted_attempt, attempt.outcome,
       artifact.artifact_id IS NOT NULL AS has_result
  FROM ledger.operations AS operation
  LEFT JOIN ledger.attempts AS attempt
    ON attempt.tenant = operation.tenant AND attempt.run_id = operation.run_id
   AND attempt.operation_id = operation.operation_id AND attempt.number = operation.accepted_attempt
  LEFT JOIN ledger.artifacts AS artifact
    ON artifact.tenant = attempt.tenant AND artifact.artifact_id = attempt.result_artifact
 WHERE operation.tenant = %(tenant)s AND operation.run_id = %(run_id)s AND operation.accepted_attempt IS NOT NULL
 ORDER BY operation.operation_id;

-- name: UnfoundedReuses :many
-- Attempts that took the answer of an operation which does not ask the same, or has another answer, or none.
SELECT operation.operation_id, attempt.settings ->> 'reused' AS reused
  FROM ledger.attempts AS attempt
  JOIN ledger.operations AS operation USING (tenant, run_id, operation_id)
 WHERE tenant = %(tenant)s AND run_id = %(run_id)s AND attempt.settings ->> 'reused' IS NOT NULL
   AND NOT EXISTS (
       SELECT FROM ledger.operations AS other
         JOIN ledger.attempts AS given
           ON given.tenant = other.tenant AND given.run_id = other.run_id
          AND given.operation_id = other.operation_id AND given.number = other.accepted_attempt
        WHERE other.tenant = %(tenant)s AND other.run_id = %(run_id)s
          AND other.operation_id = attempt.settings ->> 'reused' AND other.kind = operation.kind
          AND given.settings ->> 'form' = attempt.settings ->> 'form'
          AND given.result_artifact = attempt.result_artifact)
 ORDER BY operation.operation_id;

-- name: UnsupportedFindings :many
-- Claims without evidence, and evidence that a finding or a citation names and the run does not have.
SELECT finding.finding_id AS name, 'rests on no evidence' AS problem
  FROM ledger.findings AS finding
 WHERE finding.tenant = %(tenant)s AND finding.run_id = %(run_id)s AND finding.kind = 'claim'
   AND NOT EXISTS (SELECT FROM ledger.finding_evidence AS support
                    WHERE support.tenant = finding.tenant AND support.run_id = finding.run_id
                      AND support.finding_id = finding.finding_id)
UNION ALL
SELECT support.finding_id, 'rests on ' || support.evidence_id || ', which is missing'
  FROM ledger.finding_evidence AS support
 WHERE support.tenant = %(tenant)s AND support.run_id = %(run_id)s
   AND NOT EXISTS (SELECT FROM ledger.evidence AS evidence
                    WHERE evidence.tenant = support.tenant AND evidence.run_id = support.run_id
                      AND evidence.evidence_id = support.evidence_id)
 ORDER BY name;
