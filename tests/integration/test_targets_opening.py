"""A runtime opens targets with what its settings say."""

from pathlib import Path
from typing import Any

from pydantic import SecretStr

from nodes.targets.base import Confirmed
from tests.support.mailbox import Mailbox
from tests.support.nasty_webhook import NastyWebhook
from tests.support.runtimes import runtime_on
from tests.support.target_conformance import sending


async def test_a_runtime_opens_targets_with_the_settings(database_url: str, tmp_path: Path) -> None:
    with NastyWebhook().running() as server, Mailbox().running() as box:
        place = server.place("runtime")
        settings: dict[str, Any] = {
            "smtp_url": SecretStr(box.url),
            "mail_from": "perdure@example.org",
            "webhook_tokens": {"127.0.0.1": SecretStr("canary")},
        }
        async with runtime_on(database_url, tmp_path, **settings) as runtime:
            for address in (place.address, "mailto:ada@example.org", f"file:{tmp_path}/report.md"):
                target = runtime.resources.targets.open(address)
                assert await target.check()
                assert isinstance(await target.send(sending(target)), Confirmed)
        assert [asked.headers["authorization"] for asked in place.asked] == ["Bearer canary"]
        assert len(box.mails) == 1
