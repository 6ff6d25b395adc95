"""`assay train`: encode a table by the needs of a model, fit on one side of a split, measure on the other, certify, save.

A model's hyper-parameters are options of the command line, read from its declarations. They depend on --model, so the words are
looked through for it before they are parsed. Where none is asked for, the target decides which model is taken, and whether there is
text to learn from.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.options import choosing_columns, computing, data_argument, kinds_option, opening, speaking
from assay.cli.shell import Shell, claims_data, indented, nearly_numbers, schema_data, schema_text
from assay.cli.tables import chosen_target, masked, open_source

if TYPE_CHECKING:
    from assay.estimator.estimator import Estimator
    from assay.tables.schema.schema import Schema

DEFAULT_MODELS = ("naive-bayes", "logistic-regression", "linear-regression")
NOT_HERE = ("n_jobs",)
ENDED = {"interrupted": 130, "out of time": 5}  # exit codes of fits that were ended


class WithModelOptions(click.Command):
    """A command that also has an option for every hyper-parameter of the model it is asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        name = asked_model(args)
        help_alone = name is None and any(word in ("-h", "--help") for word in args)
        own = len(self.params)
        if not help_alone:
            self.params = [*self.params, *model_options(DEFAULT_MODELS if name is None else (name,))]
        try:
            return super().parse_args(ctx, args)
        finally:
            del self.params[own:]


