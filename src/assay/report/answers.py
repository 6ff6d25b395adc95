"""What a model answered on the tested rows: scores, confusion or residuals, curves, calibration, classes and groups, worst rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay import plots
from assay.assess.verdict import percent
from assay.engines import ArrayRows, SparseMatrix
from assay.report.markup import (
    LOSSES,
    Html,
    alone,
    amount,
    el,
    exactness,
    figure,
    folded,
    interval,
    join,
    paragraphs,
    pill,
    plain,
    section,
    side_by_side,
    table,
    tested_rows,
    with_interval,
)
from assay.selection.comparison import Comparison, Entry
from assay.selection.details import Details

MOST_CLASSES = 40  # in a table; more are folded away
CELL = 60
EXPLAINED = 200  # rows whose SHAP values are averaged


def scores_section(details: Details) -> Html | None:
    """All scores; of a single model they stand at the head of the page."""
    if alone(details.comparison) is not None:
        return None
    return section("Scores", *scores_table(details.entry, details.comparison), level=3)


def scores_table(entry: Entry, found: Comparison) -> tuple[Html, Html]:
    """All scores with their intervals and how exact each is, and how to read them."""
    loss = found.loss
    rows = [
        (s.name, amount(s, s.value), interval(s), exactness(s), "lower" if s.better == "low" else "higher", plain(s.n))
        for s in entry.scores
    ]
    train = entry.train_risk
    if train is not None and rows:
        rows.insert(
            1,
            (
                f"{train.name} on training rows",
                amount(train, train.value, loss),
                interval(train, loss),
                exactness(train),
                "lower",
                plain(train.n),
            ),
        )
    head = ("score", "value", "95 % interval", "interval is", "better is", "rows")
    note = "Exact: at least 95 % for any number of independent rows. Approximate: about 95 % where rows are many."
    caption = f"On {tested_rows(found)}" + (", unless said otherwise" if train is not None else "")
    return table(caption, head, rows, numbers=(1, 2, 5)), paragraphs(note)


def mistakes_section(details: Details) -> Html | None:
    """Which answers are wrong, and by how much."""
    if details.confusion is None:
        return section("Residuals", side_by_side(*_regression(details)), level=3)
    C = np.asarray(details.confusion)
    names = [str(c) for c in np.asarray(details.comparison.data.classes).tolist()]
    off = C - np.diag(np.diag(C))
    i, j = np.unravel_index(int(off.argmax()), off.shape)
    worst = (
        f" Most often {names[i]} is taken for {names[j]} ({plain(int(off[i, j]))} times)."
        if off.any()
        else " None is wrong."
    )
    drawn = figure(
        "Confusion",
        f"{plain(int(np.trace(C)))} of {plain(int(C.sum()))} answers are right.{worst}",
        lambda: plots.confusion(C, names),
        key=details.entry.name,
    )
    return section("Right and wrong", side_by_side(drawn, _calibration(details)), level=3)


def _regression(details: Details) -> tuple[Html, Html]:
    y, p = details.comparison.truth, np.asarray(details.answered, dtype=np.float64)
    r = y - p
    middle = f"The median residual is {plain(float(np.median(r)))}; half of them lie within {plain(float(np.median(np.abs(r))))} of zero."
    both = np.corrcoef(y, p)[0, 1] if y.std() > 0 and p.std() > 0 else float("nan")
    return (
        figure("Residuals", middle, lambda: plots.residuals(y, p), key=details.entry.name),
        figure(
            "Predicted against true",
            f"On the line every answer would be right. Correlation {plain(float(both))}.",
            lambda: plots.predicted_against_true(y, p),
            key=details.entry.name,
        ),
    )


def curves_section(details: Details) -> Html | None:
    """ROC, precision and recall, thresholds: of two classes."""
    if details.roc is None or details.precision_recall is None:
        return None
    roc, recall, cut = details.roc, details.precision_recall, details.thresholds
    classes = np.asarray(details.comparison.data.classes).tolist()
    share = float(np.mean(details.truth == classes[1]))
    key, positive = details.entry.name, f"Positive is {classes[1]}."
    figures = [
        figure("ROC", f"{positive} Area {with_words(roc.area)}.", lambda: plots.roc(roc), key=key),
        figure(
            "Precision and recall",
            f"{positive} Average precision {with_words(recall.area)}; guessing has {percent(share)}.",
            lambda: plots.precision_recall(recall, prevalence=share),
            key=key,
        ),
    ]
    if cut is not None:
        figures.append(
            figure(
                "Thresholds",
                f"Where a false alarm costs as much as a miss, the cheapest threshold on these rows is {plain(cut.best)}, with a cost of "
                f"{with_words(cut.best_cost)} a row (optimistic: it was chosen on the rows it is measured on).",
                lambda: plots.thresholds(cut),
                key=key,
            )
        )
    return section("Trade-offs", side_by_side(*figures), level=3)


def with_words(score: Any) -> str:
    """Value and interval in a sentence."""
    return f"{amount(score, score.value)} ({interval(score)})"


def _calibration(details: Details) -> Html | None:
    found = details.reliability
    if found is None:
        return None
    K = len(np.asarray(details.comparison.data.classes))
    asked = "the second class" if K == 2 else "the most probable class"
    return figure(
        "Calibration",
        f"Do things given p happen a share p of the time? Probabilities of {asked}; expected calibration error {with_words(found.error)}.",
        lambda: plots.calibration(found),
        key=details.entry.name,
    )


def parts_section(details: Details) -> Html | None:
    """Risk of each class and of each group."""
    classes = [
        (c.label, plain(c.n), with_interval(c.precision), with_interval(c.recall), with_interval(c.f1))
        for c in details.per_class
    ]
    listed: Html | None = None
    if classes:
        head = ("class", "rows", "precision", "recall", "F1")
        kind = "exact" if len(details.comparison.splits) == 1 else "approximate"
        listed = table(f"Each class, with {kind} 95 % intervals", head, classes, numbers=(1, 2, 3, 4))
        if len(classes) > MOST_CLASSES:
            listed = folded(f"All {len(classes)} classes", listed)
    groups = [_group(name, details) for name in details.groups]
    note = (
        f"All rows: {with_words(details.entry.risk)}. Groups are the values or ranges of the columns that matter most, worst first. Of many "
        "groups one looks bad by chance: each interval holds by itself."
    )
    boxes = el("div", *groups, class_="figures") if groups else None
    return section("Classes and groups", listed, boxes, paragraphs(note) if groups else None, level=3)


def _group(name: str, details: Details) -> Html:
    """A table of the groups that one column makes."""
    loss = details.comparison.loss
    rows = [
        (g.group, join(plain(g.risk.n), " ", pill("few", "mild") if g.small else None), with_interval(g.risk, loss))
        for g in details.groups[name]
    ]
    return table(f"Risk by {name}", (name, "rows", LOSSES.get(loss, loss)), rows, numbers=(1, 2))


def worst_section(details: Details) -> Html | None:
    """The rows with the greatest loss."""
    worst = details.worst
    if not worst:
        return section("Errors to look at", paragraphs("No tested row was answered wrongly."), level=3)
    important = [i.name for i in details.importance]
    order = sorted(worst[0].values, key=lambda c: important.index(c) if c in important else len(important))
    columns = order[:8]
    with_p = worst[0].probability is not None
    head = ("row", "true", "answered", *(("probability of the truth",) if with_p else ()), "loss", *columns)
    rows = [
        (
            plain(w.row),
            _cell(w.truth),
            _cell(w.answer),
            *((percent(w.probability or 0.0),) if with_p else ()),
            plain(w.loss),
            *(_cell(w.values[c]) for c in columns),
        )
        for w in worst
    ]
    hidden = len(worst[0].values) - len(columns)
    note = "Rows are counted from 0, without the header. A wrong target, a typing mistake or a rare kind of row often shows here."
    more = f" {hidden} less important columns are not shown." if hidden > 0 else ""
    return section(
        "Errors to look at", table("The tested rows that cost most", head, rows), paragraphs(note + more), level=3
    )


def _cell(value: Any) -> str:
    said = plain(value.item() if isinstance(value, np.generic) else value)
    return said if len(said) <= CELL else said[: CELL - 1] + "…"


def importance_figure(details: Details) -> tuple[Html | None, str]:
    """What the columns are worth to the model, and how to read it."""
    found = details.importance
    if not found:
        return None, ""
    best, columns = found[0], len(details.comparison.schema.used)
    drawn = figure(
        "Importance of the columns",
        f"By how much the risk grows when a column is shuffled, with approximate 95 % intervals on {plain(best.increase.n)} rows. Greatest: "
        f"{best.name}, {plain(best.increase.value)}.",
        lambda: plots.importance(
            [i.name for i in found],
            [i.increase.value for i in found],
            [i.increase.low for i in found],
            [i.increase.high for i in found],
        ),
        key=details.entry.name,
    )
    note = (
        "Importance is what a column is worth to this model, no more: of columns that say much the same each looks dispensable while "
        "the others are there."
    )
    if columns > len(details.shuffled):
        note += f" Of {plain(columns)} columns the {len(details.shuffled)} that go most with the target by themselves were shuffled."
    model, rows = details.unseen
    if model is details.model:
        note += " The columns were shuffled in rows that were tested"
        note += ", which the model has learnt from too." if details.fitted_on_tested_rows else "."
    else:
        note += (
            f" The columns were shuffled in {plain(len(rows))} rows, for a fit with the same settings that has learnt from other rows alone: "
            "the model handed over knows these by heart."
        )
    return drawn, note


def shap_figure(details: Details) -> tuple[Html | None, str]:
    """What the columns add to the answers for rows that the fit never saw, as far as the model has SHAP values: trees have; and whether they add up."""
    model, rows = details.unseen
    inner = model.model_
    if not hasattr(inner, "shap_certificate") or isinstance(rows.X, SparseMatrix) or model.encoding_.sparse:
        return None, ""
    encoded = model.encoding_.rows(ArrayRows(rows.X[:EXPLAINED]))
    stated = inner.shap_certificate(encoded)
    (verdict,), values = stated.verify(encoded), stated["SHAP values"].witness["values"]
    of = "the score" if hasattr(inner, "baseline_") else "the answer" if values.ndim == 2 else "the probabilities"
    drawn = figure(
        "What the columns add",
        f"The mean size of the exact SHAP values of {plain(len(values))} rows, in units of {of}.",
        lambda: plots.shap_importance(values, list(model.encoding_.names or ()) or None),
        key=f"{details.entry.name} shap",
    )
    checked = "was checked by walking the trees again" if verdict.holds else f"FAILS: {verdict.reason}"
    return drawn, f"That base and SHAP values add up to {of} of every row {checked}."
