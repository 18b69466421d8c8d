"""Where the consequences of a run go: one file per target, each of which declares what reconciling it can do."""
