"""The options that verbs share, each declared once, and amounts: times such as 90, 90s, 5m or 1h, sizes such as 500M or 2G."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

import click

from assay.cli.shell import Shell

Verb = Callable[..., Any]

SWAPPED = "MODEL and DATA were given in the other order: {model} is taken as the model, {data} as the table"


def _as_meant(ctx: click.Context, param: click.Parameter, data: str) -> str:
    """DATA; where it is a model file and MODEL is none, the two were swapped."""
    from assay.store.file import is_model_file

    model = ctx.params.get("model")
    if ctx.resilient_parsing or model is None or "-" in (model, data):
        return data
    if is_model_file(data) and not is_model_file(model):
        ctx.params["model"], data = data, model
        ctx.meta["assay.notes"] = [SWAPPED.format(model=ctx.params["model"], data=data)]
    return data


model_argument = click.argument("model", metavar="MODEL")
data_argument = click.argument("data", metavar="DATA", callback=_as_meant)
kinds_option = click.option(
    "--kind", "kinds", metavar="COLUMN=KIND", multiple=True, help="What a column shall be; may be repeated."
)


def speaking(verb: str) -> Callable[[Verb], Verb]:
    """--json and --quiet; the verb gets a `shell` to speak through."""

    def decorate(function: Verb) -> Verb:
        @click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
        @click.option("-q", "--quiet", is_flag=True, help="No notes on standard error.")
        @wraps(function)
        def wrapped(*args: Any, as_json: bool, quiet: bool, **options: Any) -> Any:
            shell = Shell(verb, as_json, quiet)
            for note in click.get_current_context().meta.get("assay.notes", ()):
                shell.note(note)
            return function(*args, shell=shell, **options)

        return wrapped

    return decorate


OPENING = {
    "delimiter": click.option(
        "--delimiter", metavar="CHAR", help="What separates a CSV file's fields (default: found out)."
    ),
    "table": click.option("--table", metavar="NAME", help="Which table of a database (default: the only one)."),
    "sql": click.option("--sql", metavar="QUERY", help="A query instead; a file as DATA is the table `data` in it."),
    "sheet": click.option("--sheet", metavar="NAME", help="Which sheet of a workbook (default: the first)."),
    "decimal": click.option("--decimal", metavar="CHAR", help="The decimal sign, . or , (default: found out)."),
    "thousands": click.option(
        "--thousands", metavar="CHAR", help="What parts thousands: . , ' or a blank (default: found out)."
    ),
    "skip": click.option("--skip", type=click.IntRange(min=0), help="Lines above the header (default: found out)."),
    "day_first": click.option(
        "--day-first/--month-first", default=None, help="What 3/4/2023 means (default: by all dates)."
    ),
}


def opening(function: Verb) -> Verb:
    """The options that say where in DATA the table is and how it is written; the verb gets those given as `opening`."""

    @wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        given = {name: value for name in OPENING if (value := options.pop(name)) is not None}
        if given.get("delimiter") == r"\t":
            given["delimiter"] = "\t"
        return function(*args, opening=given, **options)

    for option in reversed(OPENING.values()):
        wrapped = option(wrapped)
    return wrapped


def computing(function: Verb) -> Verb:
    """--jobs and --engine; the verb runs with that engine in force."""

    @click.option("--jobs", type=click.IntRange(min=-1), help="Threads (default: all this process may use).")
    @click.option("--engine", metavar="NAME", help="threads (table in memory), stream, or cluster=ADDRESS.")
    @wraps(function)
    def wrapped(*args: Any, jobs: int | None, engine: str | None, **options: Any) -> Any:
        with engine_in_force(engine, jobs):
            return function(*args, **options)

    return wrapped


def choosing_columns(function: Verb) -> Verb:
    """--target, --weight, --group, --time, --features and --kind, as far as a verb has them: it gets them as `columns`."""

    @wraps(function)
    def wrapped(*args: Any, features: str | None, kinds: tuple[str, ...] = (), **options: Any) -> Any:
        columns: dict[str, Any] = {
            role: options.pop(role) for role in ("target", "weight", "group", "time") if role in options
        }
        columns |= {"features": names_of(features), "kinds": kinds_of(kinds)}
        return function(*args, columns=columns, **options)

    return wrapped


def kinds_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """{"zip": "category"} of ("zip=category",); a column's own name may hold "="."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, kind = pair.rpartition("=")
        if not equals or not name or not kind:
            raise click.UsageError(f"--kind {pair}: write COLUMN=KIND, such as --kind zip=category.")
        if name in found:
            raise click.UsageError(f"--kind names the column {name!r} twice.")
        found[name] = kind
    return found


def names_of(text: str | None) -> list[str] | None:
    """The names of a line such as a CSV's first; None where nothing was given.

    >>> names_of('a, b,"size, mm"')
    ['a', 'b', 'size, mm']
    """
    if text is None:
        return None
    found = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in found if name.strip()]


@contextmanager
def engine_in_force(name: str | None, jobs: int | None) -> Iterator[None]:
    """The engine that --engine and --jobs ask for; without either, the library's own choice."""
    if name is None and jobs is None:
        yield
        return
    from assay.engines import engine

    kind, _, address = (name or "stream").partition("=")
    if kind == "cluster":
        if jobs is not None:
            raise click.UsageError("--jobs is for threads; a cluster has the workers that it has.")
        if not address:
            raise click.UsageError("A cluster needs the address of its scheduler: --engine cluster=tcp://host:8786.")
        chosen = engine("cluster", address)
    elif address:
        raise click.UsageError(f"--engine {name}: only cluster takes an address.")
    else:
        chosen = engine(kind, workers=jobs)
    with chosen:
        yield


class Amount(click.ParamType):  # type: ignore[type-arg]
    """A number > 0 with a unit."""

    def __init__(self, name: str, units: Mapping[str, float], example: str) -> None:
        self.name, self._units, self._example = name, units, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The amount in seconds or bytes."""
        if isinstance(value, int | float):
            return float(value)
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-zA-Z]*)\s*", value)
        unit = self._units.get(match[2].lower()) if match else None
        if match is None or unit is None or float(match[1]) <= 0:
            self.fail(f"{value!r} is not a {self.name}: write it like {self._example}.", param, ctx)
        return float(match[1]) * unit


class Bytes(Amount):
    """A whole number of bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return int(super().convert(value, param, ctx))


SECONDS = Amount("time", {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}, "90, 90s, 5m or 1h")
MEMORY = Bytes(
    "size",
    {"": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "gib": 2.0**30, "mib": 2.0**20},
    "500M or 2G",
)
