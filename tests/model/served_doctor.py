"""What `perdure doctor` verifies of a really served model; printed, because it says what this server is and does."""

import re
from pathlib import Path
from typing import Any

import pytest

from nodes.models.outcomes import QUESTIONS
from tests.support.commands import perdure
from tests.support.served_model import CONTEXT, NAME, PLACES, served_model

# Only Moonshot has these.
_OF_KIMI = {"sampling values", "token estimate", "balance"}
ASKED = ["model", *(f"model: {each}" for each in QUESTIONS[1:] if each not in _OF_KIMI)]
#: What a run needs of an endpoint. How well a model calls tools or caches is its own affair.
NEEDED = {"model", "model: listing", "model: key", "model: structured output", "model: usage"}


def test_doctor_lists_what_it_verified_of_a_served_model(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served_model(tmp_path / "server.log") as model:
        for name, value in {
            "DATABASE_URL": database_url,
            "HOME": str(tmp_path / "home"),
            "MODEL": f"openai:{NAME}",
            "MODEL_BASE_URL": f"{model.address}/v1",
            "MODEL_CONTEXT": str(CONTEXT),
            "MODEL_CALLS": str(PLACES),
        }.items():
            monkeypatch.setenv(f"PERDURE_{name}", value)
        ended = perdure("doctor", "--json")
        wrote = model.counts["tokens_predicted_total"]
    told: dict[str, dict[str, Any]] = {
        each["name"]: each for each in ended.json["checks"] if each["name"].startswith("model")
    }
    print(f"\nperdure doctor of {NAME}, for which the server wrote {wrote:.0f} tokens:")
    for name, check in told.items():
        print(f"  {name}: {check['detail']}")
    assert ended.code == 0, ended.text
    assert list(told) == ASKED
    assert {name for name in NEEDED if not told[name]["verified"]} == set()
    # What was verified is kept with its date; what was not is never shown as if it were.
    for check in told.values():
        assert check["ok"]
        if check["verified"]:
            assert check["checked_at"]
            assert re.search(r"\bverified \d{4}-\d\d-\d\d: ", check["detail"])
        else:
            assert check["detail"].startswith("not verified: ")
