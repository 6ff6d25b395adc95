"""From the answers of all models to a verdict: risks with intervals, paired tests, Occam's rule, worries, sentences.

Occam's rule: of the models that cannot be told from the best, take the simplest (Breiman et al. 1984, §3.4.3),

    chosen = argmin { complexity_i : R_i ≤ R_best + SE }

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
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from assay._version import __version__
from assay.assess import (
    Score,
    bayes_bracket,
    classification_scores,
    compare_with_best,
    mean_interval,
    regression_scores,
)
from assay.assess.distinct_rows import of_distinct_rows
from assay.assess.paired import SAME
from assay.assess.score import proportion, score
from assay.assess.verdict import best_possible, ranking, shown, train_and_test
from assay.assess.worries import by_severity
from assay.certify.certificate import UNUSABLE
from assay.certify.intervals import Interval
from assay.engines import engine_for
from assay.engines.split import row_keys
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.selection.comparison import Comparison, Entry
from assay.selection.concerns import concerns
from assay.selection.data import Answers, row_losses
from assay.tables.encoding import Encoding, EncodingSpec

NEIGHBOURS = 4000
NAMES = {"zero-one": "error", "log": "log loss", "brier": "Brier score", "squared": "MSE", "absolute": "MAE"}


def judged(found: Comparison, began: float) -> Comparison:
    """The comparison with everything that follows from its answers."""
    for entry in found.entries:
        if entry.state == "done":
            _judge_one(entry, found)
    found.entries.sort(key=lambda e: (not e.done, e.risk.value if e.risk is not None else 0.0, e.complexity))
    if found.done:
        _rank(found)
        found.bracket = _bracket(found)
    try:
        found.worries = by_severity([*found.worries, *concerns(found)])
    except UNUSABLE as error:  # a verdict without worries is better than none
        found.provenance.setdefault("notes", []).append(f"What to worry about could not be looked for: {error}")
    found.verdict = _sentences(found)
    found.provenance |= {
        "assay": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "fingerprint": _fingerprint(found),
        "seconds": round(time.monotonic() - began, 3),
    }
    return found


def _judge_one(entry: Entry, found: Comparison) -> None:
    """Score one model; answers that cannot be scored are that model's failure, and nobody else's."""
    try:
        _score(entry, found)
        if entry.risk is not None and not np.isfinite(entry.risk.value):
            raise DataError(f"its {entry.risk.name} is not finite")
    except UNUSABLE as error:
        entry.state, entry.message, entry.risk = "failed", f"Its answers cannot be scored: {error}", None


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
    if len(found.splits) > 1 or found.data.groups is not None or found.data.times is not None:
        # answers of several fits, or rows that hang together: intervals are those of independent rows and one fit
        rows = len(np.unique(found.tested))
        entry.scores = [of_distinct_rows(replace(s, kind="approximate"), rows) for s in entry.scores]
    if found.resampling.kind == "bootstrap":
        entry.scores += _bootstrapped(entry, found)
    entry.risk = entry.scores[0]
    entry.train_risk = _train_risk(entry, found)


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
    """The best, whether the others can be told apart from it, and the simplest within one standard error of it."""
    done = found.done
    losses = {e.name: found.losses(e.name) for e in done}
    if len(found.splits) > 1 and all(e.fold_risks is not None for e in done):
        n_train = float(np.mean([len(np.unique(s.train)) for s in found.splits]))
        rows = {name: _of_rows(each, found.tested) for name, each in losses.items()}
        found.best, tests = compare_with_best(rows, n_train=n_train)
    elif found.loss == "zero-one":
        answers = {e.name: e.answers.values for e in done if e.answers is not None}
        found.best, tests = compare_with_best(answers, y=found.truth)
    else:
        found.best, tests = compare_with_best(losses)
    for entry in done:
        entry.against_best = tests.get(entry.name)
    risks = np.array([losses[e.name].mean() for e in done])
    best = _of_rows(losses[found.best], found.tested)
    # within one standard error of the best risk (Breiman's rule), and of the difference to it where that is known better
    own = float(best.std(ddof=1) / np.sqrt(len(best))) if len(best) > 1 else 0.0
    apart = [min(own, _standard_error(_of_rows(losses[e.name], found.tested) - best, found)) for e in done]
    sizes = np.array([e.complexity for e in done])
    choice = recommend(risks, np.full(len(done), own), sizes, difference_errors=np.array(apart))
    for k, entry in enumerate(done):
        entry.within = k in choice.within
    found.recommended = None if _without_evidence(found) else done[choice.chosen].name


def _without_evidence(found: Comparison) -> bool:
    """Whether nothing was finished but what answers without looking at the columns: that says nothing about those that were not."""
    return all(e.name.startswith("baseline") for e in found.done) and len(found.done) < len(found.entries)


def _of_rows(losses: Floats, tested: Array) -> Floats:
    """The loss of each row that was tested, the mean where it was tested several times; weighed so that the mean stays the risk."""
    rows, place = np.unique(tested, return_inverse=True)
    return np.asarray(np.bincount(place, weights=losses) * (len(rows) / len(tested)), dtype=np.float64)


def _standard_error(values: Floats, found: Comparison) -> float:
    """Of the mean of a value a row; of several fits with the correction of the paired test."""
    if len(values) < 2:
        return 0.0
    shared = 0.0 if len(found.splits) == 1 else 1.0 / float(np.mean([len(np.unique(s.train)) for s in found.splits]))
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


def _sentences(found: Comparison) -> list[str]:
    """What was found, in words; the most important first."""
    if not found.done:
        return ["No model was finished." + _unfinished(found)]
    if found.recommended is None:
        return [
            f"Nothing but the baseline was finished, so that no model can be recommended.{_unfinished(found)}{_way_on(found)}"
        ]
    best, chosen = found[found.best or ""], found[found.recommended or ""]
    assert best.risk is not None
    assert chosen.risk is not None
    sentences = [_first(found, best, chosen)]
    if _unfinished(found):
        sentences.append(_unfinished(found).strip())
    if found.bracket is not None and found.loss == "zero-one":
        sentences.append(best_possible(found.bracket, chosen.risk))
    r2 = next((s for s in chosen.scores if s.name == "R²"), None)
    if r2 is not None:
        sentences.append(f"It explains {max(0.0, r2.value):.0%} of the target's variance (R² {shown(r2)}).")
    if chosen.train_risk is not None:
        sentences.append(train_and_test(chosen.train_risk, chosen.risk))
    sentences += _against_baseline(found, chosen)
    if len(found.done) > 2:
        sentences.append(
            f"The best of {len(found.done)} was picked on these rows, which flatters it a little: each interval is that of its model alone."
        )
    return sentences


def _first(found: Comparison, best: Entry, chosen: Entry) -> str:
    """Which model to take, and why."""
    assert best.risk is not None
    assert chosen.risk is not None
    if len(found.entries) == 1:
        on = {
            "rows of the fit": " on the very rows of its fit (see its certificate for new rows)",
            "another table": " on this table",
        }
        where = on.get(str(found.question.get("judged_on")), "")
        return f"{called(chosen)}: {chosen.risk.name} {shown(chosen.risk)}{where}."
    tests = {e.name: e.against_best for e in found.done if e.against_best is not None}
    if chosen is best:
        return f"Take {called(chosen)}: {ranking(best.name, best.risk, tests)}"
    if chosen.risk.value == best.risk.value:
        return f"Take {called(chosen)}: {chosen.risk.name} {shown(chosen.risk)}, as good as any, and the simplest such model."
    return (
        f"Take {called(chosen)}: its {chosen.risk.name} of {shown(chosen.risk)} lies within one standard error of the best "
        f"({best.name}, {shown(best.risk)}), and it is the simplest such model (Occam's rule)."
    )


def _unfinished(found: Comparison) -> str:
    """Which models have no risk, and why."""
    lost = [f"{e.name} ({e.state})" for e in found.entries if not e.done]
    return f" Not finished: {', '.join(lost)}." if lost else ""


def _way_on(found: Comparison) -> str:
    """What to change where too little was finished."""
    states = {e.state for e in found.entries}
    if states & {"timeout", "out of time"}:
        return " Give them more time (timeout, budget), or compare quicker ones (models)."
    return " Give them more memory, or compare smaller ones (models)." if "memory" in states else ""


def _against_baseline(found: Comparison, chosen: Entry) -> list[str]:
    base = next((e for e in found.done if e.name.startswith("baseline")), None)
    if base is None or base.risk is None or chosen.risk is None:
        return []
    same = base.against_best is None or base.against_best.verdict == SAME
    if base is not chosen:
        gain = 1 - chosen.risk.value / base.risk.value if base.risk.value > 0 else 0.0
        doubt = ", though the rows cannot tell even that from the best" if same else ""
        return [
            f"Always giving the same answer has {base.risk.name} {shown(base.risk)}: the model takes away {gain:.0%} of that{doubt}."
        ]
    if len(found.entries) == 1:
        return []
    if same:
        return [
            "No model can be shown to beat always giving the same answer: the columns may say nothing about the target."
        ]
    return ["Always giving the same answer is nearly as good: the columns say little about the target."]


def called(entry: Entry) -> str:
    """A model with the settings that the search chose.

    >>> called(Entry("linear-svc", "done", setting={"C": 10.0}))
    'linear-svc (C=10)'
    """
    words = [f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in entry.setting.items()]
    return f"{entry.name} ({', '.join(words)})" if words else entry.name


class OccamChoice(NamedTuple):
    """Numbers of the model of least risk, of the recommended one, and of all within one standard error; the risk up to there."""

    best: int
    chosen: int
    within: list[int]
    threshold: float


def recommend(risks: Any, standard_errors: Any, complexities: Any, *, difference_errors: Any = None) -> OccamChoice:
    """The simplest model whose risk is within one standard error of the least.

    SE is the best one's, or, where risks were measured on the same rows, that of the difference to the best:
    `difference_errors`, one a model or a matrix of all pairs, NaN where it is not known. A risk that is NaN (a
    failed fit) takes no part; a complexity that is NaN counts as the greatest. Equal complexity: the lower risk.

    >>> recommend([0.125, 0.25, 0.5], [0.125, 0.1, 0.1], [50, 3, 1])
    OccamChoice(best=0, chosen=1, within=[0, 1], threshold=0.25)
    """
    R, errors, size = (np.asarray(a, dtype=np.float64) for a in (risks, standard_errors, complexities))
    if not R.shape == errors.shape == size.shape or R.ndim != 1:
        raise DataError(f"Risks, errors and complexities must be as many: {R.shape}, {errors.shape}, {size.shape}.")
    if not np.isfinite(R).any():
        raise DataError("No model has a risk, so none can be recommended: every fit has failed.")
    R = np.where(np.isnan(R), np.inf, R)
    size = np.where(np.isnan(size), np.inf, size)
    best = int(np.lexsort((size, R))[0])
    error = float(np.nan_to_num(errors[best], nan=0.0))
    allowed = _allowed(len(R), best, error, difference_errors)
    within = np.flatnonzero(np.isfinite(R) & (R - R[best] <= allowed))
    chosen = int(within[np.lexsort((R[within], size[within]))[0]])
    return OccamChoice(best, chosen, within.tolist(), float(R[best]) + error)


def _allowed(n: int, best: int, error: float, difference_errors: Any) -> Floats:
    """How far above the best each risk may be; the best itself is always within."""
    allowed = np.full(n, error)
    if difference_errors is not None:
        known = np.asarray(difference_errors, dtype=np.float64)
        known = known[best] if known.ndim == 2 else known
        if known.shape != (n,):
            raise DataError(f"There are {n} models, but standard errors of the differences of shape {known.shape}.")
        allowed = np.where(np.isnan(known), allowed, known)
    allowed[best] = max(allowed[best], 0.0)
    return allowed


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
