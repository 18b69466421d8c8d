"""What a history would give away is found wherever the secret is kept, and however it is spelled there."""

from pathlib import Path
from typing import Any

import pytest

from graph.histories import History
from graph.recording import SecretInHistory, refuse_secrets
from graph.settings import Settings
from ledger.canonical import digest
from ledger.ids import new_run_id
from ledger.recordings import Content

KEY = "a-key-of-forty-characters-or-so-0123456789"
OTHER = "another-key-of-forty-characters-0123456789"


def history(content: bytes) -> History:
    """A history with one document."""
    header = {"run_id": str(new_run_id()), "text": True, "status": "completed"}
    return History(header, [], {digest(content): Content(content, "text/plain")}, [])


@pytest.mark.parametrize(
    ("given", "content", "told"),
    [
        pytest.param({"seal_key": f"{OTHER}, {KEY}"}, KEY.encode(), "SEAL_KEY", id="one of two"),
        pytest.param({}, KEY.encode(), "SEAL_KEY", id="kept in a file"),
        pytest.param(
            {"database_url": "postgresql://ann:s%2Fcret-word@db/perdure"},
            b"the password is s/cret-word",
            "DATABASE_URL",
            id="password of a URL",
        ),
        pytest.param(
            {"smtp_url": 'smtp://ann:quo"ted-word@mail:587'},
            b'it is quo"ted-word',
            "SMTP_URL",
            id="spelled otherwise in JSON",
        ),
        pytest.param(
            {"webhook_tokens": {"example.org": KEY}},
            b"\xff\xfe" + KEY.encode(),
            "WEBHOOK_TOKENS",
            id="in bytes that are no text",
        ),
        pytest.param({"model_key": "env:KEY_OF_MINE"}, b"it is of-a-model", "MODEL_KEY", id="env"),
        pytest.param({}, b"it is of-a-vendor", "MOONSHOT_API_KEY", id="variable of a vendor"),
    ],
)
def test_a_secret_is_found(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    content: bytes,
    told: str,
) -> None:
    monkeypatch.delenv("PERDURE_SEAL_KEY", raising=False)
    (tmp_path / "seal.key").write_text(f"{KEY}\n")
    monkeypatch.setenv("KEY_OF_MINE", "of-a-model")
    monkeypatch.setenv("MOONSHOT_API_KEY", "of-a-vendor")
    settings = Settings.model_validate({"home": tmp_path, **given})
    refuse_secrets(settings, history(b"nothing of the kind"))
    with pytest.raises(SecretInHistory, match=told):
        refuse_secrets(settings, history(content))
