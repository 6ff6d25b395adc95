"""The options that verbs share, each declared once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import click

from assay.cli.shell import Shell

Verb = Callable[..., Any]

model_argument = click.argument("model", metavar="MODEL")
data_argument = click.argument("data", metavar="DATA")


def speaking(verb: str) -> Callable[[Verb], Verb]:
    """--json and --quiet; the verb gets a `shell` to speak through."""

    def decorate(function: Verb) -> Verb:
        @click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
        @click.option("-q", "--quiet", is_flag=True, help="No notes on standard error.")
        @wraps(function)
        def wrapped(*args: Any, as_json: bool, quiet: bool, **options: Any) -> Any:
            return function(*args, shell=Shell(verb, as_json, quiet), **options)

        return wrapped

    return decorate


def computing(function: Verb) -> Verb:
    """--jobs, --engine and --delimiter; the verb runs with that engine in force."""

    @click.option("--jobs", type=click.IntRange(min=-1), help="Threads (default: all this process may use).")
    @click.option("--engine", metavar="NAME", help="threads (table in memory), stream (default), or cluster=ADDRESS.")
    @click.option("--delimiter", metavar="CHAR", help="What separates the fields of a CSV file (default: found out).")
    @wraps(function)
    def wrapped(*args: Any, jobs: int | None, engine: str | None, **options: Any) -> Any:
        with engine_in_force(engine, jobs):
            return function(*args, **options)

    return wrapped


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
