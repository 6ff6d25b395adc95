"""From the answers of all models to a verdict: risks with intervals, paired tests, Occam's rule, worries, sentences."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from assay._version import __version__
from assay.assess import (
    Score,
    bayes_bracket,
    classification_scores,
    compare_with_best,
    overfitting,
    regression_scores,
    table_worries,
)
from assay.assess.drift import drift_worries
from assay.assess.leaks import target_like
from assay.assess.paired import SAME
from assay.assess.same_rows import same_rows
from assay.assess.score import proportion, score
from assay.assess.verdict import best_possible, ranking, shown, train_and_test
from assay.assess.worries import by_severity
from assay.assess.worry import Worry
from assay.certify.intervals import Interval
from assay.engines import Rows, engine_for
from assay.errors import AssayError
from assay.numerics import Array, Floats
from assay.select.comparison import Comparison, Entry
from assay.select.occam import recommend
from assay.select.repeated_rows import of_distinct_rows
from assay.tables.encoding import Encoding, Wants

LOOKED_AT = 50_000  # rows of each side on which leaks and drift are looked for
NEIGHBOURS = 4000
NAMES = {"zero-one": "error", "log": "log loss", "brier": "Brier score", "squared": "MSE", "absolute": "MAE"}


def judged(found: Comparison, began: float) -> Comparison:
    """The comparison with everything that follows from its answers."""
    for entry in found.entries:
        if entry.state == "done":
            _score(entry, found)
    found.entries.sort(key=lambda e: (not e.done, e.risk.value if e.risk is not None else 0.0))
    if found.done:
        _rank(found)
        found.bracket = _bracket(found)
    found.worries = _worries(found)
    found.verdict = _sentences(found)
    found.provenance |= {
        "assay": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "fingerprint": _fingerprint(found),
        "seconds": round(time.monotonic() - began, 3),
    }
    return found


def _score(entry: Entry, found: Comparison) -> None:
    """Risk and scores of one model on the tested rows."""
    answers = entry.answers
    assert answers is not None
    truth = found.data.codes[found.tested]
    if found.data.classes is not None:
        P = None if answers.P is None else np.asarray(answers.P, dtype=np.float64)
        if P is None and found.loss != "zero-one":
            entry.state, entry.message = "left out", f"gives no probabilities, which the {NAMES[found.loss]} needs"
            return
        codes = np.arange(len(found.data.classes))
        entry.scores = classification_scores(truth, answers.values, P, codes, loss=found.loss)
    else:
        entry.scores = regression_scores(truth, answers.values)
        entry.scores.sort(key=lambda s: s.name != NAMES[found.loss])
    if len(found.splits) > 1:  # answers of several fits: the interval is that of one fit, so no longer exact
        rows = len(np.unique(found.tested))
        entry.scores = [of_distinct_rows(replace(s, kind="approximate"), rows) for s in entry.scores]
    entry.risk = entry.scores[0]
    entry.train_risk = _train_risk(entry, found)


def _train_risk(entry: Entry, found: Comparison) -> Score:
    """The mean risk on the rows that each fit saw."""
    rows = np.array([t.train_rows for t in entry.trials])
    risks = np.array([t.train_risk for t in entry.trials])
    value, n = float(rows @ risks / rows.sum()), int(rows.mean())
    name = NAMES[found.loss]
    if found.loss == "zero-one":
        return replace(proportion(name, round(value * n), n), value=value)
    assert entry.risk is not None  # unbounded losses: as uncertain as the tested rows, but for their number
    half = (entry.risk.high - entry.risk.low) / 2 * float(np.sqrt(entry.risk.n / max(n, 1)))
    return score(name, value, Interval(max(0.0, value - half), value + half), "approximate", "low", n)


def _rank(found: Comparison) -> None:
    """The best, whether the others can be told apart from it, and the simplest within one standard error of it."""
    done = found.done
    losses = {e.name: found.losses(e.name) for e in done}
    if len(found.splits) > 1 and all(e.fold_risks is not None for e in done):
        sizes = np.array([len(s.test) for s in found.splits])
        # by the size of its fold, so that the mean over folds is the risk of all tested rows
        folds: dict[str, Any] = {e.name: e.fold_risks * (sizes / sizes.mean()) for e in done}
        n_train = float(np.mean([len(s.train) for s in found.splits]))
        found.best, tests = compare_with_best(folds, n_train=n_train, n_test=float(sizes.mean()))
    elif found.loss == "zero-one":
        answers = {e.name: e.answers.values for e in done if e.answers is not None}
        found.best, tests = compare_with_best(answers, y=found.truth)
    else:
        found.best, tests = compare_with_best(losses)
    for entry in done:
        entry.against_best = tests.get(entry.name)
    best = losses[found.best]
    risks = np.array([losses[e.name].mean() for e in done])
    error = _standard_error(best, len(np.unique(found.tested)))
    choice = recommend(risks, np.full(len(done), error), np.array([e.complexity for e in done]))
    for k, entry in enumerate(done):
        entry.within = k in choice.within
    found.recommended = done[choice.chosen].name


def _standard_error(values: Floats, rows: int) -> float:
    """Of a mean over answers for so many distinct rows."""
    return float(values.std(ddof=1) / np.sqrt(rows)) if rows > 1 else 0.0


def _bracket(found: Comparison) -> Any:
    """Cover and Hart's bracket from nearest neighbours among some of the rows, scaled and one-hot."""
    if found.data.classes is None:
        return None
    n = len(found.data)
    step = max(1, n // NEIGHBOURS)
    some = np.arange(0, n, step)[:NEIGHBOURS]
    try:
        raw = found.data.pick(some)
        encoding = Encoding.learn(engine_for(raw), found.schema, Wants("one-hot", True, False, False), raw)
        rows: Any = found.data.encoded(encoding, some).in_memory()
        return bayes_bracket(rows.X, found.data.codes[some], most=NEIGHBOURS)
    except (AssayError, MemoryError):
        return None


def columns_of(rows: Rows, found: Comparison) -> Mapping[str, Array]:
    """The columns of some rows in memory by name, as numbers and codes."""
    X: Any = rows.in_memory().X  # type: ignore[attr-defined]
    plain = [c.name for c in found.schema.used if c.kind != "text"]
    if found.data.rows.sparse:
        X = X.columns(np.arange(len(plain))).toarray()
    return {name: X[:, j] for j, name in enumerate(plain)}


def _texts(rows: Rows, found: Comparison) -> Mapping[str, Array]:
    """One number a row for all its texts: equal where these hold the same words."""
    if not found.data.rows.sparse:
        return {}
    X: Any = rows.in_memory().X  # type: ignore[attr-defined]
    plain = sum(c.kind != "text" for c in found.schema.used)
    words = X.columns(np.arange(plain, X.n_columns))
    marks = np.random.default_rng(0).random(words.n_columns)
    return {"texts": np.bincount(words.row_numbers(), weights=words.data * marks[words.indices], minlength=len(words))}


def _worries(found: Comparison) -> list[Worry]:
    split = found.splits[0]
    train, test = (_some(side) for side in (split.train, split.test))
    columns = [columns_of(found.data.pick(side), found) for side in (train, test)]
    codes = found.data.y if found.data.classes is not None else found.data.codes
    classes = found.data.classes is not None
    worries = table_worries(columns[0], codes[train], classes=classes)
    whole = [{**plain, **_texts(found.data.pick(side), found)} for plain, side in zip(columns, (train, test))]
    worries += same_rows(whole[0], codes[train], whole[1], codes[test], classes)
    if columns[0]:
        worries += target_like(columns[0], codes[train], columns[1], codes[test], classes)
        worries += drift_worries(*columns)
    ids = tuple(c.name for c in found.schema.columns if c.kind == "id")
    if ids:
        detail = f"{', '.join(ids[:6])}: a value of its own in (nearly) every row, so nothing can be learnt from it."
        worries.append(
            Worry(
                "low",
                "id-like columns left out",
                detail,
                "If it means something, say --kind COLUMN=category (or number).",
                ids,
            )
        )
    same = tuple(c.name for c in found.schema.columns if c.kind == "constant")
    if same:
        worries.append(
            Worry(
                "low",
                "constant columns left out",
                f"{', '.join(same[:6])}: the same in every row.",
                "Nothing, or leave them out of the table.",
                same,
            )
        )
    worries += _of_models(found)
    return by_severity(worries)


def _of_models(found: Comparison) -> list[Worry]:
    worries: list[Worry] = []
    if found.recommended is not None:
        entry = found[found.recommended]
        if entry.train_risk is not None and entry.risk is not None:
            worries += overfitting(entry.train_risk, entry.risk)
    separable = [
        e.name
        for e in found.done
        if e.model is not None and getattr(e.model.model_, "separable_", False) in (True, "yes")
    ]
    if separable:
        worries.append(
            Worry(
                "low",
                "separable classes",
                f"A hyperplane separates the classes of the training rows ({', '.join(separable)}).",
                "Believe held-out rows only; without a penalty no likelihood has a maximum.",
            )
        )
    stopped = [e.name for e in found.done if not e.converged]
    if stopped:
        worries.append(
            Worry(
                "low",
                "fits that did not converge",
                f"{', '.join(stopped)} stopped before their tolerance was reached.",
                "Their numbers are measured all the same; raise max_iter to be sure.",
            )
        )
    return worries


def _some(rows: Array) -> Array:
    return rows[:: max(1, -(-len(rows) // LOOKED_AT))]


def _fingerprint(found: Comparison) -> str | None:
    done = [e.model for e in found.done if e.model is not None]
    return str(done[0].model_._provenance.get("fingerprint", "")) if done else None


def _sentences(found: Comparison) -> list[str]:
    if not found.done:
        return ["No model was finished."]
    best, chosen = found[found.best or ""], found[found.recommended or ""]
    assert best.risk is not None
    assert chosen.risk is not None
    assert chosen.train_risk is not None
    tests = {e.name: e.against_best for e in found.done if e.against_best is not None}
    if chosen is best:
        first = f"Take {called(chosen)}: {ranking(best.name, best.risk, tests)}"
    else:
        first = (
            f"Take {called(chosen)}: its {chosen.risk.name} of {shown(chosen.risk)} lies within one standard error of the best "
            f"({best.name}, {shown(best.risk)}), and it is the simplest such model (Occam's rule)."
        )
    sentences = [first]
    if found.bracket is not None and found.loss == "zero-one":
        sentences.append(best_possible(found.bracket, chosen.risk))
    sentences.append(train_and_test(chosen.train_risk, chosen.risk))
    base = next((e for e in found.done if e.name.startswith("baseline")), None)
    if base is not None and base.risk is not None and base is not chosen:
        gain = 1 - chosen.risk.value / base.risk.value if base.risk.value > 0 else 0.0
        same = base.against_best is not None and base.against_best.verdict == SAME
        sentences.append(
            f"Always giving the same answer has {base.risk.name} {shown(base.risk)}: the model takes away {gain:.0%} of that"
            f"{', though the rows cannot tell even that from the best' if same else ''}."
        )
    elif base is chosen:
        sentences.append(
            "No model can be shown to beat always giving the same answer: the columns may say nothing about the target."
        )
    return sentences


def called(entry: Entry) -> str:
    """A model with the settings that the search chose.

    >>> called(Entry("linear-svc", "done", setting={"C": 10.0}))
    'linear-svc (C=10)'
    """
    words = [f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in entry.setting.items()]
    return f"{entry.name} ({', '.join(words)})" if words else entry.name
