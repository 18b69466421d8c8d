"""A server that speaks Moonshot's API as Kimi K3 is documented, enforces its rules, fails to order and counts.

    with moonshot_server(brain, [None, Fault(FaultKind.OVERLOADED)]) as server:
        ...  # a client of server.url with a key of server.keys
    server.calls[1].outcome.error_type, server.log.billed_tokens, server.most_at_once

`server` starts it, `brain` says what it answers, `faults` how that fails, `seen` what reached it, `rules` and `schemas` what it
refuses. `plain_client` asks it without any help.
"""
