"""The same model without the studio: a command line and lines of Python that give it."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
from typing import Any

from assay.estimator.params import defaults, option_of
from assay.families import model_class
from assay.studio.dataset import PlottedDataset
from assay.studio.training_run import TrainingRun

POINTS = "points.csv"


def code(run: TrainingRun) -> dict[str, str]:
    """{"python", "shell"}, and for drawn points {"file", "name"}: what to save first, and as what."""
    dataset = run.dataset
    found = {"python": _python(run), "shell": _shell(run)}
    if dataset.drawn:
        found |= {"file": points_file(dataset), "name": POINTS}
    return found


def where_of(dataset: PlottedDataset) -> str:
    return POINTS if dataset.place is None else dataset.place.shell


def kinds_of(dataset: PlottedDataset) -> dict[str, str]:
    """What has to be said of columns, for a file of drawn points is read afresh."""
    if not dataset.drawn:
        return {}
    kinds = {c.name: "number" for c in dataset.schema.columns}
    return kinds if dataset.classes is None else {**kinds, dataset.target: "category"}


def _changed(run: TrainingRun) -> dict[str, Any]:
    usual, given = defaults(model_class(run.name)), run.model().get_params()
    return {key: value for key, value in given.items() if key in run.params and value != usual[key]}


def features_of(dataset: PlottedDataset) -> list[str] | None:
    """The columns to learn from, where they are not all the others."""
    names = [c.name for c in dataset.schema.columns]
    return names if set(names) | {dataset.target} != set(dataset.source.types) else None


def _shell(run: TrainingRun) -> str:
    dataset = run.dataset
    words = ["assay", "train", where_of(dataset), "--target", dataset.target, "--model", run.name]
    for key, value in _changed(run).items():
        words += [option_of(key), _spelt(value)]
    if dataset.scaling != "auto":
        words += ["--scaling", dataset.scaling]
    if features := features_of(dataset):
        words += ["--features", _line(features)]
    for name, kind in kinds_of(dataset).items():
        words += ["--kind", f"{name}={kind}"]
    words += ["--holdout", "0", "--out", f"{run.name}.assay"]
    return shlex.join(words)


def _line(names: list[str]) -> str:
    """Names as a line of a CSV file: those with a comma in quotation marks.

    >>> _line(["a", "size, mm"])
    'a,"size, mm"'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def _spelt(value: Any) -> str:
    """A hyper-parameter as the command line takes it."""
    return str(value) if value is None or isinstance(value, bool | str | float) else json.dumps(value)


def _python(run: TrainingRun) -> str:
    dataset = run.dataset
    cls = model_class(run.name)
    given = ", ".join(f"{key}={_written(value)}" for key, value in _changed(run).items())
    more: dict[str, Any] = {} if dataset.scaling == "auto" else {"scaling": dataset.scaling}
    if features := features_of(dataset):
        more["features"] = features
    if kinds := kinds_of(dataset):
        more["kinds"] = kinds
    named = "".join(f", {key}={value!r}" for key, value in {**more, "holdout": 0}.items())
    where = repr(where_of(dataset))
    if dataset.place is not None and dataset.place.bundled:
        where = f"assay.dataset({where}).path"
    return (
        "import assay\n\n"
        f"model = assay.train({where}, {dataset.target!r}, assay.{cls.__name__}({given}){named})\n"
        f"model.save({run.name + '.assay'!r})\n"
        "print(model.certificate_)"
    )


def _written(value: Any) -> str:
    """A hyper-parameter as Python takes it.

    >>> _written(float("inf")), _written(0.5), _written("rbf")
    ("float('inf')", '0.5', "'rbf'")
    """
    return f"float({str(value)!r})" if isinstance(value, float) and not math.isfinite(value) else repr(value)


def points_file(dataset: PlottedDataset) -> str:
    """Drawn points as CSV."""
    points = dataset.data.points
    assert points is not None
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n")
    if points.target is not None:
        write.writerow(["x", dataset.target])
        write.writerows(zip(map(repr, points.x), map(repr, points.target)))
    else:
        write.writerow(["x", "y", dataset.target])
        write.writerows(zip(map(repr, points.x), map(repr, points.y or ()), points.label or ()))
    return text.getvalue()
