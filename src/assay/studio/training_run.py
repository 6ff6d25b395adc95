"""A model on a dataset: its rows as the model sees them, the fit, the steps on the way, and how wrong each state is."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assay._version import __version__
from assay.datasets import CATALOGUE
from assay.engines import Rows
from assay.engines.derived import held_out_mask
from assay.engines.engine import Threads
from assay.errors import AssayError, ParameterError, nearest
from assay.estimator.estimator import Estimator
from assay.estimator.params import Choice, Flag, Param, Range, check_names, check_params, defaults
from assay.estimator.steps import Step
from assay.families import REGISTRY, model_class
from assay.numerics import Array
from assay.selection.table_model import TableModel, fit_table, sides
from assay.selection.training import encoding_spec_for, held_out_claim
from assay.studio.dataset import PlottedDataset, plotted_dataset
from assay.studio.overlays import codes_in
from assay.studio.requests import NameRequest, TableLocation
from assay.tables.encoding import Encoding, EncodingSpec

NOT_HERE = ("n_jobs",)
LARGEST = 1 << 62  # whole numbers beyond it are none for compiled loops
HELD_OUT, SEED = 0.25, 0  # the share and the seed that `assay train` holds rows out by
FEWEST = 20  # rows of which some are held out


def forms() -> list[dict[str, Any]]:
    """The form of every model."""
    return [form(name) for name in REGISTRY]


def form(name: str) -> dict[str, Any]:
    """What the page needs to know to offer a model."""
    cls = model_class(name)
    usual = defaults(cls)
    return {
        "name": name,
        "title": cls.__name__,
        "kinds": kinds_of(cls),
        "about": about(cls),
        "word": getattr(cls, "step_word", "step"),
        "params": [field(key, param, usual[key]) for key, param in cls.params.items() if key not in NOT_HERE],
    }


def about(cls: type[Estimator]) -> str:
    """The first sentence of a model's own description.

    >>> about(model_class("baseline"))[-1]
    '.'
    """
    text = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".") + "."


def kinds_of(cls: type[Estimator]) -> list[str]:
    """What a model can be: a classifier, a regressor, or by its settings either."""
    found = {cls.kind_of({})}
    for key, param in cls.params.items():
        words = (*param.words, *(param.options if isinstance(param, Choice) else ()))
        found |= {cls.kind_of({key: word}) for word in words if isinstance(word, str)}
    return sorted(found)


def field(name: str, param: Param, usual: Any) -> dict[str, Any]:
    """One field of a form."""
    facts: dict[str, Any] = {
        "name": name,
        "kind": _kind(param),
        "default": plain(usual),
        "low": None,
        "high": None,
        "open_low": False,
        "open_high": False,
        "whole": False,
        "options": None,
        "words": [*param.words, *(["inf"] if _speaks_of_infinity(param) else [])],
        "doc": param.doc,
    }
    if isinstance(param, Range):
        ends = {"low": param.low, "high": param.high}
        facts |= {k: v if math.isfinite(v) else None for k, v in ends.items()}
        facts |= {"open_low": param.open_low, "open_high": param.open_high, "whole": param.kind is int}
    elif isinstance(param, Choice):
        facts["options"] = list(param.options)
    return facts


def _speaks_of_infinity(param: Param) -> bool:
    """Whether infinity means something of its own here, which a field for numbers cannot hold."""
    return isinstance(param, Range) and param.accepts(math.inf) and re.search(r"\binf\b", param.doc) is not None


def _kind(param: Param) -> str:
    for kind, word in ((Range, "range"), (Choice, "choice"), (Flag, "flag")):
        if isinstance(param, kind):
            return word
    return "free"


def plain(value: Any) -> Any:
    """A default as JSON can hold it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    return value if value is None or isinstance(value, bool | int | float | str | list | dict) else str(value)


def made(name: str, given: Mapping[str, Any]) -> Estimator:
    """The model of a name with what was filled in, checked."""
    cls = model_class(name)
    check_names(cls, given)
    for key in given:
        if key in NOT_HERE:
            raise ParameterError(f"{key!r} is not set here.")
    for key, value in given.items():
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ParameterError(
                f"{cls.__name__}: {key}={float(value):.3g} is larger than a computer counts: take a smaller one."
            )
    model = cls(**{key: _value(cls.params[key], value) for key, value in given.items()})
    check_params(model)
    return model


def _value(param: Param, value: Any) -> Any:
    """A value of JSON as the table takes it: 5.0 is the whole number 5, text of a field is parsed."""
    if isinstance(value, float) and isinstance(param, Range) and param.kind is int and value.is_integer():
        value = int(value)
    if isinstance(value, list):
        value = tuple(value) if not param.accepts(value) else value
    return param.parse(value) if isinstance(value, str) and not param.accepts(value) else value


# --- what the page can offer: models with their forms, datasets, presets ------------------------------------------------


Message = dict[str, Any]
Presets = Mapping[str, Callable[[], Message]]


def presets() -> Presets:
    """The presets by their ids; they come with the page."""
    from assay.studio.presets import PRESETS

    found: Presets = PRESETS
    return found


