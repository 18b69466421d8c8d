"""How the workflow is wired, recovered and run."""
