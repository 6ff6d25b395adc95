"""`assay warm`: compile the loops of all models before anybody waits for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import click

from assay.cli.options import speaking
from assay.cli.shell import Shell
from assay.errors import WriteError

DOING = "compiling"


@click.command()
@click.argument("models", metavar="[MODEL]...", nargs=-1)
@click.option("--jobs", type=click.IntRange(min=1), help="Processes (default: one for each processor there is).")
@speaking("warm")
def command(models: tuple[str, ...], jobs: int | None, shell: Shell) -> int:
    """Compile the loops of all models, or of each MODEL, before they are first used.

    Small fits go every way through every model. What they compile is kept, so that no later fit has to wait for it; what has been compiled
    already is not compiled again. One line in a Dockerfile: RUN assay warm
    """
    from assay.compiled.cache import can_keep, users_folder
    from assay.engines.engine import worker_count
    from assay.selection.candidates import registered
    from assay.warming import jobs as all_jobs
    from assay.warming import run_all

    if not can_keep():
        raise WriteError(
            f"{users_folder()} cannot be written to: compiled loops could not be kept. Set ASSAY_CACHE to a folder that can."
        )
    todo, began = all_jobs([registered(name) for name in models] or None), monotonic()
    failed: dict[str, str] = {}
    with _progress(len(todo), shell) as done:
        for outcome in run_all(todo, jobs or worker_count()):
            if outcome.state == "interrupted":
                raise KeyboardInterrupt(outcome.message)
            if outcome.state != "done":
                failed[outcome.key] = outcome.message
            done(outcome.key)
    for key, why in failed.items():
        shell.note(f"{key}: {why}")
    seconds, whole = monotonic() - began, len(todo) - len(failed)
    text = f"{whole} of {len(todo)} kinds of fits done in {seconds:.0f} s: their loops are compiled"
    shell.result({"done": whole, "failed": failed, "seconds": seconds}, text)
    return 1 if failed else 0


@contextmanager
def _progress(total: int, shell: Shell) -> Iterator[Callable[[str], None]]:
    """Within, a terminal shows a bar; elsewhere there is a note now and then. The function that is given takes what has just been done."""
    if shell.quiet or not sys.stderr.isatty():
        with shell.busy(DOING) as say:
            yield _counted(total, say)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(DOING),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with shell.warnings_noted(), Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda key: bar.update(task, advance=1, description=key)


def _counted(total: int, say: Callable[[str], None]) -> Callable[[str], None]:
    numbers = iter(range(1, total + 1))
    return lambda key: say(f"{next(numbers)} of {total}, {key}")
