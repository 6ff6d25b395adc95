"""The verdict on a comparison in plain sentences, the most important first."""

from __future__ import annotations

from assay.assess.paired import SAME
from assay.assess.verdict import best_possible, grouped, in_unit, ranking, shown, train_and_test
from assay.selection.comparison import Comparison, Entry
from assay.selection.recommendation import LITTLE

TESTED = {
    "rows of the fit": "rows that the model was fitted on",
    "another table": "rows of another table than that of the fit",
    "held-out rows": "rows that the fit never saw",
    "measured fit": "rows that the measured fit never saw (the model itself is then fitted on all rows)",
}


def sentences_of(found: Comparison) -> list[str]:
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
    known = {score.name: score for score in chosen.scores}
    if "R²" in known:
        share = (
            f"It explains {max(0.0, known['R²'].value) * 100:.0f} % of the target's variance (R² {shown(known['R²'])})"
        )
        sentences.append(f"{share} and is off by {shown(known['MAE'])} on average (MAE).")
    if chosen.train_risk is not None:
        sentences.append(train_and_test(chosen.train_risk, chosen.risk))
    sentences += _against_baseline(found, chosen)
    if len(found.done) > 2:
        sentences.append(
            f"The best of {len(found.done)} was picked on these rows, which flatters it a little: each interval is that of its model alone.{_picked(found)}"
        )
    return sentences


def _picked(found: Comparison) -> str:
    """What being called worse means although the best was picked on the same rows (assess/with_best.py)."""
    told = any(e.against_best is not None and e.against_best.verdict != SAME for e in found.done)
    return (
        " Who is called worse is so with that in mind: with 95 % confidence the really best is none of them."
        if told
        else ""
    )


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
        return f"{chosen.called}: {_risk(chosen)}{where}."
    if chosen is best:
        tests = {e.title: e.against_best for e in found.done if e.against_best is not None}
        return f"Take {chosen.called}: {ranking(best.risk, tests)}{_simpler(found, best)}"
    if chosen.risk.value == best.risk.value:
        return f"Take {chosen.called}: {_risk(chosen)}, as good as any, and the simplest such model."
    told = f"Take {chosen.called}: {_risk(chosen)}"
    if chosen.name.startswith("baseline"):
        return f"{told}. The best, {best.called}, has {shown(best.risk)}: no more than one standard error better."
    return f"{told}. It is simpler than the best ({best.called}, {shown(best.risk)}) and costs at most {LITTLE * 100:.0f} % more."


def _risk(entry: Entry) -> str:
    """The risk by its name, with its interval."""
    assert entry.risk is not None
    return f"{in_unit(entry.risk).name} {shown(entry.risk)}"


def _simpler(found: Comparison, best: Entry) -> str:
    """The simplest model within one standard error of the best, where that is another one."""
    other = found[found.simplest or best.name]
    if other is best or other.risk is None:
        return ""
    return f" The simplest within one standard error of it: {other.called}, {_risk(other)}."


def _unfinished(found: Comparison) -> str:
    """Which models have no risk, and why."""
    lost = [f"{e.title} ({e.state})" for e in found.entries if not e.done]
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
        left, all_of_it = in_unit(chosen.risk).value, in_unit(base.risk).value
        gain = 1 - left / all_of_it if all_of_it > 0 else 0.0
        doubt = ", though the rows cannot tell even that from the best" if same else ""
        return [
            f"Always giving the same answer has {_risk(base)}: the model takes away {gain * 100:.0f} % of that{doubt}."
        ]
    if len(found.entries) == 1:
        return []
    if same:
        return [
            "No model can be shown to beat always giving the same answer: the columns may say nothing about the target."
        ]
    return ["Always giving the same answer is nearly as good: the columns say little about the target."]


def measured_on(found: Comparison) -> str:
    """By which answers a risk was measured, short enough for an axis: 'on 300 held-out rows', 'by 10-fold cross-validation'."""
    plan, group = found.resampling, found.question.get("group")
    if found.question.get("judged_on") in ("rows of the fit", "another table"):
        return f"on {TESTED[found.question['judged_on']]}"
    kept = ", groups kept whole" if group else ""
    if plan.kind == "holdout":
        rows = f"{grouped(len(found.tested))} held-out rows"
        return f"on the {rows}, the latest" if found.question.get("time") else f"on {rows}{kept}"
    if plan.kind == "leave-one-out":
        return f"by leaving out one {'group' if group else 'row'} at a time"
    if plan.kind == "bootstrap":
        return f"on rows left out of {len(found.splits)} bootstrap samples{kept}"
    if plan.kind == "time":
        return f"on later rows than learnt from, in {len(found.splits)} steps"
    if plan.kind == "given":
        return f"on the test rows of {len(found.splits)} given splits"
    times = f"{plan.repeats} times " if plan.repeats > 1 else ""
    return f"by {times}{plan.folds}-fold cross-validation{kept}"
