"""From the answers of all models to a verdict: risks with intervals, paired tests, Occam's rule, worries, sentences."""

from __future__ import annotations

import platform
import time
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
    regression_scores,
)
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
from assay.select.bootstrap import combine, left_out_losses, no_information_risk
from assay.select.comparison import Comparison, Entry
from assay.select.concerns import concerns
from assay.select.occam import recommend
from assay.select.repeated_rows import of_distinct_rows
from assay.select.row_losses import Answers, row_losses
from assay.tables.encoding import Encoding, Wants

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
    if len(found.splits) > 1 or found.groups is not None or found.times is not None:
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
    found.recommended = done[choice.chosen].name


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
        encoding = Encoding.learn(engine_for(raw), found.schema, Wants("one-hot", True, False, False), raw)
        rows: Any = found.data.encoded(encoding, some).in_memory()
        return bayes_bracket(
            rows.X, found.data.codes[some], groups=None if found.groups is None else found.groups[some], most=NEIGHBOURS
        )
    except UNUSABLE:
        return None


def _fingerprint(found: Comparison) -> str | None:
    done = [e.model for e in found.done if e.model is not None]
    return str(done[0].model_.provenance_.get("fingerprint", "")) if done else None


def _sentences(found: Comparison) -> list[str]:
    """What was found, in words; the most important first."""
    if not found.done:
        return ["No model was finished." + _unfinished(found)]
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
