"""What a model is: regions of its answers, and what only some models have (margins, ellipses, a path, weights, a landscape).

The landscape is the loss of a linear model over two of its weights, all others as fitted:

    R(u, v) = 1/n Σ ℓ(z_i + (u − w_a)·x_ia + (v − w_b)·x_ib, t_i),    z_i the model's own score
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay import plots
from assay.engines import ArrayRows, Rows
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.plots.style import INK, style_of
from assay.report.markup import Html, figure, optional, section, side_by_side
from assay.report.raw_model import RawModel, picture_rows, two_columns
from assay.risk.surrogates import MARGIN, Surrogate, surrogate
from assay.selection.details import Details

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
            "How the network learnt",
            "The loss in each epoch; below, what it stands for, on the rows learnt from and on rows held out from them where there are such.",
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
