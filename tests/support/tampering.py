"""What somebody who can write the database may do to one row: edit, null, exchange, delete, add, replace.

`single_row_changes` names every such change of a table's rows of one run; each can be made on any connection that
`unguarded` has freed of triggers and constraints, as their owner could.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

Connection = psycopg.AsyncConnection[Any]

_COLUMNS = """
SELECT attribute.attname, format_type(attribute.atttypid, NULL), attribute.attnum = ANY (coalesce(key.indkey, ''))
  FROM pg_attribute AS attribute
  LEFT JOIN pg_index AS key ON key.indrelid = attribute.attrelid AND key.indisprimary
 WHERE attribute.attrelid = %(table)s::regclass AND attribute.attnum > 0 AND NOT attribute.attisdropped
 ORDER BY attribute.attnum
"""

_UNGUARD = """
DO $$
DECLARE
    found record;
BEGIN
    FOR found IN SELECT conrelid::regclass AS place, conname FROM pg_constraint
                  WHERE contype = 'c' AND connamespace IN ('ledger'::regnamespace, 'langgraph'::regnamespace)
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', found.place, found.conname);
    END LOOP;
    FOR found IN SELECT attrelid::regclass AS place, attname FROM pg_attribute
                   JOIN pg_class ON pg_class.oid = attrelid
                  WHERE relkind = 'r' AND relnamespace IN ('ledger'::regnamespace, 'langgraph'::regnamespace)
                    AND attnum > 0 AND attnotnull AND NOT attisdropped
                    AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = attrelid AND indisprimary AND attnum = ANY (indkey))
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL', found.place, found.attname);
    END LOOP;
END
$$
"""

# Another value of the same type: a number that no other row has, one bit of bytes.
_EDITS = {
    "text": "coalesce({0}, '') || '~'",
    "text[]": "array_append({0}, 'forged')",
    "integer": "coalesce({0}, 0) + 1000",
    "bigint": "coalesce({0}, 0) + 1000",
    "double precision": "{0} / 2 + 0.1",
    "boolean": "NOT {0}",
    "uuid": "gen_random_uuid()",
    "timestamp with time zone": "coalesce({0}, now()) + interval '1 microsecond'",
    "jsonb": "CASE jsonb_typeof({0}) WHEN 'object' THEN {0} || '{{\"forged\": 1}}' ELSE '[1]' END",
    "bytea": "CASE WHEN length({0}) > 0 THEN set_byte({0}, length({0}) / 2, get_byte({0}, length({0}) / 2) # 1)"
    " ELSE '\\x00' END",
    "xid8": "'3'::xid8",
}


STEP = 1000

_NEWEST_FIRST = frozenset({"checkpoint_id", "version"})


@dataclass(frozen=True)
class Tampering:
    """One change; `rows` are the keys of the rows that are then wrong, without tenant and run."""

    name: str
    table: str
    column: str | None
    rows: tuple[str, ...]
    statement: sql.Composed
    values: dict[str, str]

    async def apply(self, connection: Connection) -> None:
        """Make the change on an unguarded connection."""
        cursor = await connection.execute(self.statement, self.values)
        assert len(await cursor.fetchall()) == len(self.rows), self.name


@dataclass(frozen=True)
class Row:
    """One row: its whole primary key as text, and the rest."""

    key: dict[str, str]
    rest: dict[str, Any]


async def unguarded(connection: Connection) -> None:
    """Take triggers, foreign keys, NOT NULL and CHECK out of the way, for the rest of the transaction."""
    await connection.execute("SET LOCAL session_replication_role = replica")
    await connection.execute(_UNGUARD)


async def single_row_changes(
    connection: Connection, table: str, run_id: object, other: object, owner: str = "run_id"
) -> list[Tampering]:
    """Return the changes of a table's rows of a run; `owner` is the column that names it, `other` another run."""
    target = Target(table, owner, await _all(connection, _COLUMNS, {"table": table}))
    mine = await target.rows(connection, run_id)
    theirs = await target.rows(connection, other)
    return list(target.changes(mine, theirs)) if mine else []


