"""The page of one model: certificate, search, scores, pictures, errors; and what the model is: regions of its answers, and what only some
models have (margins, ellipses, a path, weights, a landscape).

The landscape is the loss of a linear model over two of its weights, all others as fitted:

    R(u, v) = 1/n Σ ℓ(z_i + (u − w_a)·x_ia + (v − w_b)·x_ib, t_i),    z_i the model's own score
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay import plots
from assay.assess.verdict import in_unit, more_rows, train_and_test, where_it_errs
from assay.engines import ArrayRows, Rows
from assay.errors import DataError
from assay.estimator.params import defaults
from assay.numerics import Array, Floats
from assay.plots.canvas import INK, style_of
from assay.report.answers import (
    curves_section,
    importance_figure,
    mistakes_section,
    parts_section,
    scores_section,
    shap_figure,
    with_words,
    worst_section,
)
from assay.report.markup import (
    LOSSES,
    Html,
    alone,
    amount,
    anchor,
    el,
    facts,
    figure,
    folded,
    interval,
    items,
    join,
    optional,
    paragraphs,
    part,
    pill,
    plain,
    section,
    setting_words,
    side_by_side,
    span_of_time,
    table,
    tested_rows,
)
from assay.report.overview import least_error
from assay.report.raw_model import RawModel, picture_rows, two_columns
from assay.risk.terms import MARGIN, Surrogate, surrogate
from assay.selection.comparison import Comparison, Entry
from assay.selection.details import ROUNDS, Details, Refits

TONES = {"proof": "good", "estimate": "mild", "warning": "bad"}


def model_fold(found: Comparison, entry: Entry, content: Html | None, *, open_: bool) -> Html | None:
    """A model's page under its name and risk. The anchor lies inside: a link to it unfolds the page."""
    top = el("p", el("a", "Back to the top", href="#top"), class_="top")
    inside = el("div", content, top, id_=anchor(entry.name))
    heading = join(
        el("h2", entry.title, *_marks(found, entry.name)), " ", el("span", _risk(entry, found), class_="soft")
    )
    return folded(heading, inside, open_=open_, class_="model")


def model_content(details: Details) -> Html:
    """Everything about one model."""
    return join(_summary(details), *(part(make, details) for make in SECTIONS))


def _marks(found: Comparison, name: str) -> list[Html]:
    marks = []
    if alone(found) is not None:
        return []
    if name == found.recommended:
        marks.append(join(" ", pill("recommended", "good")))
    if name == found.best:
        marks.append(join(" ", pill("least risk", "good")))
    return marks


def _risk(entry: Entry, found: Comparison) -> str:
    assert entry.risk is not None
    risk = in_unit(entry.risk)
    named = LOSSES.get(found.loss, found.loss) if risk is entry.risk else risk.name
    return f"{named} {amount(risk, risk.value, found.loss)} ({interval(risk, found.loss)})"


