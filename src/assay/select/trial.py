"""One model on one split of a table: search its settings on the training rows alone, fit the chosen one, answer the test rows.

The search is nested: settings are judged on inner splits of the training rows, so the test rows decide nothing. Of the
settings within one standard error of the best, the simplest is taken (Occam's rule).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.engines import Rows, engine_for
from assay.errors import ConvergenceWarning, DataConversionWarning
from assay.learner import Learner
from assay.numerics import Array, Floats
from assay.select.data import TableData
from assay.select.entrants import Entrant
from assay.select.occam import recommend
from assay.select.row_losses import Answers, row_losses
from assay.select.splits import Resampling, Split, make_splits
from assay.tables.encoding import Encoding

FEW = 5000  # training rows up to which five inner folds are taken, three beyond


@dataclass(frozen=True)
class Search:
    """What the search found: of each setting its mean inner risk and standard error; `chosen` is what Occam's rule takes."""

    settings: list[Mapping[str, Any]]
    risks: Floats
    errors: Floats
    chosen: int
    best: int


@dataclass
class Trial:
    """One model on one split."""

    setting: Mapping[str, Any]
    search: Search | None
    answers: Answers  # of the test rows
    test_risk: float
    train_risk: float
    train_rows: int
    complexity: float
    columns: int  # of the encoded rows
    converged: bool = True
    notes: list[str] = field(default_factory=list)
    model: Learner | None = None
    encoding: Encoding | None = None


def run_trial(
    entrant: Entrant,
    data: TableData,
    split: Split,
    loss: str,
    seed: int,
    groups: Array | None = None,
    times: Array | None = None,
    tell: Callable[[Any], None] = lambda event: None,
) -> Trial:
    """Search, fit and answer on one split."""
    with quietly() as notes:
        search = search_settings(entrant, data, split.train, loss, seed, groups, times, tell)
        setting = entrant.settings()[0] if search is None else search.settings[search.chosen]
        encoding, rows = learnt(entrant, data, split.train)
        model = next(iter(entrant.model(**entrant.fixed).fit_each(rows, [setting])))
        train = Answers.for_loss(model, rows, data.classes, loss)
        answers = Answers.of(model, data.encoded(encoding, split.test), data.classes)
    return Trial(
        setting=setting,
        search=search,
        answers=answers,
        test_risk=float(np.mean(row_losses(loss, data, split.test, answers))),
        train_risk=float(np.mean(row_losses(loss, data, split.train, train))),
        train_rows=len(split.train),
        complexity=float(model.complexity()),
        columns=len(encoding.outputs),
        converged=bool(getattr(model, "converged_", True)),
        notes=notes,
        model=model,
        encoding=encoding,
    )


def learnt(entrant: Entrant, data: TableData, which: Array) -> tuple[Encoding, Rows]:
    """The encoding learnt from some rows, and these rows encoded."""
    raw = data.pick(which)
    encoding = Encoding.learn(engine_for(raw), data.schema, entrant.wants, raw)
    return encoding, data.encoded(encoding, which)


def search_settings(
    entrant: Entrant,
    data: TableData,
    train: Array,
    loss: str,
    seed: int,
    groups: Array | None = None,
    times: Array | None = None,
    tell: Callable[[Any], None] = lambda event: None,
) -> Search | None:
    """Judge each setting on inner splits of the training rows; None where there is nothing to choose."""
    settings = entrant.settings()
    if len(settings) < 2:
        return None
    inner = inner_splits(data, train, seed, groups, times)
    losses: list[list[Floats]] = [[] for _ in settings]
    for number, split in enumerate(inner):
        encoding, rows = learnt(entrant, data, split.train)
        test = data.encoded(encoding, split.test)
        for k, model in enumerate(
            entrant.model(**{**entrant.prospect.rough, **entrant.fixed}).fit_each(rows, settings)
        ):
            losses[k].append(row_losses(loss, data, split.test, Answers.for_loss(model, test, data.classes, loss)))
            tell(("fits", number * len(settings) + k + 1, len(inner) * len(settings)))
    joined = np.array([np.concatenate(each) for each in losses])
    risks = joined.mean(axis=1)
    errors = joined.std(axis=1, ddof=1) / np.sqrt(joined.shape[1]) if joined.shape[1] > 1 else np.zeros(len(joined))
    choice = recommend(risks, errors, np.arange(len(settings), dtype=np.float64))
    return Search(settings, risks, errors, choice.chosen, choice.best)


def inner_splits(
    data: TableData, train: Array, seed: int, groups: Array | None = None, times: Array | None = None
) -> list[Split]:
    """Splits of the training rows: stratified folds, or by group or time where the outer ones are."""
    rows = np.unique(train)
    folds = 5 if len(rows) <= FEW else 3
    labels = None
    if data.classes is not None:
        labels = data.codes[rows]
        counts = np.bincount(labels)
        folds = max(2, min(folds, int(counts[counts > 0].min())))
    kind = "time" if times is not None else "k-fold"
    plan = Resampling(kind, folds=min(folds, max(2, len(rows))), seed=seed + 1)
    rare = data.classes is not None and np.bincount(labels)[np.unique(labels)].min() < 2  # type: ignore[arg-type]
    found = make_splits(
        plan,
        len(rows),
        y=None if rare else labels,
        groups=None if groups is None else groups[rows],
        time=None if times is None else times[rows],
    )
    return [Split(rows[s.train], rows[s.test]) for s in found]


@contextmanager
def quietly() -> Iterator[list[str]]:
    """Within, warnings are collected (each once) instead of shown."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("ignore", DataConversionWarning)
        yield notes
        notes.extend(dict.fromkeys(str(w.message) for w in caught))
