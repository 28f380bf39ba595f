"""Queries that every page asks: made by the ORM once, then asked again with other values.

To build a query, check it and write its SQL takes the ORM ten times as long as SQLite takes to answer it.
Only the SQL is kept here, never what the database answered.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Field, QuerySet, Value
from django.db.models.sql.compiler import SQLCompiler


class Given(Expression):
    """A value that is told when the query is asked. It takes the place of a plain one in filters."""

    def __init__(self, name: str, field: "Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:  # type: ignore[override]
        return "%s", [self]


def given_number(name: str) -> Given:
    return Given(name, models.BigIntegerField())


def given_text(name: str) -> Given:
    return Given(name, models.TextField())


def given_time(name: str) -> Given:
    return Given(name, models.DateTimeField())


def totals(rows: QuerySet[Any], **sums: Any) -> QuerySet[Any, Any]:
    """One row of aggregates over all rows, in the order in which they are named: ``aggregate`` as a query."""
    grouped = rows.order_by().annotate(one=Value(1)).values("one")
    counted: QuerySet[Any, Any] = grouped.annotate(**sums).values_list(*sums)
    return counted


@dataclass(frozen=True, slots=True)
class _Statement:
    sql: str
    params: tuple[Any, ...]
    givens: Sequence[tuple[int, Given]]
    """Where values go."""
    convert: Callable[[Any, BaseDatabaseWrapper], list[tuple[Any, ...]]]


class Prepared:
    """One kind of query.

    ``build`` makes a ``values_list`` of it with ``Given`` values. Where it has more than one form, such as
    with and without a project, ``build`` takes what tells them apart.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Any]]) -> None:
        self._build = build
        self._made: dict[tuple[Hashable, ...], _Statement] = {}

    def rows(self, *form: Hashable, **values: object) -> list[tuple[Any, ...]]:
        """What the database answers now; values that this form has no use for are left alone."""
        connection = connections["default"]
        key = (connection.vendor, *form)
        statement = self._made.get(key)
        if statement is None:
            # Two threads may both make it: they make the same.
            statement = self._made[key] = _compiled(self._build(*form), connection)
        params = list(statement.params)
        for place, given in statement.givens:
            params[place] = given.output_field.get_db_prep_value(values[given.name], connection)
        with connection.cursor() as cursor:
            cursor.execute(statement.sql, params)
            return statement.convert(cursor.fetchall(), connection)

    def one(self, *form: Hashable, **values: object) -> tuple[Any, ...] | None:
        """The first row."""
        rows = self.rows(*form, **values)
        return rows[0] if rows else None


def newest_id(model: type[models.Model]) -> int:
    """Of the row of a table that was written last; 0 where there is none."""
    newest = _NEWEST.one(model)
    return newest[0] if newest else 0


_NEWEST = Prepared(lambda model: model._default_manager.order_by("-id").values_list("id")[:1])


def _compiled(query: QuerySet[Any, Any], connection: BaseDatabaseWrapper) -> _Statement:
    compiler = query.query.get_compiler(connection=connection)
    sql, params = compiler.as_sql()
    places = [(place, param) for place, param in enumerate(params) if isinstance(param, Given)]
    columns = [column for column, _, _ in (compiler.select or ())]
    converters = compiler.get_converters(columns)

    def convert(rows: Any, connection: BaseDatabaseWrapper) -> list[tuple[Any, ...]]:
        if not converters:
            return list(map(tuple, rows))
        made = []
        for row in rows:
            values = list(row)
            for place, (functions, expression) in converters.items():
                for function in functions:
                    values[place] = function(values[place], expression, connection)
            made.append(tuple(values))
        return made

    return _Statement(sql, tuple(params), places, convert)
