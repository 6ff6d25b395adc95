"""The first part of the report: verdict, ranking and what to worry about on one page, then risks in a picture, what is possible at best,
and the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay import plots
from assay.assess import Score
from assay.assess.verdict import best_possible, in_unit, percent, span, tells
from assay.report.answers import scores_table
from assay.report.markup import (
    LOSSES,
    Html,
    alone,
    amount,
    anchor,
    el,
    exactness,
    figure,
    folded,
    interval,
    items,
    join,
    of_fit,
    paragraphs,
    pill,
    plain,
    section,
    setting_words,
    side_by_side,
    span_of_time,
    table,
    tested_rows,
)
from assay.selection.comparison import Comparison, Entry
from assay.selection.recommendation import LITTLE
from assay.selection.sentences import measured_on
from assay.selection.text import BESIDE, against
from assay.tables.schema.text import missing_share, summary, values_text

OF_PROBABILITIES = ("log loss", "Brier score")
UNITS = {**LOSSES, "squared": "RMSE", "absolute": "MAE"}  # of what is shown: a mean of squares as its root
TONES = {"high": "bad", "medium": "mild", "low": "soft"}
SEVERITY = {
    "high": "the numbers may be wrong",
    "medium": "the numbers may not hold on new rows",
    "low": "worth knowing",
}
MOST_COLUMNS = 200
FLATTERED = (
    "These are rows that the model was fitted on: every number here flatters it, and says little of new rows. Judge it on rows it never "
    "saw: another table, or a part held out at the fit."
)


def head_lines(found: Comparison) -> Html:
    """What was asked, and the verdict: one sentence, then the others."""
    asked = f"{plain(len(found.data))} rows, {found.task}; judged by {LOSSES.get(found.loss, found.loss)}, {_tested(found)}."
    verdict = found.verdict or ["No model was finished."]
    stopped = (
        "The comparison was interrupted: models that were not finished are missing." if found.interrupted else None
    )
    return join(
        el("p", asked, class_="soft"),
        el("p", FLATTERED, class_="bad") if of_fit(found) else None,
        el("p", stopped, class_="bad") if stopped else None,
        el("p", verdict[0], class_="verdict", role="doc-abstract"),
        paragraphs(*verdict[1:]),
    )


def _tested(found: Comparison) -> str:
    rows = plain(len(found.tested))
    if found.question.get("judged_on") in ("rows of the fit", "another table"):
        return f"on {tested_rows(found)} (all {rows} of them)"
    return f"{measured_on(found)}: {rows} answers for {tested_rows(found)}"


# --- ranking ----------------------------------------------------------------------------------------------------------


def ranking_section(found: Comparison) -> Html | None:
    """All models, the best first. Of a single model its scores."""
    only = alone(found)
    if only is not None and only.done:
        return section("Scores", *scores_table(only, found), id_="ranking")
    rows = [_ranked(entry, found) for entry in found.entries]
    if not rows:
        return section("Ranking", paragraphs("No model took part."), id_="ranking")
    risk = UNITS.get(found.loss, found.loss)
    beside = _beside(found)
    head = ("model", risk, "95 % interval", *beside, "training", "against the best", "settings", "time")
    k = len(beside)
    caption = f"Models ranked: {risk} {measured_on(found)}; the recommended one is marked."
    words = (
        "Recommended is the best model, or the simplest of those within one standard error of the paired difference to it that cost at most "
        f"{LITTLE:.0%} more. Each model is "
        "compared, on the same rows, with the best of the others (Hsu's multiple comparisons with the best): with 95 % confidence the model that is "
        "really the best is none of those called worse. That holds although the best was picked on these rows, since whichever model is "
        "really the best could only be called worse by its own differences from the others, and all of these are tested together."
    )
    return section(
        "Ranking",
        table(  # nine columns leave no room for a wide one
            caption, head, rows, numbers=(*range(1, k + 4), k + 6), wide=() if k > 1 else (k + 5,), screen=(k + 5,)
        ),
        paragraphs(words),
        id_="ranking",
    )


def picture_section(found: Comparison) -> Html | None:
    """The risks of the models that were finished, and who did not take part."""
    drawn = side_by_side(_picture(found)) if found.done and alone(found) is None else None
    return section("Risk of every model", drawn, _left_out(found), id_="risks")


def _ranked(entry: Entry, found: Comparison) -> list[Any]:
    if not entry.done or entry.risk is None:
        took = f" (after {span_of_time(entry.seconds)})" if entry.seconds >= 0.01 else ""
        return [entry.title, join(pill(entry.state, "bad"), f" {entry.message}{took}")]
    chosen = entry.name == found.recommended
    name = el("a", entry.title, href=f"#{anchor(entry.name)}")
    return [
        join(name, " ", el("span", "recommended", class_="pill good mark")) if chosen else name,
        el("strong", in_words(entry.risk, found.loss)),
        interval(in_unit(entry.risk), found.loss),
        *_others(entry, _beside(found)),
        "–" if entry.train_risk is None else in_words(entry.train_risk, found.loss),
        join(
            against(entry),
            el("span", " (within one standard error)", class_="soft")
            if entry.within and not chosen and entry.name != found.best
            else None,
        ),
        setting_words(entry.setting),
        span_of_time(entry.seconds),
    ]


def in_words(risk: Score, loss: str) -> str:
    """A risk as people say it: in per cent, or in the target's own unit."""
    said = in_unit(risk)
    return amount(said, said.value, loss)


def _beside(found: Comparison) -> list[str]:
    """Which scores people look at beside the risk: of numbers MAE and R²; of classes how good the probabilities are."""
    names = BESIDE.get(found.loss, ()) if found.task == "regression" else OF_PROBABILITIES
    return [name for name in names if name != LOSSES.get(found.loss)]


