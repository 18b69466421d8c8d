"""What tests of the command line share: a database with one finished run."""

from collections.abc import Iterator

import pytest

from tests.support.commands import perdure
from tests.support.postgres import temporary_database

PAGE = b"<html><title>Ferries</title><body><p>The ferry takes the northern lock at noon.</p></body></html>"


@pytest.fixture(scope="module")
def finished(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The id of a finished run, in a database that these tests only read."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "page.html").write_bytes(PAGE)
    (folder / "picture.png").write_bytes(b"\x89PNG")
    with (
        temporary_database(server_url, template=template) as url,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("PERDURE_DATABASE_URL", url)
        patch.setenv("PERDURE_HOME", str(tmp_path_factory.mktemp("home")))
        ended = perdure("run", "Which lock does the ferry take?", "--corpus", str(folder), "--json")
        assert ended.code == 0, ended.messages
        yield ended.json["run_id"]
