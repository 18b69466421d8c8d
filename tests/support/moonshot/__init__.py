"""A server that speaks Moonshot's API as Kimi K3 is documented, enforces its rules, fails to order and counts.

Start at `server.moonshot_server`. What it answers is a brain's decision (`brain`), how it fails a schedule's (`faults`).
"""