@click.command(cls=WithModelOptions)
@data_argument
@click.option("--target", metavar="COLUMN", help="The column to predict.")
@click.option("--model", "model_name", metavar="NAME", help="Default: by the target, see above.")
@click.option("--out", default="model.assay", show_default=True, metavar="FILE", help="The model file; - for stdout.")
@click.option(
    "--holdout", default=0.25, show_default=True, type=click.FloatRange(0, 1, max_open=True), help="Share held out."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Which rows are held out.")
@click.option("--weight", metavar="COLUMN", help="The column of the rows' weights.")
@click.option("--group", metavar="COLUMN", help="Rows of one group lie on one side of the split.")
@click.option("--time", metavar="COLUMN", help="The latest rows by this column are held out.")
@click.option("--features", metavar="A,B,…", help="The columns to learn from (default: all others).")
@click.option(
    "--scaling",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    help="Numbers to mean 0 and deviation 1 (default: where the model depends on units).",
)
@click.option(
    "--categories",
    type=click.Choice(["one-hot", "reference", "codes"]),
    help="How categories become numbers (default: as the model needs them).",
)
@click.option("--no-calibrate", is_flag=True, help="Probabilities as the model gives them, where it gives any.")
@kinds_option
@computing
@opening
@speaking("train")
@choosing_columns
def command(
    data: str,
    model_name: str | None,
    out: str,
    holdout: float,
    seed: int,
    scaling: Any,
    categories: Any,
    no_calibrate: bool,
    columns: dict[str, Any],
    opening: dict[str, Any],
    shell: Shell,
    **options: Any,
) -> int:
    """Fit a model to DATA and save it with its certificate.

    Columns are encoded as the model needs them (assay schema DATA shows what they are taken for). A share of the rows is held
    out; the error on them is measured, with an interval, and goes into the certificate; the probabilities of classes are calibrated by
    them, of every classifier (labels stay as they are). Without --model the target decides:
    text, two whole numbers, or at most 20 with five rows or more to each on average mean classes (naive-bayes, or
    logistic-regression where a column holds text), other numbers a regression (linear-regression).
    `assay train --model NAME --help` shows that model's own options. Exit code 4 where the fit could not establish a claim that it should prove, 5 where
    its max-seconds ran out, 130 where Ctrl-C ended it: both leave a model of what was found until then (a second Ctrl-C leaves none).
    """
    from assay.families import model_class
    from assay.selection.candidates import check_model
    from assay.selection.training import encoding_spec_for, fit_and_measure
    from assay.tables.schema.schema import infer

    columns["target"] = chosen_target(data, columns["target"])
    check_writable(out)
    source = open_source(data, opening, shell)
    with shell.busy("reading"):
        schema = infer(source, **columns)
    for note in nearly_numbers(schema):
        shell.note(note)
    name = _named(model_name, schema, shell)
    cls = model_class(name)
    model = cls(**chosen_params(cls, options))
    check_model(model, schema)  # of the whole table, before any of it is set aside
    encoding_spec = encoding_spec_for(model, schema, scaling, categories)
    split = {"fraction": float(holdout), "seed": seed, "group": columns["group"], "time": columns["time"]}
    facts = {role: columns[role] for role in ("target", "weight") if columns[role]}
    with shell.busy(f"fitting {name}") as say, _split_explained(holdout), _ended_by_interrupt(model):
        if hasattr(model, "on_progress"):
            model.on_progress = say
        fitted, measured = fit_and_measure(
            model, encoding_spec, source, schema, _present(split), facts, calibrate=not no_calibrate
        )
    save(fitted, out)
    _report(shell, fitted, {"model": name, "data": masked(data), "target": columns["target"], "out": out, **measured})
    ended = fitted.model_.provenance_.get("ended")
    if ended in ENDED:
        shell.note(f"the fit was ended ({ended}): the model holds the best of what was found until then")
        return ENDED[ended]
    return 0 if all(claim.holds for claim in fitted.certificate_ if claim.kind == "proof") else 4


def _present(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if value is not None}


def _named(asked: str | None, schema: Any, shell: Shell) -> str:
    """The registered name of the model asked for, or of the usual one for the table."""
    if asked is not None:
        from assay.selection.candidates import registered

        return registered(asked)

    name, why = default_model(schema)
    shell.note(f"model: {name} ({why}; --model chooses another)")
    return name


def default_model(schema: Schema) -> tuple[str, str]:
    """(name, why). Logistic regression takes a text word by word, as thousands of sparse columns."""
    from assay.tables.schema.schema import TEXTUAL, task_of

    task, why = task_of(schema)
    if task == "regression":
        return "linear-regression", why
    texts = [column.name for column in schema.used if column.kind in TEXTUAL]
    if not texts:
        return "naive-bayes", why
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    return "logistic-regression", f"{why}; column {texts[0]!r}{more} holds text, which it takes word by word"


@contextmanager
def _ended_by_interrupt(model: Any) -> Iterator[None]:
    """Within, the first Ctrl-C ends the fit of a model that can end early, with what it has; a second one ends the command."""
    before = signal.getsignal(signal.SIGINT)
    if not hasattr(model, "max_seconds") or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _split_explained(share: float) -> Iterator[None]:
    """Errors within come from one side of a split table: say so where it matters."""
    from assay.errors import DataError, OneClassError

    try:
        yield
    except OneClassError as error:
        if not share:
            raise
        raise OneClassError(
            f"{error} It is so among the rows left after a share of {share:g} was held out: --holdout 0 fits on all rows, "
            "another --seed holds out others."
        ) from None
    except DataError as error:
        if " row " not in str(error) or not share:
            raise
        raise DataError(
            f"{error} (A share of {share:g} is held out, and rows are counted on their side of that split: --holdout 0 "
            "counts those of the table.)"
        ) from None


def _report(shell: Shell, model: Any, facts: dict[str, Any]) -> None:
    names = model.feature_names_in_.tolist()
    params = model.model_.to_record().params
    data = {**facts, "features": names, **schema_data(model), "params": params}
    data["classes"] = getattr(model.model_, "classes_", None)
    data |= {"holds": model.certificate_.holds, "claims": claims_data(model.certificate_)}
    held = facts["held_out"]
    lines = [f"{facts['model']}: {' + '.join(names[:8])}{' + …' if len(names) > 8 else ''} → {facts['target']}"]
    lines += [f"{title}: {line}" for title, line in schema_text(model)]
    if held is None:
        lines.append(f"fitted on all {facts['rows']} rows; nothing was held out")
    else:
        low, high = held["interval"]
        lines.append(
            f"rows: {facts['rows']}, of which {held['rows']} held out (share {held['fraction']:g}, seed {held['seed']})"
        )
        lines.append(f"{held['claim']}: {held['value']:.4g}, 95% interval [{low:.4g}, {high:.4g}]")
    lines.append("certificate:")
    lines.append(indented(str(model.certificate_)))
    if facts["out"] != "-":
        lines.append(f"saved: {facts['out']}")
        shell.result(data, "\n".join(lines))
    else:  # standard output is the model file itself
        shell.note("\n".join(lines))


def check_writable(out: str, option: str = "--out") -> None:
    """Say before the work rather than after it that the result could not be written."""
    folder = Path(out).parent
    if out == "-":
        return
    if "://" in out:
        raise click.BadParameter("an address is no place to write to: give the name of a file.", param_hint=option)
    if Path(out).is_dir():
        raise click.BadParameter(f"{out!r} is a directory: give the name of a file.", param_hint=option)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise click.BadParameter(
            f"the folder {str(folder)!r} does not exist or cannot be written to.", param_hint=option
        )


def save(model: Any, out: str) -> None:
    """Write the model file, or its bytes to standard output."""
    if out != "-":
        model.save(out)
        return
    from assay.store import encode

    sys.stdout.buffer.write(encode(model.to_record()))
    sys.stdout.buffer.flush()


def asked_model(words: list[str]) -> str | None:
    """The value of --model among the words of a command line."""
    for i, word in enumerate(words):
        if word == "--model" and i + 1 < len(words):
            return words[i + 1]
        if word.startswith("--model="):
            return word.partition("=")[2]
    return None


def model_options(names: tuple[str, ...]) -> list[click.Option]:
    """One option a hyper-parameter of these models, which may go by another name."""
    from assay.estimator.params import defaults, option_of
    from assay.families import model_class
    from assay.selection.candidates import registered

    options: dict[str, click.Option] = {}
    for model in names:
        cls = model_class(registered(model))
        usual = defaults(cls)
        for name, param in cls.params.items():
            if name not in NOT_HERE and name not in options:
                text = f"{param.doc}: {param.describe()} (default {usual[name]!r})"
                options[name] = click.Option([option_of(name), f"param_{name}"], metavar="VALUE", help=text)
    return list(options.values())


def chosen_params(cls: type[Estimator], options: Mapping[str, Any]) -> dict[str, Any]:
    """The hyper-parameters that the options set, parsed by the model's table."""
    from assay.estimator.params import option_of

    params: dict[str, Any] = {}
    for option, text in options.items():
        name = option.removeprefix("param_")
        if text is None:
            continue
        if name not in cls.params:
            raise click.UsageError(f"{option_of(name)} is no parameter of {cls.name}, the model for this target.")
        params[name] = cls.params[name].parse(text)
    return params
