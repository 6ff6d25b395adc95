"""`assay compare`: every model on a table, searched and judged on rows it never saw; one is recommended.

While it runs a terminal shows a line a model with its progress, the time left, and the best so far; programs that watch it are told the events as
JSON, one object a line (`--json-lines`; docs/events.md has the fields).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from assay.cli.options import (
    MEMORY,
    SECONDS,
    choosing_columns,
    computing,
    data_argument,
    kinds_option,
    names_of,
    opening,
    speaking,
)
from assay.cli.shell import Shell, command_line, show
from assay.cli.tables import chosen_target, open_source
from assay.cli.train import check_writable, save

SCHEMA = "assay.compare.events/1"
OnEvent = Callable[[str, Any], None]
WAYS = ["auto", "holdout", "k-fold", "repeated", "leave-one-out", "bootstrap", "time"]
UNFINISHED = ("timeout", "out of time", "interrupted")


class EventLines:
    """Prints what a comparison tells its listeners as it comes; `at` is the time since the start in seconds."""

    def __init__(self) -> None:
        self.began, self.started = time.monotonic(), set[str]()

    def __call__(self, key: str, event: Any) -> None:
        made = EVENTS.get(event[0])
        if made is None:
            return
        if key and key not in self.started and event[0] in ("split", "fold", "fits", "ended"):
            self.started.add(key)
            self.line("model-started", {"model": key})
        for name, fields in made(key, *event[1:]).items():
            self.line(name, fields)

    def line(self, name: str, fields: dict[str, Any]) -> None:
        """One line."""
        from assay.selection.comparison import plain

        at = round(time.monotonic() - self.began, 3)
        show(json.dumps(plain({"event": name, "at": at, **fields}), ensure_ascii=False))


Events = dict[str, dict[str, Any]]


def _plan(_: str, models: list[str], asked: Any, rows: int) -> Events:
    question = {
        "target": asked.target,
        "task": asked.task,
        "loss": asked.loss,
        "resampling": asked.resampling.to_data(),
    }
    return {"plan": {"schema": SCHEMA, "rows": rows, "models": models, **question}}


def _halving(_: str, share: float, models: list[str]) -> Events:
    return {"round": {"share": share, "models": models}}


def _few(_: str, rows: int, models: list[str]) -> Events:
    return {"few-rows": {"rows": rows, "models": models}}


def _split(_: str, number: int, of: int) -> Events:
    return {}


def _fits(key: str, done: int, of: int) -> Events:
    return {"searching": {"model": key, "fits": done, "of": of}}


def _fold(key: str, number: int, of: int, risk: float, train_risk: float) -> Events:
    return {"fold-done": {"model": key, "fold": number, "of": of, "risk": risk, "train_risk": train_risk}}


def _ended(key: str, state: str, message: str, seconds: float, risk: float | None) -> Events:
    return {
        "model-ended": {"model": key, "state": state, "message": message, "seconds": round(seconds, 4), "risk": risk}
    }


def _refit(key: str, rows: int) -> Events:
    return {"refit": {"model": key, "rows": rows}}


def _warning(key: str, message: str) -> Events:
    return {"warning": {"model": key or None, "message": message}}


EVENTS: dict[str, Callable[..., Events]] = {
    "plan": _plan,
    "halving": _halving,
    "few": _few,
    "split": _split,
    "fits": _fits,
    "fold": _fold,
    "ended": _ended,
    "refit": _refit,
    "warning": _warning,
}


@click.command()
@data_argument
@click.option("--target", metavar="COLUMN", help="The column to predict.")
@click.option("--out", metavar="FILE", help="Save the recommended model.")
@click.option("--report", metavar="FILE", help="Write a report: one HTML file that needs nothing else.")
@click.option("--report-models", metavar="all|A,B,…", help="Whose pages of the report are unfolded, and so printed (default: the recommended model's).")  # fmt: skip
@click.option("--models", metavar="A,B,…", help="Only these models (default: all that fit the target).")
@click.option("--without", metavar="A,B,…", help="All models but these.")
@click.option("--param", "params", metavar="MODEL.NAME=VALUE", multiple=True, help="Fix a hyper-parameter.")
@click.option("--loss", metavar="NAME", help="zero-one (default), log or brier; numbers: squared (default), absolute.")
@click.option("--task", type=click.Choice(["classification", "regression"]), help="Default: by the target.")
@click.option("--resampling", type=click.Choice(WAYS), default="auto", help="How rows are set aside for testing.")
@click.option("--folds", type=click.IntRange(min=2), help="Folds (default 10).")
@click.option("--repeats", type=click.IntRange(min=1), help="Repetitions of the folds.")
@click.option("--holdout", default=0.25, show_default=True, type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Share held out.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Which rows are set aside.")
@click.option("--weight", metavar="COLUMN", help="The column of the rows' weights.")
@click.option("--group", metavar="COLUMN", help="Rows of one group never lie on both sides of a split.")
@click.option("--time", metavar="COLUMN", help="Models are tested on later rows than they learn from.")
@click.option("--features", metavar="A,B,…", help="The columns to learn from (default: all others).")
@click.option("--categories", type=click.Choice(["one-hot", "reference", "codes"]), help="How categories become numbers.")  # fmt: skip
@click.option("--timeout", type=SECONDS, metavar="TIME", help="For each model, such as 30s or 5m.")
@click.option("--memory", type=MEMORY, metavar="SIZE", help="For each model, such as 2G.")
@click.option("--budget", type=SECONDS, metavar="TIME", help="For everything; the less promising drop out early.")
@click.option("--refit/--no-refit", default=True, show_default=True, help="Fit the saved model again on all rows after it was measured on those held out.")  # fmt: skip
@click.option(
    "--json-lines", is_flag=True, help="Print a JSON object a line as things happen: plan, folds, models, verdict."
)
@kinds_option
@computing
@opening
@speaking("compare")
@choosing_columns
def command(
    data: str,
    out: str | None,
    report: str | None,
    report_models: str | None,
    models: str | None,
    without: str | None,
    params: tuple[str, ...],
    holdout: float,
    refit: bool,
    json_lines: bool,
    columns: dict[str, Any],
    opening: dict[str, Any],
    shell: Shell,
    **asked: Any,
) -> int:
    """Compare all models on DATA and recommend one.

    2000 rows or more: a quarter is held out, models are searched on the rest and measured once on the held-out rows. Fewer:
    ten folds, with the search nested within. The best model is recommended, or a simpler one that costs next to nothing; with --out it is
    fitted again with its settings on all rows, and saved with the error that the measured fit had on rows it never saw (--no-refit
    saves the measured fit).

    Exit codes: 0 done, 5 the budget ran out before all were finished (or the time before any but the baseline), 130 interrupted (what was finished is shown).
    """
    from assay.selection.compare import compare

    columns["target"] = chosen_target(data, columns["target"])
    if json_lines and out == "-":
        raise click.UsageError("Lines of JSON and a model file cannot both go to standard output: give --out a name.")
    shell = replace(shell, as_json=shell.as_json or json_lines, json_lines=json_lines)
    if out is not None:
        check_writable(out)
    if report is not None:
        from assay.cli.report import check_report
        from assay.report import check_possible

        check_report(report, "--report")
        check_possible()
    unfolded = _reported(report_models, report)
    source = open_source(data, opening, shell)
    with watching(shell) as on_event:
        found = compare(
            source,
            models=names_of(models),
            without=names_of(without) or (),
            params=_params(params),
            share=holdout,
            refit=refit and out is not None,  # what nobody keeps need not be fitted
            on_event=on_event,
            **columns,
            **asked,
        )
    _note_surprises(found, asked["task"], shell)
    found.question["command"] = command_line(click.get_current_context())
    _hand_over(found, out, report, unfolded, shell)
    if found.interrupted:
        return 143 if any("SIGTERM" in entry.message for entry in found.entries) else 130
    late = any(entry.state == "out of time" or entry.learnt_from is not None for entry in found.entries)
    if found.recommended is None:  # nothing, or nothing that looks at the columns
        return 5 if late or any(entry.state == "timeout" for entry in found.entries) else 1
    return 5 if late else 0


def _note_surprises(found: Any, task: str | None, shell: Shell) -> None:
    """What a user may not expect: a number taken as classes, models that were not finished."""
    from assay.tables.schema.schema import task_of

    schema = found.data.schema
    if task is None and found.task == "classification" and schema.target.kind == "number":
        shell.note(f"task: classification ({task_of(schema)[1]}; --task regression for a number)")
    from assay.selection.text import titles_of

    late: dict[str, list[str]] = {}
    for entry in found.entries:
        if entry.state in UNFINISHED:
            late.setdefault(entry.message or entry.state, []).append(entry.title)
    for name, why in found.left_out:
        if why.startswith("dropped"):
            late.setdefault(why, []).append(titles_of([name])[name])
    if late:
        named = [f"{', '.join(names)} ({why})" for why, names in late.items()]
        shell.note(f"not finished: {'; '.join(named)}")


def _reported(names: str | None, report: str | None) -> str | list[str] | None:
    """Whose pages of a report are unfolded, as `Comparison.report` takes it."""
    from assay.families import model_class
    from assay.selection.candidates import registered

    if names is not None and report is None:
        raise click.UsageError("--report-models says what a report shows: give --report FILE too.")
    if names is None or names == "all":
        return names
    return [model_class(registered(name)).name for name in names_of(names) or ()]


def _hand_over(found: Any, out: str | None, report: str | None, unfolded: str | list[str] | None, shell: Shell) -> None:
    """Save the model, print the verdict, write the report, in this order: what may have taken hours to find is not lost by what comes later.

    JSON is one document, which says what was written: it comes last, whatever happens.
    """
    written: dict[str, str | None] = {"out": None, "report": None}
    say = _speaker(out, shell)
    try:
        try:
            _save_recommended(found, out, shell, written)
        finally:
            say(str(found))
            if written["out"]:
                say(f"\nsaved: {out} ({found.recommended}; assay inspect {out} shows its certificate)")
        if report is not None and found.done:
            with shell.busy("writing the report"):
                found.report(report, unfolded)
            written["report"] = report
            say(f"report: {report} ({Path(report).stat().st_size / 1e6:.1f} MB)")
    finally:
        if shell.as_json and out != "-":
            _print_json(found, written, shell)


def _speaker(out: str | None, shell: Shell) -> Callable[[str], None]:
    """Where the text of the verdict goes: not to standard output where that is the model file itself, or JSON."""
    if out == "-":
        return shell.note
    return (lambda text: None) if shell.as_json else show


def _save_recommended(found: Any, out: str | None, shell: Shell, written: dict[str, str | None]) -> None:
    if found.recommended is None or out is None:
        return
    with shell.busy("certifying"):
        certified(found)
    save(found.model, out)
    written["out"] = out


def _print_json(found: Any, written: dict[str, str | None], shell: Shell) -> None:
    from assay.selection.comparison import plain

    data = found.to_data()
    data.pop("schema")
    event = {"event": "verdict", "at": found.provenance.get("seconds")} if shell.json_lines else {}
    shell.result(plain({**event, **data, **written}), "")


def certified(found: Any) -> None:
    """Add the claims that are too expensive for every fit of a search to the model that is handed over."""
    from assay.selection.comparison import Comparison

    assert isinstance(found, Comparison)
    model = found.model
    if found[found.recommended or ""].learnt_from is not None:  # there was not even time for all rows
        return
    whole = found.resampling.kind != "holdout" or found.recommended in found.refits
    which = found.data.everything if whole else found.splits[0].train
    model.model_.certify(found.data.encoded(model.encoding_, which, of_fit=True))


def _params(pairs: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """{"linear-svc": {"C": 10.0}} of ("linear-svc.C=10",)."""
    from assay.estimator.params import check_names
    from assay.families import model_class
    from assay.selection.candidates import registered

    found: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        where, equals, text = pair.partition("=")
        name, dot, param = where.partition(".")
        if not (equals and dot and name and param):
            raise click.UsageError(f"--param {pair}: write MODEL.NAME=VALUE, such as --param svm.C=10.")
        cls = model_class(registered(name))
        check_names(cls, {param: None})
        found.setdefault(cls.name, {})[param] = cls.params[param].parse(text) if param in cls.params else text
    return found


@contextmanager
def watching(shell: Shell) -> Iterator[OnEvent]:
    """Within, events of a comparison are shown on standard error: a live table on a terminal, else a line a finished model; and as lines of
    JSON on standard output where these were asked for."""
    if shell.json_lines:
        with watching(replace(shell, json_lines=False)) as shown:
            yield _both(shown, EventLines())
        return
    if shell.quiet or not sys.stderr.isatty():
        with shell.warnings_noted():
            yield Lines(shell)
        return
    from rich.console import Console
    from rich.live import Live

    board = LiveTable()
    with shell.warnings_noted(), Live(board, console=Console(stderr=True), refresh_per_second=8, transient=True):
        yield board


def _both(first: OnEvent, second: OnEvent) -> OnEvent:
    def on_event(key: str, event: Any) -> None:
        first(key, event)
        second(key, event)

    return on_event


class Lines:
    """A line for each model as it ends."""

    def __init__(self, shell: Shell) -> None:
        self.shell, self.total, self.ended = shell, 0, 0
        self.spoken = InWords()

    def __call__(self, key: str, event: Any) -> None:
        if event[0] == "plan":
            self.total, self.spoken = len(event[1]), InWords.of(event[1], event[2].loss)
            self.shell.note(f"{event[3]} rows, {self.total} models: {'; '.join(self.spoken.titles.values())}")
        elif event[0] == "ended":
            self.ended += 1
            risk = "" if event[4] is None else f", {self.spoken.risk(event[4])}"
            why = f" ({event[2]})" if event[2] else ""
            took = f" in {event[3]:.1f} s" if event[3] else ""  # one that was not begun took none
            self.shell.note(f"[{self.ended}/{self.total}] {self.spoken.title(key)}: {event[1]}{why}{took}{risk}")


@dataclass(frozen=True)
class InWords:
    """How models and risks are called while they run: as in the ranking at the end."""

    titles: Mapping[str, str] = field(default_factory=dict)
    loss: str = "zero-one"

    @classmethod
    def of(cls, names: Sequence[str], loss: str) -> InWords:
        from assay.selection.text import titles_of

        return cls(titles_of(names), loss)

    def title(self, name: str) -> str:
        return self.titles.get(name, name)

    def risk(self, value: float) -> str:
        from assay.selection.text import measured_risk

        return measured_risk(self.loss, value)


class LiveTable:
    """The live table."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.names: list[str] = []
        self.spoken = InWords()
        self.share: dict[str, float] = {}
        self.splits: dict[str, tuple[int, int]] = {}
        self.state: dict[str, str] = {}
        self.risk: dict[str, float] = {}
        self.started: dict[str, float] = {}

    def __call__(self, key: str, event: Any) -> None:
        kind = event[0]
        if kind == "plan":
            self.names, self.spoken = list(event[1]), InWords.of(event[1], event[2].loss)
        elif kind == "split":
            self.started.setdefault(key, time.monotonic())
            self.splits[key] = (event[1], event[2])
            self.share[key] = event[1] / (event[2] + 1)
        elif kind == "fits":
            at, of = self.splits.get(key, (0, 1))
            self.share[key] = (at + event[1] / (event[2] + 1)) / (of + 1)
        elif kind == "ended":
            self.state[key], self.share[key] = event[1], 1.0
            if event[4] is not None:
                self.risk[key] = event[4]

    def left(self) -> str:
        """How long it may still take, by what is done so far."""
        done = sum(self.share.values()) / max(1, len(self.names))
        spent = time.monotonic() - self.began
        if done <= 0.02 or spent < 1:
            return ""
        return f"about {spent * (1 - done) / done:.0f} s left"

    def __rich__(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        best = min(self.risk, key=lambda name: self.risk[name], default=None)
        table = Table(box=None, pad_edge=False, show_header=False, title_justify="left", title=self._title(best))
        for _ in range(4):
            table.add_column()
        for name in self.names:
            risk = self.spoken.risk(self.risk[name]) if name in self.risk else ""
            state = self.state.get(name, "running" if name in self.share else "waiting")
            bar = ProgressBar(total=1.0, completed=self.share.get(name, 0.0), width=24)
            table.add_row(
                self.spoken.title(name), bar, risk, "best so far" if name == best else "" if state == "done" else state
            )
        return table

    def _title(self, best: str | None) -> str:
        if not self.names:
            return "reading the table"
        ended = len(self.state)
        return f"{ended} of {len(self.names)} models  {self.left()}"
