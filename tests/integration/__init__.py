"""Real PostgreSQL, real servers."""
