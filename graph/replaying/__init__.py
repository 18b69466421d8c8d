"""Plays recorded histories with the code at hand, calling nobody outside, and says where it first does something else."""
