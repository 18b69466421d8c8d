"""What one step of the workflow does."""
