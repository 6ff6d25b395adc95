"""From the answers of all models to a verdict: risks with intervals, paired tests, a recommendation, worries, sentences.

Of a bootstrap also the .632+ estimate of the risk (Efron & Tibshirani 1997). In round b the rule is fitted to n rows drawn with
replacement; row i is in the sample N_i^b times and is tested on where I_i^b = 1{N_i^b = 0}, at loss Q_i^b. With err the risk of the
rule fitted to all rows on those rows, and γ its risk if features and targets had nothing to do with each other:

    E_i = Σ_b I_i^b Q_i^b / Σ_b I_i^b        Err1 = mean_i E_i                       (leave-one-out bootstrap)
    Err.632 = .368 err + .632 Err1           R = (Err1 − err) / (γ − err) in [0, 1]  (overfitting)
    Err.632+ = (1 − w) err + w min(Err1, γ),  w = .632 / (1 − .368 R)
"""

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
    mean_interval,
    overfitting,
    regression_scores,
    table_worries,
)
from assay.assess.distinct_rows import effective_rows, independent_share, of_distinct_rows, of_groups
from assay.assess.drift import drift_worries
from assay.assess.leaks import same_rows, target_like
from assay.assess.score import proportion, score
from assay.assess.worries import by_severity
from assay.assess.worry import Worry, evenly
from assay.certify.certificate import UNUSABLE
from assay.certify.held_out import Interval
from assay.engines import Rows, engine_for
from assay.engines.derived import row_keys
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.selection.comparison import Comparison, Entry
from assay.selection.data import Answers, row_losses
from assay.selection.recommendation import recommend
from assay.selection.sentences import sentences_of
from assay.selection.splits import each_once
from assay.tables.encoding import Encoding, EncodingSpec
from assay.tables.schema.schema import TEXTUAL

MOST_COMPARED = 50_000  # rows of each side on which leaks and drift are searched for
NEIGHBOURS = 4000
NOT_LOOKED_FOR = "The time was up before it was looked for what to worry about, and for the best possible error: a greater budget allows for it."
MOST_WORRIES = 5  # more are read by nobody, and hide the worst
NAMES = {"zero-one": "error", "log": "log loss", "brier": "Brier score", "squared": "MSE", "absolute": "MAE"}


def concerns(found: Comparison) -> list[Worry]:
    """All worries about the table, the split and the models; worst first."""
    classes = found.data.classes is not None
    codes = found.data.y if classes else found.data.codes
    some = _some(found.data.everything)
    worries = table_worries(columns_of(found.data.pick(some), found), codes[some], classes=classes)
    worries += _between_sides(found, codes, classes)
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


def _between_sides(found: Comparison, codes: Array, classes: bool) -> list[Worry]:
    """Leaks and drift between training and test rows, of the first split where there are several."""
    split = found.splits[0]
    train, test = (_some(side) for side in (each_once(split.train), split.test))
    if not len(train) or not len(test):
        return []
    columns = [columns_of(found.data.pick(side), found) for side in (train, test)]
    whole = [{**plain, **_texts(found.data.pick(side), found)} for plain, side in zip(columns, (train, test))]
    worries = same_rows(whole[0], codes[train], whole[1], codes[test], classes)
    if columns[0]:
        worries += target_like(columns[0], codes[train], columns[1], codes[test], classes)
        worries += drift_worries(*columns)
    if len(found.splits) > 1:
        where = f"In the first of {len(found.splits)} splits: "
        worries = [replace(w, detail=where + w.detail) for w in worries]
    return worries


def _of_models(found: Comparison) -> list[Worry]:
    worries: list[Worry] = []
    if found.recommended is not None and len(found.entries) == 1:  # of several, what counts was measured and won
        entry = found[found.recommended]
        if entry.train_risk is not None and entry.risk is not None:
            worries += overfitting(entry.train_risk, entry.risk)
    separable = [e.title for e in found.done if _separates(e)]
    if separable:
        worries.append(
            Worry(
                "low",
                "separable classes",
                f"A hyperplane separates the classes of the training rows ({', '.join(separable)}).",
                "Believe held-out rows only; without a penalty no likelihood has a maximum.",
            )
        )
    stopped = [e.title for e in found.done if not e.converged]
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


def columns_of(rows: Rows, found: Comparison) -> Mapping[str, Array]:
    """The columns of some rows in memory by name, as numbers and codes."""
    X: Any = rows.in_memory().X
    plain = [c.name for c in found.schema.used if c.kind not in TEXTUAL]
    dates = {c.name for c in found.schema.used if c.kind == "date"}  # moments of their own are natural
    if found.data.rows.sparse:
        X = X.columns(np.arange(len(plain))).toarray()
    return {name: X[:, j] for j, name in enumerate(plain) if name not in dates}