class Target:
    """A table with its columns."""

    def __init__(self, table: str, owner: str, columns: list[tuple[Any, ...]]) -> None:
        self.table, self.owner = table, owner
        self.place = sql.Identifier(*table.split("."))
        self.types: dict[str, str] = {name: kind for name, kind, _ in columns}
        self.key: list[str] = [name for name, _, is_key in columns if is_key]
        self.rest: list[str] = [name for name, _, is_key in columns if not is_key]

    async def rows(self, connection: Connection, run_id: object) -> list[Row]:
        """Return the rows of a run, the newest checkpoint's and the newest version's first: those are read again."""
        statement = sql.SQL("SELECT to_jsonb(t) FROM {} AS t WHERE {}::text = %(run)s ORDER BY {}")
        found = await _all(
            connection,
            statement.format(self.place, sql.Identifier(self.owner), self._order()),
            {"run": str(run_id)},
        )
        return [
            Row(
                {name: str(row[name]) for name in self.key}, {name: row[name] for name in self.rest}
            )
            for (row,) in found
        ]

    def _order(self) -> sql.Composed:
        return sql.SQL(", ").join(
            sql.SQL("{} DESC" if name in _NEWEST_FIRST else "{}").format(sql.Identifier(name))
            for name in self.key
        )

    def changes(self, mine: list[Row], theirs: list[Row]) -> Iterator[Tampering]:
        """Yield every change of the first row, and of it together with another."""
        row = mine[0]
        for name in self.types:
            yield self._set(row, name, "edited", self._edited(name))
        for name in self.rest:
            if row.rest[name] is not None:
                yield self._set(row, name, "nulled", sql.SQL("NULL"))
        yield self._change("deleted", [row], "DELETE FROM {table} AS t WHERE {row}")
        if own := [name for name in self.key if name not in {"tenant", self.owner}]:
            yield self._copied(row, own[-1])
        exchange = (
            "UPDATE {table} AS t SET ({rest}) = (SELECT {rest} FROM {table} AS o WHERE {other})"
        )
        rest = _listed(self.rest)
        for another in [one for one in mine if one.rest != row.rest][:1]:
            other = sql.SQL("({} OR {}) AND o.ctid <> t.ctid").format(
                self._is("o", 0), self._is("o", 1)
            )
            statement = f"{exchange} WHERE ({{row}}) OR ({{second}})"
            yield self._change("swapped", [row, another], statement, rest=rest, other=other)
        for another in [one for one in theirs if one.rest != row.rest][:1]:
            statement, other = f"{exchange} WHERE {{row}}", self._is("o", 1)
            what = "replaced by another run's"
            yield self._change(what, [row], statement, another, rest=rest, other=other)

    def _set(self, row: Row, name: str, how: str, value: sql.Composable) -> Tampering:
        statement = "UPDATE {table} AS t SET {column} = {value} WHERE {row}"
        column = sql.Identifier(name)
        made = self._change(f"{name} {how}", [row], statement, column=column, value=value)
        return replace(made, column=name)

    def _copied(self, row: Row, name: str) -> Tampering:
        statement = "INSERT INTO {table} ({others}, {column}) SELECT {others}, {value} FROM {table} AS t WHERE {row}"
        others = _listed(one for one in self.types if one != name)
        column, value = sql.Identifier(name), self._edited(name)
        made = self._change("copied", [row], statement, others=others, column=column, value=value)
        new = f"{row.key[name]}~" if self.types[name] == "text" else str(int(row.key[name]) + STEP)
        return replace(made, rows=(self._label(Row({**row.key, name: new}, {})),))

    def _change(
        self,
        what: str,
        rows: list[Row],
        statement: str,
        source: Row | None = None,
        **parts: sql.Composable,
    ) -> Tampering:
        composed = sql.SQL(cast("Any", f"{statement} RETURNING 1")).format(
            table=self.place, row=self._is("t", 0), second=self._is("t", 1), **parts
        )
        values = {
            f"{name}_{number}": value
            for number, row in enumerate([*rows, source] if source else rows)
            for name, value in row.key.items()
        }
        labels = tuple(self._label(row) for row in rows)
        return Tampering(f"{self.table}: {what}", self.table, None, labels, composed, values)

    def _edited(self, name: str) -> sql.Composed:
        return sql.SQL(cast("Any", _EDITS[self.types[name]])).format(sql.Identifier(name))

    def _is(self, alias: str, number: int) -> sql.Composed:
        return sql.SQL(" AND ").join(
            sql.SQL("{}::text = {}").format(
                sql.Identifier(alias, name), sql.Placeholder(f"{name}_{number}")
            )
            for name in self.key
        )

    def _label(self, row: Row) -> str:
        return " ".join(
            value for name, value in row.key.items() if name not in {"tenant", self.owner}
        )


def _listed(names: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


async def _all(connection: Connection, query: Any, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    cursor = connection.cursor(row_factory=tuple_row)
    await cursor.execute(query, values)
    return await cursor.fetchall()
