"""What a comparison found: every model's risk on rows it never saw, which one to take, and what to worry about."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from assay import selection
from assay.assess import BayesBracket, PairedTest, Score, Worry
from assay.errors import ParameterError, nearest
from assay.estimator.search_space import amounts_of, title_of
from assay.families import REGISTRY, model_class
from assay.numerics import Array, Floats
from assay.selection.data import Answers
from assay.selection.splits import Resampling, Split

if TYPE_CHECKING:
    from pathlib import Path

    from assay.estimator.estimator import Estimator
    from assay.selection.data import TableData
    from assay.selection.table_model import TableModel
    from assay.selection.trial import SettingsSearch, Trial
    from assay.tables.schema.schema import Schema

VERSION = "assay.comparison/1"


@dataclass(repr=False)
class Entry:
    """One model in a comparison. Where `state` is not "done", `message` says why, and the numbers are not there."""

    name: str
    state: str  # done, failed, timeout, memory, interrupted, out of time, dropped
    message: str = ""
    seconds: float = 0.0
    peak_bytes: int | None = None
    setting: Mapping[str, Any] = field(default_factory=dict)
    search: SettingsSearch | None = None  # of the first split, or of all rows where the model was fitted on all
    risk: Score | None = None  # on rows that the fits never saw
    train_risk: Score | None = None
    scores: list[Score] = field(default_factory=list)
    fold_risks: Floats | None = None
    complexity: float = float("nan")
    columns: int = 0
    converged: bool = True
    notes: list[str] = field(default_factory=list)
    against_best: PairedTest | None = None  # None: it is the best
    within: bool = False  # within one standard error of the best
    answers: Answers | None = None  # of the rows `Comparison.tested`
    trials: list[Trial] = field(default_factory=list)  # one a split, without their models
    model: TableModel | None = None
    learnt_from: int | None = None  # rows, where the time allowed for no more than a part of them

    @property
    def title(self) -> str:
        """The model among people: "Logistic regression, L1"."""
        cls = self._class
        return self.name if cls is None else title_of(cls, self.setting)

    @property
    def called(self) -> str:
        """The model with its settings: "Logistic regression, L1 (C=0.1)"."""
        cls = self._class
        if cls is None:
            return self.name
        model = None if self.model is None else self.model.model_
        learnt = {k: getattr(model, f"{k}_", v) for k, v in self.setting.items() if v == "auto"}
        tried = [] if self.search is None else self.search.settings
        searched = [k for k, v in self.setting.items() if len(tried) < 2 or any(s.get(k) != v for s in tried)]
        amounts = amounts_of(cls, {**self.setting, **learnt}, searched)
        return f"{self.title} ({', '.join(amounts)})" if amounts else self.title

    @property
    def _class(self) -> type[Estimator] | None:
        if self.model is not None:
            return type(self.model.model_)
        return model_class(self.name) if self.name in REGISTRY else None

    def __repr__(self) -> str:
        return f"<{self.name}: {self.state if self.risk is None else self.risk}>"

    @property
    def done(self) -> bool:
        return self.state == "done" and self.risk is not None

    @property
    def log_loss(self) -> Score | None:
        """−mean log p(y | x) of its calibrated probabilities; None: of numbers."""
        return next((s for s in self.scores if s.name == "log loss"), None)

    @property
    def brier(self) -> Score | None:
        """Its Brier score; None: of numbers."""
        return next((s for s in self.scores if s.name == "Brier score"), None)

    def to_data(self) -> dict[str, Any]:
        """Plain values for JSON."""
        test = None if self.against_best is None else self.against_best.to_data()
        return {
            "model": self.name,
            "title": self.title,
            "called": self.called,
            "state": self.state,
            "message": self.message,
            "seconds": round(self.seconds, 4),
            "peak_bytes": self.peak_bytes,
            "settings": dict(self.setting),
            "search": None if self.search is None else _search_data(self.search),
            "risk": None if self.risk is None else self.risk.to_data(),
            "train_risk": None if self.train_risk is None else self.train_risk.to_data(),
            "scores": [s.to_data() for s in self.scores],
            "fold_risks": None if self.fold_risks is None else self.fold_risks.tolist(),
            "complexity": self.complexity,
            "encoded_columns": self.columns,
            "converged": self.converged,
            "learnt_from": self.learnt_from,
            "notes": list(self.notes),
            "against_best": test,
            "within_one_standard_error": self.within,
        }


def _search_data(search: SettingsSearch) -> dict[str, Any]:
    return {
        "settings": [dict(s) for s in search.settings],
        "risks": search.risks.tolist(),
        "standard_errors": search.errors.tolist(),
        "chosen": search.chosen,
        "best": search.best,
    }


@dataclass(repr=False)
class Comparison:
    """The outcome of `assay.compare`: print it, ask it for a model, or make a report of it.

    `entries` are ranked by risk, those without one last. `recommended` is the best, or a simpler model that
    costs next to nothing (selection/sentences.py); `model` is that model, fitted, ready to predict and to be saved. Where
    rows were held out to measure on, it is fitted again on all rows with its settings; `found[NAME].model` is the measured fit, and
    `refit(NAME)` fits any other again.
    """

    data: TableData
    where: str
    task: str
    loss: str
    resampling: Resampling
    splits: list[Split]
    tested: Array  # (m,): numbers of the rows that the answers are for
    entries: list[Entry]
    left_out: list[tuple[str, str]]
    question: dict[str, Any]  # what was asked, as arguments: enough to ask again
    provenance: dict[str, Any]  # versions, fingerprint, seconds
    interrupted: bool = False
    worries: list[Worry] = field(default_factory=list)
    recommended: str | None = None
    best: str | None = None  # of least risk; of equal risks that of the least log loss
    simplest: str | None = None  # within one standard error of the best
    bracket: BayesBracket | None = None
    verdict: list[str] = field(default_factory=list)  # sentences, the most important first
    refits: dict[str, TableModel] = field(default_factory=dict)  # models fitted again on all rows
    library: str | None = None  # of the frame that was compared: tables are handed out in it
    deadline: float | None = None  # of time.monotonic: what is not done by then and can be left out is

    @property
    def time_is_up(self) -> bool:
        """Whether a budget of time was given and is spent."""
        return self.deadline is not None and monotonic() >= self.deadline

    @property
    def schema(self) -> Schema:
        return self.data.schema

    @property
    def done(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.done]

    def __getitem__(self, name: str) -> Entry:
        """The entry of a model."""
        from assay.selection.candidates import registered

        for entry in self.entries:
            if entry.name == registered(name):
                return entry
        raise KeyError(f"No model {name!r} took part. {nearest(name, [e.name for e in self.entries])}")

    @property
    def model(self) -> TableModel:
        """The recommended model; where rows were held out and it could be fitted again on all of them, that fit."""
        if self.recommended is None:
            raise ParameterError(
                " ".join(
                    [*self.verdict[:1], "So none can be recommended: found[NAME].model is that of a finished one."]
                )
            )
        model = self.refits.get(self.recommended, self[self.recommended].model)
        assert model is not None
        return model

    def refit(self, name: str | None = None) -> TableModel:
        """A finished model (default: the recommended one) fitted again on all rows with its settings; its certificate says how
        the measured fit did. Where folds tested the rows every model is fitted on all of them already."""
        from assay.selection.refit import refit

        chosen = self.model.name if name is None else self[name].name
        if chosen not in self.refits:
            self.refits[chosen] = refit(self, chosen)
        return self.refits[chosen]

    @cached_property
    def truth(self) -> Array:
        """The true targets of the rows `tested`: codes of the classes, or numbers."""
        found: Array = self.data.codes[self.tested]
        return found

    def losses(self, name: str) -> Floats:
        """What each answer of a model cost, in the order of `tested`."""
        from assay.selection.data import row_losses

        answers = self[name].answers
        assert answers is not None
        return row_losses(self.loss, self.data, self.tested, answers)

    def to_data(self) -> dict[str, Any]:
        """Plain values for JSON; the schema is versioned."""
        classes = self.data.classes
        return {
            "schema": VERSION,
            "data": self.where,
            "target": None if self.schema.target is None else self.schema.target.name,
            "task": self.task,
            "loss": self.loss,
            "rows": len(self.data),
            "classes": None if classes is None else classes.tolist(),
            "resampling": self.resampling.to_data(),
            "rows_tested": len(self.tested),
            "recommended": self.recommended,
            "refitted": self.recommended in self.refits,
            "best": self.best,
            "simplest": self.simplest,
            "verdict": list(self.verdict),
            "bayes_bracket": None if self.bracket is None else self.bracket.to_data(),
            "models": [entry.to_data() for entry in self.entries],
            "left_out": [{"model": name, "why": why} for name, why in self.left_out],
            "worries": [w.to_data() for w in self.worries],
            "table": self.schema.to_data(),
            "question": self.question,
            "provenance": self.provenance,
            "interrupted": self.interrupted,
        }

    def to_json(self) -> str:
        """`to_data` as text; numbers that JSON has no word for (NaN, infinity) become null."""
        return json.dumps(plain(self.to_data()), ensure_ascii=False)

    def report(self, path: str | Path, models: str | Sequence[str] | None = None) -> None:
        """Write the report: one HTML file that needs nothing else.

        Every finished model has a page in it. Those of `models` are unfolded, and so printed: the recommended one's (None), "all",
        or those of some names.
        """
        selection.write_report(self, path, models)

    def predict(self, data: Any) -> Array:
        """The answers of the recommended model for the rows of a table."""
        return self.model.predict(data)

    @property
    def table(self) -> Any:
        """The ranking as a frame of the library that the data came in, else of pandas, polars or Arrow, whichever is there.

        One row a model: `model`, `recommended`, `state`, `risk` (of the comparison's loss) from `low` to `high`, `train_risk`, `p` of the
        test against the best, every score by its name, `complexity`, `seconds`, `settings`, `message`. `to_frame` chooses the library.
        """
        return self.to_frame()

    def to_frame(self, library: str | None = None) -> Any:
        """`table` as a frame of a library: "pandas", "polars", "pyarrow", or another that narwhals makes."""
        from assay.tables.answers import new_frame

        return new_frame(ranking_columns(self), library or self.library)

    def plot(self, ax: Any = None) -> Any:
        """A figure of the ranking: risks with their 95 % intervals, the recommended model marked. Needs matplotlib (`assay[plot]`).

        Drawn into `ax` where that is given. A notebook shows it; `found.plot().savefig("ranking.png")` keeps it.
        """
        return selection.plot_ranking(self, ax)

    def ranking(self) -> list[dict[str, Any]]:
        """One dict a model, the best first, with a key for each hyper-parameter that was searched; `table` is a frame of them."""
        return [
            {
                "model": e.name,
                "title": e.called,
                "state": e.state,
                "risk": None if e.risk is None else e.risk.value,
                "low": None if e.risk is None else e.risk.low,
                "high": None if e.risk is None else e.risk.high,
                "train_risk": None if e.train_risk is None else e.train_risk.value,
                "log_loss": None if e.log_loss is None else e.log_loss.value,
                "brier": None if e.brier is None else e.brier.value,
                "p": None if e.against_best is None else e.against_best.p,
                "complexity": e.complexity,
                "seconds": e.seconds,
                **{f"param_{k}": v for k, v in e.setting.items()},
            }
            for e in self.entries
        ]

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.entries)} models on {self.where}: recommended {self.recommended!r}>"

    def __str__(self) -> str:
        from assay.selection.text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from assay.selection.text import as_html

        return as_html(self)


def ranking_columns(found: Comparison) -> dict[str, list[Any]]:
    """Who it is, how it ended, its risk with its interval, every other score, and what it cost; None where there is no such number."""
    entries = found.entries
    risks = [e.risk for e in entries]
    return {
        "model": [e.name for e in entries],
        "recommended": [e.name == found.recommended for e in entries],
        "state": [e.state for e in entries],
        "risk": _numbers(None if r is None else r.value for r in risks),
        "low": _numbers(None if r is None else r.low for r in risks),
        "high": _numbers(None if r is None else r.high for r in risks),
        "train_risk": _numbers(None if e.train_risk is None else e.train_risk.value for e in entries),
        "p": _numbers(None if e.against_best is None else e.against_best.p for e in entries),
        **{name: _numbers(_value(e.scores, name) for e in entries) for name in _score_names(entries)},
        "complexity": _numbers(e.complexity for e in entries),
        "seconds": _numbers(e.seconds for e in entries),
        "settings": [", ".join(f"{k}={v}" for k, v in e.setting.items()) for e in entries],
        "message": [e.message for e in entries],
    }


def _score_names(entries: Iterable[Entry]) -> list[str]:
    return list(dict.fromkeys(score.name for entry in entries for score in entry.scores))


def _value(scores: Iterable[Score], name: str) -> float | None:
    return next((score.value for score in scores if score.name == name), None)


def _numbers(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None or math.isnan(value) else float(value) for value in values]


def plain(value: Any) -> Any:
    """Values as JSON has them."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
