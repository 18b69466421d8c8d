"""Every named statement fits the migrated schema, and every one is used."""

import re
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest

from ledger import sql

NOUNS = sorted(path.stem for path in Path(str(files("ledger").joinpath("queries"))).glob("*.sql"))
STATEMENTS = [statement for noun in NOUNS for statement in sql.load(noun).values()]
_PARAMETER = re.compile(r"%\((\w+)\)s")


def _numbered(text: str) -> str:
    names: dict[str, int] = {}
    return _PARAMETER.sub(lambda found: f"${names.setdefault(found[1], len(names) + 1)}", text)


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.name)
async def test_a_statement_can_be_prepared(database_url: str, statement: sql.Statement) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        for number, text in enumerate(filter(str.strip, statement.text.split(";\n"))):
            if not text.lstrip().startswith(("CREATE", "SET TRANSACTION")):
                await connection.execute(
                    f"PREPARE s{number} AS {_numbered(text.rstrip(';'))}".encode()
                )


def test_every_statement_is_used_and_every_name_is_used_once() -> None:
    names = [statement.name for statement in STATEMENTS]
    assert len(set(names)) == len(names)
    code = "".join(
        path.read_text() for folder in ("ledger", "graph") for path in Path(folder).rglob("*.py")
    )
    assert [name for name in names if f'"{name}"' not in code] == []
