-- Expands. Who asks what another branch has asked finds the answer by its form, however many calls a run has made.
CREATE INDEX attempts_form ON ledger.attempts (tenant, run_id, (settings ->> 'form')) WHERE settings ? 'form';
