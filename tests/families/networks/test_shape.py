"""The flat array of a shape holds the layers and zeros, and nothing is lost on the way."""

from __future__ import annotations

import numpy as np
import pytest

from assay.families.networks.architecture import ACTIVATIONS, LANES, Layer, NetworkShape

WIDTHS = [(1, 1, 1), (4, 5, 3), (16, 16, 16), (17, 33, 2), (3, 20, 1, 7)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("widths", WIDTHS)
def test_layers_come_back_from_the_flat_array(widths, dtype):
    shape = NetworkShape(widths)
    layers = shape.drawn(np.random.default_rng(0))
    flat = shape.flat(layers, dtype)
    assert flat.dtype == dtype
    assert len(flat) == shape.size
    for (W, b), (again, bias) in zip(layers, shape.layers(flat)):
        assert again.dtype == bias.dtype == np.float64
        assert np.array_equal(W.astype(dtype), again)
        assert np.array_equal(b.astype(dtype), bias)
    assert np.count_nonzero(flat) == sum(W.size + b.size for W, b in layers)


@pytest.mark.parametrize("widths", WIDTHS)
def test_widths_are_filled_up_to_whole_vectors(widths):
    shape = NetworkShape(widths)
    assert shape.depth == len(widths) - 1
    assert all(w % LANES == 0 and 0 <= w - real < LANES for w, real in zip(shape.wide, widths))
    places, size = shape.units(12)
    assert np.array_equal(np.diff([*places, size]), shape.wide * 12)


def test_the_penalty_is_taken_of_weights_and_not_of_biases():
    shape = NetworkShape((4, 5, 3))
    ones = [Layer(np.ones_like(W), np.zeros_like(b)) for W, b in shape.drawn(np.random.default_rng(0))]
    decays = shape.decays(np.float32)
    assert np.array_equal(decays * shape.flat(ones, np.float32), shape.flat(ones, np.float32))
    assert all(not b.any() for _, b in shape.layers(decays))


def test_weights_above_the_first_layer_are_turned():
    shape = NetworkShape((4, 5, 20, 3))
    flat = shape.flat(shape.drawn(np.random.default_rng(0)), np.float64)
    transposed, weights = shape.transposed(flat), shape.places[0]
    for layer in (2, 3):
        before, after = int(shape.wide[layer - 1]), int(shape.wide[layer])
        W = flat[weights[layer] : weights[layer] + before * after].reshape(before, after)
        T = transposed[weights[layer] : weights[layer] + before * after].reshape(after, before)
        assert np.array_equal(W.T, T)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_first_weights_are_uniform_within_the_bound_of_their_layer(activation):
    layers = NetworkShape((60, 40, 3), activation).drawn(np.random.default_rng(0))
    for W, b in layers:
        bound = np.sqrt((2.0 if activation == "logistic" else 6.0) / sum(W.shape))
        assert 0.9 * bound < np.abs(W).max() <= bound
        assert np.abs(b).max() <= bound
        assert abs(W.std() - bound / np.sqrt(3)) < 0.1 * bound


def test_without_a_bias_of_the_outputs_all_else_is_drawn_the_same():
    with_it, without = (
        NetworkShape((4, 5, 3), output_bias=bias).drawn(np.random.default_rng(0)) for bias in (True, False)
    )
    assert not without[-1].biases.any()
    assert np.array_equal(with_it[0].weights, without[0].weights)
    assert np.array_equal(with_it[1].weights, without[1].weights)
