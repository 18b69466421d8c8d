-- A run is a thread of LangGraph, whose tables know no tenant: an id that one tenant has is taken for all, or their runs
-- would work on one state.
CREATE UNIQUE INDEX runs_by_thread ON ledger.runs (run_id);