def _texts(rows: Rows, found: Comparison) -> Mapping[str, Array]:
    """One number a row for all its texts: equal where these hold the same words."""
    if not found.data.rows.sparse:
        return {}
    X: Any = rows.in_memory().X
    used = found.schema.used
    before = sum(c.kind not in TEXTUAL for c in used) + sum(
        c.kind == "string" for c in used
    )  # numbers, and keys of strings
    words = X.columns(np.arange(before, X.n_columns))
    marks = np.random.default_rng(0).random(words.n_columns)
    return {"texts": np.bincount(words.row_numbers(), weights=words.data * marks[words.indices], minlength=len(words))}


def _some(rows: Array) -> Array:
    return rows[evenly(len(rows), MOST_COMPARED)]


def _separates(entry: Entry) -> bool:
    """Whether a linear model makes no mistake on the rows of its fit, or says itself that some hyperplane makes none."""
    if entry.model is None:
        return False
    linear = hasattr(entry.model.model_, "coef_") and hasattr(entry.model.model_, "classes_")
    says_so = getattr(entry.model.model_, "separable_", False) in (True, "yes")
    return says_so or (
        linear and entry.train_risk is not None and entry.train_risk.name == "error" and entry.train_risk.value == 0
    )


def judged(found: Comparison, began: float) -> Comparison:
    """The comparison with everything that follows from its answers; past its deadline without what looks at rows again."""
    _judge_each(found)
    found.entries.sort(key=_place)
    if found.done:
        _rank(found)
    late = found.time_is_up
    if found.done and not late:
        found.bracket = _bracket(found)
    late = late or found.time_is_up
    try:
        found.worries = by_severity([*found.worries, *(() if late else concerns(found))])[:MOST_WORRIES]
    except UNUSABLE as error:  # a verdict without worries is better than none
        found.provenance.setdefault("notes", []).append(f"What to worry about could not be looked for: {error}")
    found.verdict = sentences_of(found) + ([NOT_LOOKED_FOR] if late and found.done else [])
    found.provenance |= {
        "assay": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "fingerprint": _fingerprint(found),
        "seconds": round(time.monotonic() - began, 3),
    }
    return found


def _place(entry: Entry) -> tuple[bool, float, float, float]:
    """For sorting: by risk, of equal risks by log loss, then the simpler first; those without a risk last."""
    risk = 0.0 if entry.risk is None else entry.risk.value
    return (not entry.done, risk, _log_loss(entry, float("inf")), entry.complexity)


def _log_loss(entry: Entry, otherwise: float = float("nan")) -> float:
    return next((s.value for s in entry.scores if s.name == "log loss"), otherwise)


def _judge_each(found: Comparison) -> None:
    """Score every model; where the first one shows that the time left will not do for the scores of all probabilities, no model has them."""
    done = [entry for entry in found.entries if entry.state == "done"]
    quickly = found.time_is_up
    for k, entry in enumerate(done):
        began = time.monotonic()
        _judge_one(entry, found, quickly)
        spent = time.monotonic() - began
        if k == 0 and not quickly and found.deadline is not None and began + spent * len(done) > found.deadline:
            quickly = True
            _judge_one(entry, found, quickly)


def _judge_one(entry: Entry, found: Comparison, quickly: bool = False) -> None:
    """Score one model; answers that cannot be scored are that model's failure, and nobody else's."""
    try:
        _score(entry, found, quickly)
        if entry.risk is not None and not np.isfinite(entry.risk.value):
            raise DataError(f"its {entry.risk.name} is not finite")
    except UNUSABLE as error:
        entry.state, entry.message, entry.risk = "failed", f"Its answers cannot be scored: {error}", None


def _score(entry: Entry, found: Comparison, quickly: bool) -> None:
    """Risk and scores of one model on the tested rows; `quickly`: no more than the risk needs."""
    answers = entry.answers
    assert answers is not None
    truth = found.data.codes[found.tested]
    if found.data.classes is not None:
        P = None if answers.P is None else np.asarray(answers.P, dtype=np.float64)
        if P is None and found.loss != "zero-one":
            entry.state, entry.message = "left out", f"gives no probabilities, which the {NAMES[found.loss]} needs"
            return
        if quickly and found.loss == "zero-one":  # of many rows the other scores take as long as a fit
            P = None
        codes = np.arange(len(found.data.classes))
        entry.scores = classification_scores(truth, answers.values, P, codes, loss=found.loss)
    else:
        entry.scores = regression_scores(truth, answers.values)
        entry.scores.sort(key=lambda s: s.name != NAMES[found.loss])
    if len(found.splits) > 1 or found.data.groups is not None or found.data.times is not None:
        # answers of several fits, or rows that hang together: intervals are those of independent rows and one fit
        rows = worth(found, entry)
        entry.scores = [of_distinct_rows(replace(s, kind="approximate"), rows) for s in entry.scores]
    if found.resampling.kind == "bootstrap":
        entry.scores += _bootstrapped(entry, found)
    entry.risk = entry.scores[0]
    entry.train_risk = _train_risk(entry, found)