def _others(entry: Entry, names: Sequence[str]) -> list[str]:
    """Further scores of a model."""
    known = {s.name: s for s in entry.scores}
    return [amount(known[name], known[name].value) if name in known else "–" for name in names]


def _picture(found: Comparison) -> Html:
    done = [e for e in found.done if e.risk is not None]
    risks = [in_unit(e.risk) for e in done if e.risk is not None]
    said = "; ".join(
        f"{e.title} {amount(r, r.value, found.loss)} ({interval(r, found.loss)})" for e, r in zip(done, risks)
    )
    return figure(
        "Ranking in a picture",
        f"With 95 % intervals ({exactness(risks[0])}): {said}.",
        lambda: ranking_axes(found),
        caption=f"With 95 % intervals ({exactness(risks[0])}).",
    )


def ranking_axes(found: Comparison, ax: Any = None) -> Any:
    """Axes with the risk of every finished model."""
    risks = {e.title: in_unit(e.risk) for e in found.done if e.risk is not None}
    return plots.ranking(
        list(risks),
        [r.value for r in risks.values()],
        [r.low for r in risks.values()],
        [r.high for r in risks.values()],
        None if found.recommended is None else found[found.recommended].title,
        measure=f"{UNITS.get(found.loss, found.loss)} {measured_on(found)}",
        best=least_error(found, found.loss),
        ax=ax,
    )


def least_error(found: Comparison, loss: str) -> float | None:
    """The lower end of the bracket with the chance in its rows, for pictures of the error; None where some model is below the bracket, so
    that it says nothing, or where it begins next to nothing."""
    errors = [s for e in found.done for s in e.scores if s.name == "error"]
    least = min(errors, key=lambda s: s.value, default=None)
    if found.bracket is None or least is None or loss != "zero-one":
        return None
    if least.value < found.bracket.low or not tells(found.bracket, least):
        return None
    return found.bracket.least


def _left_out(found: Comparison) -> Html | None:
    return (
        folded("Models that were not tried", items(f"{name}: {why}" for name, why in found.left_out))
        if found.left_out
        else None
    )


# --- worries and bracket ----------------------------------------------------------------------------------------------


def worries_section(found: Comparison) -> Html | None:
    """Warnings, the gravest first."""
    if not found.worries:
        nothing = "Nothing was found that would put these numbers in doubt"
        but = ", but that they come from the rows of the fit." if of_fit(found) else "."
        return section("What to worry about", paragraphs(nothing + but), id_="worries")
    return section("What to worry about", *_worries(found), id_="worries")


def _worries(found: Comparison) -> Iterator[Html]:
    for worry in found.worries:
        tone = TONES.get(worry.severity, "soft")
        yield el(
            "div",
            el(
                "p", pill(f"{worry.severity}: {SEVERITY.get(worry.severity, '')}", tone), " ", el("strong", worry.title)
            ),
            el("p", worry.detail, *((el("strong", " What to do: "), worry.what_to_do) if worry.what_to_do else ())),
            class_=f"worry {tone}",
        )


def bracket_section(found: Comparison) -> Html | None:
    """Cover and Hart's bracket beside the error."""
    bracket = found.bracket
    if bracket is None:
        return None
    name = found.recommended or found.best
    entry = None if name is None else found[name]
    error = None if entry is None else next((s for s in entry.scores if s.name == "error"), None)
    e = bracket.neighbour
    words = f"The nearest neighbour errs on {percent(e.value)} of {plain(e.n)} rows ({interval(e, 'zero-one')}), each left out once."
    if error is None or tells(bracket, error):
        words += (
            f" By Cover and Hart (1967) the least possible error of {bracket.classes} classes then lies within "
            f"{span(bracket.low, bracket.high)}; with the chance in these rows, within {span(bracket.least, bracket.most)}. "
            f"This is an {bracket.note.replace('asymptotic, estimate', 'estimate: the lower end holds as rows grow without end')}."
        )
    return section(
        "Best possible",
        el("p", el("strong", best_possible(bracket, error))) if error is not None else None,
        paragraphs(words),
        id_="bracket",
    )


# --- table ------------------------------------------------------------------------------------------------------------


def schema_section(found: Comparison) -> Html | None:
    """What each column was taken for, and why."""
    schema = found.schema
    columns = list(schema.columns[:MOST_COLUMNS]) + ([schema.target] if schema.target is not None else [])
    rows = [
        (
            join(c.name, " ", pill("target")) if c is schema.target else c.name,
            c.kind,
            missing_share(c, schema.n_rows) or "none",
            f"{'about ' if c.about else ''}{plain(c.distinct)}",
            values_text(c),
            c.why,
        )
        for c in columns
    ]
    hidden = len(schema.columns) - MOST_COLUMNS
    head = ("column", "kind", "missing", "distinct", "values", "why it is taken for that")
    listing = table("The columns, the target last", head, rows, numbers=(2, 3), wide=(4, 5))
    return section(
        "The table",
        paragraphs(summary(schema), f"{plain(hidden)} more columns are not listed." if hidden > 0 else ""),
        _balance(found),
        listing if len(rows) <= 25 else folded(f"All {plain(len(rows))} columns", listing),
        id_="table",
    )


def _balance(found: Comparison) -> Html | None:
    import numpy as np

    data = found.data
    if data.classes is None:
        return None
    counts = np.bincount(data.codes, minlength=len(data.classes))
    names = [str(c) for c in data.classes.tolist()]
    order = np.argsort(-counts, kind="stable")[:8]
    said = ", ".join(f"{names[k]} {plain(int(counts[k]))}" for k in order) + (", …" if len(names) > 8 else ".")
    return side_by_side(
        figure("Rows of each class", f"The most frequent: {said}", lambda: plots.class_balance(names, counts))
    )
