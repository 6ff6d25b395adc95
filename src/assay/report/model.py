"""The page of one model: certificate, search, scores, pictures, errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay import plots
from assay.assess.verdict import more_rows, train_and_test, where_it_errs
from assay.estimator.params import defaults
from assay.report.answers import (
    curves_section,
    importance_figure,
    mistakes_section,
    parts_section,
    scores_section,
    with_words,
    worst_section,
)
from assay.report.inside import inside_section, region_figures
from assay.report.markup import (
    Html,
    anchor,
    el,
    facts,
    figure,
    folded,
    items,
    join,
    paragraphs,
    section,
    side_by_side,
    table,
)
from assay.report.overview import least_error
from assay.report.wording import LOSSES, alone, amount, interval, pill, plain, setting_words, span_of_time, tested_rows
from assay.selection.comparison import Comparison
from assay.selection.details import ROUNDS, Details, Refits

TONES = {"proof": "good", "estimate": "mild", "warning": "bad"}


def model_section(details: Details) -> Html | None:
    """Everything about one model."""
    entry = details.entry
    return section(
        join(entry.name, *_marks(details)),
        _summary(details),
        scores_section(details),
        certificate_section(details),
        search_section(details),
        mistakes_section(details),
        curves_section(details),
        columns_section(details),
        parts_section(details),
        refits_section(details),
        inside_section(details),
        worst_section(details),
        el("p", el("a", "Back to the top", href="#top"), class_="top"),
        id_=anchor(entry.name),
        class_="model",
    )


def _marks(details: Details) -> list[Html]:
    found, name = details.comparison, details.entry.name
    marks = []
    if alone(found) is not None:
        return []
    if name == found.recommended:
        marks.append(join(" ", pill("recommended", "good")))
    if name == found.best:
        marks.append(join(" ", pill("least risk", "good")))
    return marks


def _summary(details: Details) -> Html:
    entry, loss = details.entry, details.comparison.loss
    assert entry.risk is not None
    said = f"{LOSSES.get(loss, loss)} {amount(entry.risk, entry.risk.value, loss)} ({interval(entry.risk, loss)})"
    pairs = [
        (f"on {tested_rows(details.comparison)}", said),
        ("settings", setting_words(_changed(details))),
        ("complexity", f"{plain(entry.complexity)} free numbers; {plain(entry.columns)} encoded columns"),
    ]
    if "judged_on" not in details.comparison.question:  # of a saved model neither is known
        size = f", {entry.peak_bytes / 1e6:.0f} MB" if entry.peak_bytes else ""
        pairs += [("time", span_of_time(entry.seconds) + size), ("converged", plain(entry.converged))]
    both = train_and_test(entry.train_risk, entry.risk) if entry.train_risk is not None else ""
    return join(
        facts(pairs), paragraphs(both), folded("Notes of the fits", items(entry.notes)) if entry.notes else None
    )


def _changed(details: Details) -> Mapping[str, Any]:
    """The settings that were searched; of a single model those that differ from its defaults."""
    setting = details.entry.setting
    if alone(details.comparison) is None:
        return setting
    usual = defaults(type(details.model.model_))
    return {k: v for k, v in setting.items() if k not in usual or repr(usual[k]) != repr(v)}


def columns_section(details: Details) -> Html | None:
    """What the columns are worth, and what the model answers over the two that matter most."""
    regions, why_not = region_figures(details)
    drawn, note = importance_figure(details)
    return section("Columns and regions", side_by_side(drawn, *regions), paragraphs(note, why_not), level=3)


# --- certificate ------------------------------------------------------------------------------------------------------


def certificate_section(details: Details) -> Html | None:
    """The claims: what is proved, estimated or to be warned of, and whether it holds."""
    claims = list(details.model.certificate_)
    rows = [
        (
            c.name,
            pill(c.kind, TONES.get(c.kind, "")),
            pill("holds", "good") if c.holds else pill("fails", "bad"),
            "–" if c.value is None else f"{c.value:.4g}",
            "–" if c.bound is None else f"{c.bound:.4g}",
            c.statement,
        )
        for c in claims
    ]
    if not rows:
        return section("Certificate", paragraphs("This model makes no claims."), level=3)
    head = ("claim", "kind", "verdict", "value", "bound", "statement")
    note = (
        "A proof is checked from the rows and its witness alone, up to the stated tolerance; an estimate holds with a stated confidence. "
        "Save the model and run assay verify MODEL DATA to check all of them again."
    )
    return section(
        "Certificate",
        table("What is claimed of this fit", head, rows, numbers=(3, 4), wide=(5,)),
        paragraphs(note),
        level=3,
    )


# --- search -----------------------------------------------------------------------------------------------------------


def search_section(details: Details) -> Html | None:
    """The settings that were tried on inner splits of the training rows."""
    search, loss = details.entry.search, details.comparison.loss
    if search is None and "judged_on" in details.comparison.question:
        return None  # the model was fitted elsewhere
    if search is None:
        return section("Search", paragraphs("There was nothing to search: the model has one setting."), level=3)
    changing = [k for k in search.settings[0] if len({str(s.get(k)) for s in search.settings}) > 1]
    name = ", ".join(changing) or "setting"
    values = [
        s[changing[0]] if len(changing) == 1 else setting_words({k: s.get(k) for k in changing})
        for s in search.settings
    ]
    risks, errors = np.asarray(search.risks), np.asarray(search.errors)
    level = float(risks[search.best] + errors[search.best])
    measure = LOSSES.get(loss, loss)
    rows = [
        (
            setting_words(s),
            f"{r:.4g}",
            f"{e:.2g}",
            "chosen" if k == search.chosen else "least" if k == search.best else "",
        )
        for k, (s, r, e) in enumerate(zip(search.settings, risks, errors))
    ]
    words = f"Chosen is {setting_words(search.settings[search.chosen])}: the simplest within one standard error of the least risk."
    drawn = figure(
        "Validation curve",
        f"{measure.capitalize()} on inner splits over {name}, with one standard error. {words}",
        lambda: plots.validation_curve(
            values,
            None,
            risks,
            test_interval=(risks - errors, risks + errors),
            chosen=values[search.chosen],
            one_se=level,
            name=name,
            measure=measure,
        ),
        key=details.entry.name,
    )
    listed = table(
        "Settings, from simple to complex", ("setting", f"inner {measure}", "standard error", ""), rows, numbers=(1, 2)
    )
    return section("Search", side_by_side(drawn), folded("All settings", listed), level=3)


# --- refits -----------------------------------------------------------------------------------------------------------


def refits_section(details: Details) -> Html | None:
    """Learning curve and bias–variance, of the models for which they were made."""
    found = details.refits
    if found is None and not any(len(split.train) for split in details.comparison.splits):
        words = "Learning curve, bias and variance need rows of the fit beside rows it never saw, and this table does not have both."
        return section("Would more rows help?", paragraphs(words), level=3)
    if found is None:
        named = " and ".join(dict.fromkeys(n for n in (details.comparison.recommended, details.comparison.best) if n))
        words = f"Learning curve, bias and variance need many fits: they were made for {named} alone."
        return section("Would more rows help?", paragraphs(words), level=3)
    curve = found.curve
    drawn = figure(
        "Learning curve",
        f"{more_rows(curve)} Fitted anew on growing parts of {plain(found.train_rows)} rows, tested on {plain(found.test_rows)}.",
        lambda: _curve(found, details.comparison),
        key=details.entry.name,
    )
    gone = f"Sizes that could not be fitted: {'; '.join(curve.left_out)}" if curve.left_out else ""
    return section("Would more rows help?", side_by_side(drawn, _decomposed(found, details)), paragraphs(gone), level=3)


def _curve(found: Refits, comparison: Comparison) -> object:
    points = found.curve.points
    train, test = [p.train for p in points], [p.test for p in points]
    return plots.learning_curve(
        [p.n for p in points],
        [s.value for s in train],
        [s.value for s in test],
        train_interval=([s.low for s in train], [s.high for s in train]),
        test_interval=([s.low for s in test], [s.high for s in test]),
        measure=LOSSES.get(found.loss, found.loss),
        best=least_error(comparison, found.loss),
    )


def _decomposed(found: Refits, details: Details) -> Html:
    parts = found.parts
    bias = next(iter(parts.pieces.values()))
    net = parts.mean_loss.value - bias.value if parts.loss == "zero-one" else parts.variance.value
    said = "; ".join(f"{name} {with_words(score)}" for name, score in parts.pieces.items())
    return figure(
        "Bias and variance",
        f"{where_it_errs(parts)} {ROUNDS} fits on bootstrap samples, {LOSSES[parts.loss]}: {said}. Noise counts as bias.",
        lambda: plots.bias_variance(bias.value, net, names=[details.entry.name]),
        key=details.entry.name,
    )