def worth(found: Comparison, entry: Entry) -> float:
    """How many independent rows of one test the answers of a model are worth."""
    rows = len(each_once(found.tested))
    alone = float(rows) if len(found.splits) == 1 else effective_rows(rows, _training_rows(found))
    if found.data.groups is None:
        return alone
    assert entry.answers is not None
    losses = row_losses(found.loss, found.data, found.tested, entry.answers)
    return alone * independent_share(losses, found.data.groups[found.tested])


def _training_rows(found: Comparison) -> float:
    return float(np.mean([len(each_once(s.train)) for s in found.splits]))


def _training_units(found: Comparison) -> float:
    """Rows that a fit learns from, or groups of rows, where these hang together."""
    groups = found.data.groups
    return (
        _training_rows(found)
        if groups is None
        else float(np.mean([len(np.unique(groups[s.train])) for s in found.splits]))
    )


def _bootstrapped(entry: Entry, found: Comparison) -> list[Score]:
    """Efron and Tibshirani's .632+ estimate: the risk on rows left out, weighed against that on the rows of the fit."""
    if found.loss not in ("zero-one", "squared") or not found.data.in_memory or entry.model is None:
        return []
    everything = found.data.everything
    rows = found.data.encoded(entry.model.encoding_, everything)
    answers = Answers.for_loss(entry.model.model_, rows, found.data.classes, found.loss)
    apparent = float(row_losses(found.loss, found.data, everything, answers).mean())
    left_out = left_out_losses(found.tested, found.losses(entry.name))
    loss = found.loss
    gamma = no_information_risk(found.data.codes[everything], answers.values, loss)
    value, _, _ = combine(apparent, float(left_out.mean()), gamma)
    within = mean_interval(left_out, least=0.0)
    share = value / left_out.mean() if left_out.mean() > 0 else 1.0
    ends = Interval(within.low * share, within.high * share)
    return [score(f"{NAMES[loss]} (.632+)", value, ends, "approximate", "low", len(left_out))]


def _train_risk(entry: Entry, found: Comparison) -> Score | None:
    """The mean risk on the rows that each fit saw; None where these are not there."""
    rows = np.array([t.train_rows for t in entry.trials])
    if not rows.sum():
        return None
    risks = np.array([t.train_risk for t in entry.trials])
    value, n = float(rows @ risks / rows.sum()), int(rows.mean())
    name = NAMES[found.loss]
    if found.loss == "zero-one":
        return replace(proportion(name, round(value * n), n), value=value, kind="approximate")
    assert entry.risk is not None  # unbounded losses: as uncertain as the tested rows, but for their number
    half = (entry.risk.high - entry.risk.low) / 2 * float(np.sqrt(entry.risk.n / max(n, 1)))
    return score(name, value, Interval(max(0.0, value - half), value + half), "approximate", "low", n)


def _rank(found: Comparison) -> None:
    """The best, whether the others can be told apart from it, the simplest that is as good, and who is recommended."""
    done = found.done  # the best first: of equal risks that of the lower log loss
    losses = {e.name: found.losses(e.name) for e in done}
    found.best = done[0].name
    _tell_apart(found, losses)
    units = {name: _of_units(each, found) for name, each in losses.items()}
    best = units[found.best]
    choice = recommend(
        [e.risk.value for e in done if e.risk is not None],
        [_standard_error(units[e.name] - best, found) for e in done],
        [e.complexity for e in done],
        log_losses=[_log_loss(e) for e in done],
        baselines=[k for k, e in enumerate(done) if e.name.startswith("baseline")],
    )
    for k, entry in enumerate(done):
        entry.within = k in choice.within
    found.simplest = done[choice.simplest].name
    found.recommended = None if _without_evidence(found) else done[choice.chosen].name


