"""Releases, and histories of real runs of them, which every later version has to replay; only ever added to."""
