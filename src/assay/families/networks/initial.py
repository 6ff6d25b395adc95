"""Where a fit begins: the task of its hyper-parameters and rows, and the first weights, drawn or of an earlier fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import DataError, ParameterError
from assay.families.networks.architecture import Layer, NetworkShape
from assay.families.networks.hyper_parameters import hidden_sizes
from assay.families.networks.training_data import NetworkSurvey, Standardisation, count, deviations

if TYPE_CHECKING:
    from assay.families.networks.fit import NetworkModel
    from assay.families.networks.learnt import LearntNetwork

START = 0  # what a draw is for
MOST_WEIGHTS = 1 << 29  # 2 GB of float32, of which a fit needs some ten times as much


def shape_of(model: LearntNetwork, given: Any, outputs: int) -> NetworkShape:
    """The shape that hyper-parameters ask for."""
    widths = (int(model.n_features_in_), *hidden_sizes(given["hidden_layer_sizes"]), outputs)
    if count(widths) > MOST_WEIGHTS:
        raise ParameterError(
            f"{type(model).__name__}: {widths[0]} columns and hidden_layer_sizes={given['hidden_layer_sizes']!r} make {count(widths):,} weights, and at most "
            f"{MOST_WEIGHTS:,} are possible: take fewer units, or fewer columns."
        )
    return NetworkShape(widths, given["activation"], bool(given["output_bias"]))


def standard_of(model: NetworkModel, found: NetworkSurvey) -> Standardisation:
    """Means and deviations by which the rows are standardised; nothing is moved that no bias could move back."""
    d = len(found.columns.mean[0])
    if not model.standardize:
        return Standardisation(np.zeros(d), np.ones(d))
    mean, scale = deviations(found.columns)
    hidden = hidden_sizes(model.hidden_layer_sizes)
    mean = mean if hidden or model.output_bias else np.zeros(d)
    if found.target is None:
        return Standardisation(mean, scale)
    centre, spread = deviations(found.target)
    return Standardisation(mean, scale, float(centre[0]) if model.output_bias else 0.0, float(spread[0]))


def first_layers(shape: NetworkShape, found: NetworkSurvey, seed: int) -> list[Layer]:
    """Weights drawn by the seed. A column that never changes can teach nothing, and has none."""
    layers = shape.drawn(np.random.default_rng([seed, START]))
    layers[0].weights[found.columns.m2[0] == 0] = 0.0
    return layers


def earlier_layers(model: NetworkModel, before: NetworkModel, standard: Standardisation) -> list[Layer]:
    """The weights of the fit before, for rows that are standardised in this way; refused where they are of another shape."""
    old, new = before._shape().widths, model._shape_now().widths
    if old[1:-1] != new[1:-1]:
        raise ParameterError(
            f"{type(model).__name__}: warm_start=True goes on with hidden layers {old[1:-1]}, and hidden_layer_sizes={model.hidden_layer_sizes!r} asks "
            "for others: leave hidden_layer_sizes as it was, or set warm_start=False to begin anew."
        )
    if old[0] != new[0]:
        raise DataError(
            f"warm_start=True goes on with weights of {old[0]} columns, and X has {new[0]} features: give the columns of the fit before, or set "
            "warm_start=False to begin anew."
        )
    ours, theirs = (getattr(m, "classes_", np.empty(0)) for m in (model, before))
    if not np.array_equal(ours, theirs):
        raise DataError(
            f"warm_start can only be used where `y` has the same classes as in the previous call to fit. Previously got {theirs.tolist()}, "
            f"`y` has {ours.tolist()}: set warm_start=False to begin anew."
        )
    earlier = before._standard()
    same = np.array_equal(earlier.mean, standard.mean) and np.array_equal(earlier.scale, standard.scale)
    if same and earlier[2:] == standard[2:]:
        return before._standard_layers()
    layers = standard.unfolded(before._layers())
    if not model.output_bias:
        layers[-1] = Layer(layers[-1].weights, np.zeros_like(layers[-1].biases))
    return layers
