"""Kills, crashes and races."""
