"""`assay compare`: every model on a table, searched and judged on rows it never saw; one is recommended."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from assay.cli.watching import watching

SEVERAL = "assay.compare.targets/1"
WAYS = ["auto", "holdout", "k-fold", "repeated", "leave-one-out", "bootstrap", "time"]
UNFINISHED = ("timeout", "out of time", "interrupted")


@click.command()
@data_argument
@click.option(
    "--target", metavar="COLUMN[,COLUMN]", help="The column to predict; several are compared one after another."
)
@click.option("--out", metavar="FILE", help="Save the recommended model (of several targets: FILE-TARGET for each).")
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
    from assay.selection.several_targets import check_targets, each_target

    text = chosen_target(data, columns.pop("target"))
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
    targets = targets_of(text, source.types)
    if len(targets) > 1:
        check_targets(source, targets, columns["features"])
        if out == "-":
            raise click.UsageError("The models of several targets cannot all go to standard output: give --out a name.")
    ways = each_target(targets, columns.pop("features"), columns.pop("kinds"), asked.pop("budget"))
    work = Places.of(targets, out, report)
    codes: list[int] = []
    with documents(shell, many=len(targets) > 1) as hand_in:
        for (target, how), places in zip(ways, work, strict=True):
            if len(targets) > 1:
                if codes and not shell.as_json:
                    show("\n")
                shell.note(f"target {len(codes) + 1} of {len(targets)}: {target}")
            with watching(shell) as on_event:
                found = compare(
                    source,
                    target,
                    models=names_of(models),
                    without=names_of(without) or (),
                    params=_params(params),
                    share=holdout,
                    refit=refit and out is not None,  # what nobody keeps need not be fitted
                    on_event=on_event,
                    **columns,
                    **how,
                    **asked,
                )
            _note_surprises(found, asked["task"], shell)
            found.question["command"] = command_line(click.get_current_context())
            _hand_over(found, places, unfolded, shell, hand_in)
            codes.append(_exit_code(found))
            if found.interrupted:
                break
    return next(filter(None, codes[::-1]), 0)


def targets_of(text: str, columns: Collection[str]) -> list[str]:
    """The columns to predict: the one of this name, or those that a line such as a CSV's first names."""
    return [text] if text in columns else names_of(text) or [text]


def _exit_code(found: Any) -> int:
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


@dataclass(frozen=True)
class Places:
    """Where the model and the report of a target go."""

    out: str | None
    report: str | None

    @classmethod
    def of(cls, targets: list[str], out: str | None, report: str | None) -> list[Places]:
        """One target: where was asked. Several: beside it, with the target in the name."""
        if len(targets) == 1:
            return [cls(out, report)]
        names: list[str] = []
        for target in targets:
            name = re.sub(r"[^\w.-]+", "-", target).strip("-.") or "target"
            names.append(name if name not in names else f"{name}-{len(names) + 1}")
        return [cls(_beside(out, name), _beside(report, name)) for name in names]


def _beside(file: str | None, name: str) -> str | None:
    """model-price.assay of model.assay."""
    return None if file is None else str(Path(file).with_name(f"{Path(file).stem}-{name}{Path(file).suffix}"))


HandIn = Callable[[dict[str, Any]], None]


@contextmanager
def documents(shell: Shell, many: bool) -> Iterator[HandIn]:
    """What a target's comparison says in JSON is handed in here: printed at once, or with those of the others as one document."""
    if shell.json_lines or not many:
        yield lambda document: shell.result(document, "")
        return
    found: list[dict[str, Any]] = []
    try:
        yield found.append
    finally:
        if shell.as_json:
            shell.result({"schema": SEVERAL, "targets": found}, "")


def _hand_over(found: Any, places: Places, unfolded: str | list[str] | None, shell: Shell, hand_in: HandIn) -> None:
    """Save the model, print the verdict, write the report, in this order: what may have taken hours to find is not lost by what comes later.

    JSON is one document, which says what was written: it comes last, whatever happens.
    """
    written: dict[str, str | None] = {"out": None, "report": None}
    out, report = places.out, places.report
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
            hand_in(_document(found, written, shell))


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


def _document(found: Any, written: dict[str, str | None], shell: Shell) -> dict[str, Any]:
    from assay.selection.comparison import plain

    data = found.to_data()
    data.pop("schema")
    event = {"event": "verdict", "at": found.provenance.get("seconds")} if shell.json_lines else {}
    document: dict[str, Any] = plain({**event, **data, **written})
    return document


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
