"""Histories of real runs of released versions, which every later version has to replay; only ever added to."""