def _summary(details: Details) -> Html:
    entry = details.entry
    assert entry.risk is not None
    pairs = [
        (f"on {tested_rows(details.comparison)}", _risk(entry, details.comparison)),
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
    added, how = shap_figure(details)
    return section("Columns and regions", side_by_side(drawn, added, *regions), paragraphs(note, how, why_not), level=3)


# --- certificate ------------------------------------------------------------------------------------------------------


def certificate_section(details: Details) -> Html | None:
    """The claims: what is proved, estimated or to be warned of, and whether it holds."""
    claims = list(details.handed_over.certificate_)
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
        return section("Certificate", paragraphs("This model makes no claims: nothing is proved of it."), level=3)
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
    if found is None and details.comparison.time_is_up:
        words = "Learning curve, bias and variance need many fits: the time was up before they were made."
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


HALF = 1.5  # the picture reaches so many times the greater weight to each side, and no less than that of weights of 0.5
RESOLUTION = 110
MOST_ENCODED = 300  # columns of encoded rows of which pictures are made
PATH_ROWS = 200
DRAWN_LEVELS = 3  # of a tree


def region_figures(details: Details) -> tuple[list[Html | None], str]:
    """Decision regions on the two most important numeric columns, and margins; or why there are none."""
    rows = details.sample
    if rows.texts:
        return [], "Regions are not drawn of tables with text: words have no axis."
    shown = two_columns(details)
    if shown is None:
        return [], "Regions need two columns of numbers, and this table has fewer."
    X, y, filled = picture_rows(rows, shown)
    a, b = (rows.plain[j].name for j in shown)
    model, key = RawModel(details.model), details.entry.name
    classes = details.comparison.data.classes is not None
    words = " Missing values of the other columns stand at their medians." if filled else ""
    drawn = figure(
        "Decision regions" if classes else "Predictions",
        f"The {'answer' if classes else 'predicted value'} over {a} and {b}, the two columns of numbers that matter most; the others are "
        f"held fixed.{words}",
        lambda: plots.decision_regions(model, X, y, columns=shown, resolution=RESOLUTION),
        key=key,
    )
    margins = optional(
        "Margins and support vectors",
        f"The lines where the score is −1, 0 and 1, over {a} and {b}; rows on or inside the margin are ringed.",
        lambda: _margins(details, model, X, y, shown),
        key=key,
    )
    return [drawn, margins], ""


def _margins(details: Details, model: RawModel, X: Rows, y: Array, shown: tuple[int, int]) -> Any:
    fitted = details.model.model_
    machine = hasattr(fitted, "n_support_") and len(fitted.n_support_) == 2
    if not machine and "hinge" not in str(
        getattr(fitted, "loss", "")
    ):  # lines at ±1 mean something to hinge losses alone
        raise DataError("No margin of support vectors.")
    return plots.margins(model, X, y, columns=shown)


def inside_section(details: Details) -> Html | None:
    """Figures that only some models have."""
    model, key = details.model.model_, details.entry.name
    encoded = _encoded(details)
    weights = optional(
        "Weights",
        "Of the columns as the model sees them, the greatest first; " + _units(details),
        lambda: plots.coefficients(model, names=details.model.encoding_.names),
        key=key,
    )
    parts = [weights, *_curves(model, key)]
    if encoded is None:
        return section("Inside the model", side_by_side(*parts), level=3)
    X, y, shown = encoded
    if shown is not None:
        a, b = (details.model.encoding_.names[j] for j in shown)
        parts += [
            optional(
                "Class densities",
                f"The normal density of each class over {a} and {b}; {_units(details)}",
                lambda: plots.covariance_ellipses(model, X, y, columns=shown),
                key=key,
            ),
            optional(
                "The way of the perceptron",
                f"Its boundary after each mistake, on at most {PATH_ROWS} rows, over {a} and {b}; {_units(details)}",
                lambda: _path(model, X, y, shown),
                key=key,
            ),
            optional(
                "Loss over two weights",
                f"The mean loss of the rows shown as the weights of {a} and {b} change and all others stay, without penalty; the star is the "
                "fit.",
                lambda: weight_surface(model, X.X, y, shown, (a, b)),
                key=key,
            ),
        ]
    parts.append(
        optional(
            "Margins of the rows",
            "How far rows lie on the right side of the boundary; left of zero are mistakes.",
            lambda: plots.margin_distribution(model, X, y),
            key=key,
        )
    )
    return section("Inside the model", side_by_side(*parts), level=3)


def _curves(model: Any, key: str) -> list[Html | None]:
    """What trees, forests, nearest neighbours and networks have."""
    return [
        optional(
            "The tree",
            "The first questions, each answered yes to the left and no to the right, and what leaves answer.",
            lambda: _drawn_tree(model),
            key=key,
        ),
        optional(
            "Pruning by cross-validation",
            "The risk on held-out rows as ever more leaves are cut off, from left to right.",
            lambda: plots.pruning_curve(model),
            key=key,
        ),
        optional(
            "Error as the forest grows",
            "On the rows that trees did not see, over the number of trees.",
            lambda: plots.oob_curve(model),
            key=key,
        ),
        optional(
            "How many neighbours",
            "Each row left out in turn and answered by its nearest others, over their number.",
            lambda: plots.neighbour_curve(model),
            key=key,
        ),
        optional(
            "How it learnt",
            "The loss in each epoch or stage, and on rows held out where there are such; of a network, below, what the loss stands for.",
            lambda: plots.loss_curve(model),
            key=key,
        ),
    ]


def _drawn_tree(model: Any) -> Any:
    if not hasattr(model, "tree_shape") or hasattr(model, "estimators_"):  # one tree of a forest says little
        raise DataError("no single tree")
    return plots.tree(model, depth=DRAWN_LEVELS)


def _units(details: Details) -> str:
    return (
        "numbers are standardised." if details.model.encoding_.encoding_spec.scaled else "numbers are as in the table."
    )


def _encoded(details: Details) -> tuple[Rows, Array, tuple[int, int] | None] | None:
    """The sample as the model sees it, its targets, and the places of the two most important numbers; None where it is too wide."""
    encoding = details.model.encoding_
    if encoding.sparse or len(encoding.outputs) > MOST_ENCODED or details.sample.texts:
        return None
    rows = encoding.rows(ArrayRows(np.asarray(details.sample.X, dtype=np.float64)))
    places: dict[str, int] = {}
    for j, output in enumerate(encoding.outputs):
        if output.role == "number" and output.source not in places:
            places[output.source] = j
    ranked = [places[i.name] for i in details.importance if i.name in places]
    return rows, details.sample.y, (ranked[0], ranked[1]) if len(ranked) > 1 else None


def _path(model: Any, X: Rows, y: Array, shown: tuple[int, int]) -> Any:
    if "order" not in type(model).params or not hasattr(
        model, "coef_"
    ):  # other models' steps are no mistakes, or have no line
        raise DataError("no path of mistakes")
    some = np.unique(np.linspace(0, len(y) - 1, min(len(y), PATH_ROWS)).round().astype(np.intp))
    fresh = type(model)(**{**model.get_params(), "max_iter": min(20, int(model.max_iter))})
    return plots.perceptron_path(fresh, X.X[some], y[some], columns=shown, names=X.names)


def weight_surface(model: Any, X: Floats, y: Array, shown: tuple[int, int], names: tuple[str, str]) -> Any:
    """Axes with the landscape and a star at the fit; a DataError where the model has no weights or no such loss."""
    measure = _loss_of(model)
    w = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    if len(w) != 1 or not np.isfinite(X).all():
        raise DataError("A landscape is drawn of models with one weight a column.")
    at = w[0, list(shown)]
    pair = X[:, list(shown)]
    rest = X @ w[0] + float(np.ravel(model.intercept_)[0]) - pair @ at
    t = np.where(y == model.classes_[1], 1.0, -1.0) if measure.kind == MARGIN else np.asarray(y, dtype=np.float64)
    half = HALF * max(float(np.abs(at).max()), 0.5)
    span = ((at[0] - half, at[0] + half), (at[1] - half, at[1] + half))
    ax = plots.loss_surface(pair, t, lambda z, t: measure.value(z + rest, t, measure.width), span=span)
    ax.plot(*at, "*", color=style_of(2).colour, markeredgecolor=INK, markersize=15, zorder=5)
    ax.set_xlabel(f"weight of {names[0]}"[:60])
    ax.set_ylabel(f"weight of {names[1]}"[:40])
    return ax


def _loss_of(model: Any) -> Surrogate:
    """The loss that a linear model makes small: the one it names, else log for probabilities and squared for numbers."""
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        raise DataError("No weights.")
    named = getattr(model, "loss", None)
    classes = hasattr(model, "classes_")
    if classes and (len(model.classes_) != 2 or not (isinstance(named, str) or type(model).params.get("C"))):
        raise DataError("No loss of two classes.")
    return surrogate(named if isinstance(named, str) else "log" if classes else "squared")


SECTIONS = (
    scores_section,
    certificate_section,
    search_section,
    mistakes_section,
    curves_section,
    columns_section,
    parts_section,
    refits_section,
    inside_section,
    worst_section,
)
