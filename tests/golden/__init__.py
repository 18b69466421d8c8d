"""Releases and recorded histories: what earlier versions were and did, only ever added to."""
