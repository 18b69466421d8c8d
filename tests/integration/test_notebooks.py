"""The notebooks run from top to bottom, as a person would run them."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
async def test_a_notebook_runs(
    path: Path, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a fresh kernel, on an empty home; no output of it is kept in git."""
    monkeypatch.setenv("PERDURE_DATABASE_URL", database_url)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells)

    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    await client.async_execute()

    shown = "".join(html for cell in notebook.cells for html in shown_as_html(cell))
    assert "<h2>Citations</h2>" in shown
    assert "pydoc:topics" in shown


def shown_as_html(cell: Any) -> list[str]:
    return [
        output["data"]["text/html"]
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