def _tell_apart(found: Comparison, losses: dict[str, Floats]) -> None:
    """Every model against the best of the others, on the same rows and with one error rate for all."""
    done = found.done
    folds = len(found.splits) > 1 and all(e.fold_risks is not None for e in done)
    if folds or found.data.groups is not None:
        units = {name: _of_units(each, found) for name, each in losses.items()}
        _, tests = compare_with_best(units, best=found.best, n_train=_training_units(found) if folds else None)
    elif found.loss == "zero-one":
        answers = {e.name: e.answers.values for e in done if e.answers is not None}
        _, tests = compare_with_best(answers, best=found.best, y=found.truth)
    else:
        _, tests = compare_with_best(losses, best=found.best)
    for entry in done:
        entry.against_best = tests.get(entry.name)


def _without_evidence(found: Comparison) -> bool:
    """Whether nothing was finished but what answers without looking at the columns: that says nothing about those that were not."""
    return all(e.name.startswith("baseline") for e in found.done) and len(found.done) < len(found.entries)


def _of_rows(losses: Floats, tested: Array) -> Floats:
    """The loss of each row that was tested, the mean where it was tested several times; weighed so that the mean stays the risk."""
    if (tested[1:] > tested[:-1]).all():  # of one split: each once, in their order
        return losses
    rows, place = np.unique(tested, return_inverse=True)
    return np.asarray(np.bincount(place, weights=losses) * (len(rows) / len(tested)), dtype=np.float64)


def _of_units(losses: Floats, found: Comparison) -> Floats:
    """The losses of what is independent of each other: of rows, or of groups of rows."""
    rows, groups = _of_rows(losses, found.tested), found.data.groups
    return rows if groups is None else of_groups(rows, groups[each_once(found.tested)])


def _standard_error(values: Floats, found: Comparison) -> float:
    """Of the mean of a value a row, or group; of several fits with the correction of the paired test."""
    if len(values) < 2:
        return 0.0
    shared = 0.0 if len(found.splits) == 1 else 1.0 / _training_units(found)
    return float(values.std(ddof=1) * np.sqrt(1.0 / len(values) + shared))


def _bracket(found: Comparison) -> Any:
    """Cover and Hart's bracket from nearest neighbours among some of the rows, scaled and one-hot."""
    if found.data.classes is None:
        return None
    counted = found.data.everything
    some = np.sort(counted[np.argsort(row_keys(0, len(counted), 0), kind="stable")[:NEIGHBOURS]])
    try:
        raw = found.data.pick(some)
        encoding = Encoding.learn(engine_for(raw), found.schema, EncodingSpec("one-hot", True, False, False), raw)
        rows: Any = found.data.encoded(encoding, some).in_memory()
        return bayes_bracket(rows.X, found.data.codes[some], groups=found.data.marks_of(some)[0], most=NEIGHBOURS)
    except UNUSABLE:
        return None


def _fingerprint(found: Comparison) -> str | None:
    done = [e.model for e in found.done if e.model is not None]
    return str(done[0].model_.provenance_.get("fingerprint", "")) if done else None


def left_out_losses(tested: Array, losses: Floats) -> Floats:
    """E_i of the rows that some round left out, from the rows tested in all rounds and what each answer cost.

    >>> left_out_losses(np.array([0, 2, 2]), np.array([1.0, 0.0, 1.0])).tolist()
    [1.0, 0.5]
    """
    _, place = np.unique(tested, return_inverse=True)
    found: Floats = np.bincount(place, weights=losses) / np.bincount(place)
    return found


def combine(apparent: float, leave_one_out: float, no_information: float) -> tuple[float, float, float]:
    """Err.632+, Err.632 and R from err, Err1 and γ.

    >>> [round(v, 3) for v in combine(0.0, 0.5, 0.5)]
    [0.5, 0.316, 1.0]
    """
    plain = 0.368 * apparent + 0.632 * leave_one_out
    capped = min(leave_one_out, no_information)
    R = (capped - apparent) / (no_information - apparent) if capped > apparent else 0.0
    w = 0.632 / (1 - 0.368 * R)
    return (1 - w) * apparent + w * capped, plain, R


def no_information_risk(y: Array, answers: Array, loss: str) -> float:
    """γ: the mean loss over all pairs of a target and an answer, n² of them, from the margins alone.

        zero-one  1 − Σ_k p_k q_k  (p_k, q_k: the shares of label k among targets and answers)
        squared   mean y² − 2 mean y · mean ŷ + mean ŷ²

    >>> no_information_risk(np.array([0, 1]), np.array([1, 1]), "zero-one")
    0.5
    """
    if loss == "squared":
        centre = y.mean()
        return float(np.mean((y - centre) ** 2) + np.mean((answers - centre) ** 2))
    classes, codes = np.unique(np.concatenate([y, answers]), return_inverse=True)
    p, q = (np.bincount(side, minlength=len(classes)) / len(y) for side in np.split(codes, 2))
    return float(1 - p @ q)
