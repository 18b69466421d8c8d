"""Durable records in PostgreSQL."""
