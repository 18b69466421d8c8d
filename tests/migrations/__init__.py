"""From one version to the next, of the workflow and of the database."""
