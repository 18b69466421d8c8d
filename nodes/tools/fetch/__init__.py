"""Fetches pages of the open web: where to, by whose leave, how much, and what came of it."""
