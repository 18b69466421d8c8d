"""No database, no network."""
