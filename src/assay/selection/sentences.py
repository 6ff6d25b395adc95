"""The verdict on a comparison in plain sentences, the most important first."""

from __future__ import annotations

from assay.assess.paired import SAME
from assay.assess.verdict import best_possible, ranking, shown, train_and_test
from assay.selection.comparison import Comparison, Entry
from assay.selection.recommendation import LITTLE


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
    if chosen is best:
        tests = {e.name: e.against_best for e in found.done if e.against_best is not None}
        return f"Take {called(chosen)}: {ranking(best.name, best.risk, tests)}{_simpler(found, best)}"
    if chosen.risk.value == best.risk.value:
        return f"Take {called(chosen)}: {chosen.risk.name} {shown(chosen.risk)}, as good as any, and the simplest such model."
    told = f"Take {called(chosen)}: its {chosen.risk.name} of {shown(chosen.risk)} cannot be told from"
    if chosen.name.startswith("baseline"):
        return f"{told} that of the best ({called(best)}, {shown(best.risk)})."
    return f"{told} the best, costs at most {LITTLE:.0%} more, and it is simpler. The best is {called(best)}, {shown(best.risk)}."


def _simpler(found: Comparison, best: Entry) -> str:
    """The simplest model within one standard error of the best, where that is another one."""
    other = found[found.simplest or best.name]
    if other is best or other.risk is None:
        return ""
    return f" The simplest within one standard error of it is {called(other)}: {other.risk.name} {shown(other.risk)}."


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
