"""Settings: where they come from, which wins, and what is said about one that cannot be used."""

from pathlib import Path

import pytest

from graph.settings import SettingsInvalid, load_settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_needs_to_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PERDURE_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    settings = load_settings()
    assert settings.home == tmp_path / "perdure"
    assert settings.database_url is None
    assert (settings.model, settings.tenant, settings.corpus) == ("extractive", "default", [])
    assert not settings.trace_documents


def test_a_variable_wins_over_the_file_and_an_option_over_both(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "perdure.toml").write_text(
        'pool_size = 3\nmodel = "from-file"\ntenant = "from-file"\n'
    )
    monkeypatch.setenv("PERDURE_POOL_SIZE", "4")
    monkeypatch.setenv("PERDURE_TENANT", "from-variable")
    settings = load_settings(tenant="from-option")
    assert (settings.model, settings.pool_size, settings.tenant) == ("from-file", 4, "from-option")


@pytest.mark.parametrize(
    ("text", "paths"),
    [("a", ["a"]), ("a, b c,", ["a", "b c"]), ('["a,b", "c"]', ["a,b", "c"]), ("", [])],
)
def test_corpora_are_separated_by_commas_or_a_json_list(
    text: str, paths: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_CORPUS", text)
    assert load_settings().corpus == paths


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:pw@h:5432/d",
        "postgresql://u@/d?host=%2Frun%2Fpg",
        "host=h dbname=d",
        "postgres://h1,h2/d",
    ],
)
def test_every_form_of_address_that_postgres_knows_is_taken(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", url)
    secret = load_settings().database_url
    assert secret is not None
    assert secret.get_secret_value() == url


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://user:sekret@host/db"),
        ("DATABASE_URL", "sekret"),
        ("POOL_SIZE", "sekret"),
        ("POOL_SIZE", "1"),
        ("LOG_LEVEL", "sekret"),
        ("SEARCH_URL", "sekret"),
        ("SEARCH", "sekret"),
        ("SEARCH_KEY", "sekret"),
        ("SEARCH_KEY", "env:sekret or not"),
        ("ALLOWED_HOSTS", "https://sekret/"),
        ("DENIED_HOSTS", "sekret.*.example"),
        ("PRIVATE_NETWORKS", "sekret"),
        ("PRIVATE_NETWORKS", "10.0.0.1/8"),
        ("TENANT", "Sekret or not"),
        ("TRACE_DOCUMENTS", "sekret"),
        ("CORPUS", '["sekret'),
        ("SMTP_URL", "http://user:sekret@host"),
        ("SMTP_URL", "smtp://user:sekret@host:port"),
        ("MAIL_FROM", "sekret"),
        ("MAIL_FROM", "a@b\nBcc: sekret@b"),
        ("WEBHOOK_TOKENS", "sekret"),
        ("WEBHOOK_TOKENS", '["sekret"]'),
        ("WEBHOOK_TOKENS", '{"host": "sekret\\n"}'),
        ("WEBHOOK_TOKENS", '{"host": ["sekret"]}'),
        ("DATABASES", '{"name": "sekret"}'),
        ("DATABASES", '{"a@sekret": "postgresql://h/d"}'),
        ("CONTRACTS", '{"https://sekret/": {"kind": "sekret"}}'),
        ("CONTRACTS", '{"https://sekret/": {"kind": "keyed", "window_seconds": -1}}'),
        ("VERSIONS", ","),
        ("VERSIONS", "2,0"),
    ],
)
def test_a_bad_value_is_refused_by_name_and_not_repeated(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"PERDURE_{name}", value)
    with pytest.raises(SettingsInvalid, match=f"PERDURE_{name}: .+") as refusal:
        load_settings()
    assert "sekret" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_what_targets_need_comes_from_variables_or_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "perdure.toml").write_text(
        'mail_from = "perdure@example.org"\n[contracts."https://a/"]\nkind = "keyed"\nwindow_seconds = 1800\n'
    )
    monkeypatch.setenv("PERDURE_WEBHOOK_TOKENS", '{"hooks.example.org": "sekret"}')
    monkeypatch.setenv("PERDURE_DATABASES", '{"archive": "postgresql://u:sekret@h/d"}')
    monkeypatch.setenv("PERDURE_SMTP_URL", "smtp://u:sekret@h:587")
    settings = load_settings()
    assert settings.webhook_tokens["hooks.example.org"].get_secret_value() == "sekret"
    assert settings.databases["archive"].get_secret_value() == "postgresql://u:sekret@h/d"
    assert settings.contracts["https://a/"].window_seconds == 1800
    assert settings.mail_from == "perdure@example.org"
    assert "sekret" not in repr(settings)
    assert "sekret" not in settings.model_dump_json()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b'modell = "x"', "modell is no setting"),
        (b'model = "x', "perdure.toml"),
        (b"\xff", "perdure.toml"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(text: bytes, complaint: str, folder: Path) -> None:
    (folder / "perdure.toml").write_bytes(text)
    with pytest.raises(SettingsInvalid, match=complaint):
        load_settings()


def test_a_password_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_DATABASE_URL", "postgresql://u:sekret@h/d")
    assert "sekret" not in repr(load_settings())
    assert "sekret" not in load_settings().model_dump_json()


@pytest.mark.parametrize(
    "address", ["http://ann:canary@h/v1", "https://canary@h/v1", "http://:canary@h", "http://h/v1?key=canary"]
)  # fmt: skip
def test_the_address_of_an_endpoint_holds_no_secret(address: str) -> None:
    with pytest.raises(SettingsInvalid, match="PERDURE_MODEL_KEY says where its key is") as refused:
        load_settings(model_base_url=address)
    assert "canary" not in str(refused.value)