def about_everything(_request: None, _place: Any, _files: Any) -> Iterator[Message]:
    """All of it, but for what the server itself knows."""
    shown = ("id", "group", "title", "look")
    yield {
        "version": __version__,
        "models": forms(),
        "datasets": [
            {"name": name, "title": name.replace("-", " ").capitalize(), "about": text}
            for name, (_, text) in CATALOGUE.items()
        ],
        "presets": [{key: made()[key] for key in shown} for made in presets().values()],
    }


def preset(request: NameRequest, _place: Any, _files: Any) -> Iterator[Message]:
    """One preset, with its points."""
    known = presets()
    if request.name not in known:
        raise ParameterError(f"There is no preset {request.name!r}. {nearest(request.name, known)}")
    yield known[request.name]()


@dataclass(frozen=True)
class TrainingRun:
    """What is to be learnt by which model."""

    dataset: PlottedDataset
    name: str
    params: Mapping[str, Any]

    @classmethod
    def of(cls, data: Any, place: TableLocation | None, name: str, params: Mapping[str, Any]) -> TrainingRun:
        """The run that a request describes; the model says whether the target is classes or numbers."""
        model = made(name, params)
        kind = model.kind_of(model.get_params())
        task = "classification" if kind == "classifier" else "regression"
        dataset = plotted_dataset(data, place, task)
        if (dataset.classes is None) != (task == "regression"):
            wanted, there = ("numbers", "classes") if task == "regression" else ("classes", "numbers")
            raise _wrong_kind(name, wanted, there)
        return cls(dataset, name, params)

    def model(self) -> Estimator:
        """A model with the hyper-parameters asked for, not fitted."""
        return made(self.name, self.params)

    @cached_property
    def encoding_spec(self) -> EncodingSpec:
        return encoding_spec_for(self.model(), self.dataset.schema, self.dataset.scaling)  # type: ignore[arg-type]

    @cached_property
    def encoding(self) -> Encoding:
        return Encoding.learn(Threads(), self.dataset.schema, self.encoding_spec, self.dataset.table.rows)

    @cached_property
    def rows(self) -> Rows:
        """All rows of the table, encoded."""
        return sides(self.dataset.table.rows, self.encoding, None)[0]

    def fitted(self) -> TableModel:
        """The model fitted on all rows."""
        fitted = fit_table(self.model(), self.dataset.schema, self.encoding_spec, self.dataset.table.rows)
        fitted.add_claims(target=self.dataset.target)
        return fitted

    def steps(self) -> Iterator[Step]:
        """The states of a fit."""
        model: Any = self.model()
        found: Iterator[Step] = model.steps(self.rows)
        return found

    def at(self, step: Step) -> TableModel | None:
        """The model that answers as a state would; None: it cannot answer yet."""
        found = self.model().at(step)
        return None if found is None else TableModel(found, self.encoding)

    @property
    def total(self) -> int | None:
        """How many steps there will be, where that is known."""
        return self.model().n_steps(len(self.dataset.table))

    @property
    def last(self) -> int | None:
        """The number of the last step of the algorithm, if it is known: behind the epochs of a network comes the fitted model."""
        return self.total - 1 if self.total is not None and self.word == "epoch" else self.total

    @property
    def word(self) -> str:
        return self.model().step_word_of(self.model().get_params())

    def answers(self, model: TableModel) -> Array:
        """A model's answers for all rows: codes of the dataset's classes, or numbers."""
        found = np.asarray(model.model_.predict(self.rows)).ravel()
        if self.dataset.classes is None:
            return found.astype(np.float64)
        return codes_in(model.classes_, self.dataset)[np.searchsorted(model.classes_, found)]

    def training_risk(self, answers: Array) -> float:
        """The share of rows answered wrongly, or the mean squared error."""
        truth = self.dataset.table.codes
        return float(np.mean(answers != truth) if self.dataset.classes is not None else np.mean((answers - truth) ** 2))

    @property
    def loss(self) -> str:
        return "squared" if self.dataset.classes is None else "zero-one"

    def held_out(self) -> tuple[dict[str, Any] | None, str]:
        """The risk on rows that a second fit did not see, the same rows for every model; else why there is none."""
        n = len(self.dataset.table)
        if n < FEWEST:
            return None, f"Nothing was held out of {n} rows: from {FEWEST} on a quarter is."
        mask = held_out_mask(0, n, HELD_OUT, SEED)
        try:
            with warnings.catch_warnings(action="ignore"):  # the fit on all rows has said what there is to say
                model = self.model()
                fitted = fit_table(model, self.dataset.schema, self.encoding_spec, self.dataset.table.rows, mask)
                unseen = sides(self.dataset.table.rows, fitted.encoding_, mask)[1]
                assert unseen is not None
                claim, rows = held_out_claim(model, unseen, HELD_OUT, SEED)
        except AssayError as error:
            return None, f"No risk on held-out rows: {error}"
        low, high = claim.witness["interval"].tolist()
        how = f"the same model fitted on the other {n - rows} rows; {claim.statement}"
        return {"value": claim.value, "low": low, "high": high, "rows": rows, "how": how}, ""


def _wrong_kind(name: str, wanted: str, there: str) -> AssayError:
    from assay.errors import DataError

    return DataError(
        f"{name} learns {wanted}, and the target here is {there}: choose another model, or another target."
    )
