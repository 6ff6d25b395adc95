"""Rows through the network and back: outputs, loss, and the gradient of all weights, for a piece of a mini-batch.

All arrays are flat. Layer layer = 1 … L has weights (wide[layer − 1], wide[layer]) at weights[layer] and biases at biases[layer] of the parameters P; its sums, outputs and slopes
are (rows, wide[layer]) at units[layer] of Z, A and D; where outputs say what the slopes are, the sums are not kept. Layer layer has real[layer] units, and widths are multiples of NARROW; what fills them has weights of zero
and keeps them, and beyond `used` (multiples of SHORT) nothing is multiplied. Python hands over tuples of arrays; loops take their addresses once (`…_pointers`) and pass these on.

Products of matrices that fit a core's cache are taken in tiles whose sums stay in registers: C = A B (+ C), with any strides of A (`multiply`). A tile is TALL (or SHORT) rows by WIDE
(or NARROW) columns. While k goes by, each number of A is spread over a vector of B and added: nothing is packed or copied, which is what a library does first and what takes it as
long as the product where matrices are small.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inlined, inner
from assay.compiled.simd.memory import data_pointer
from assay.compiled.simd.networks import (
    NARROW,
    SHORT,
    TALL,
    WIDE,
    short_narrow,
    short_wide,
    sum_rows,
    tall_narrow,
    tall_wide,
)
from assay.compiled.simd.scalars import is_single
from assay.families.networks.loops.minibatch import (
    IDENTITY,
    LOGISTIC,
    SOFTMAX,
    activate,
    bring,
    drop,
    drop_slopes,
    key_of,
    needs_no_sums,
    row_loss,
    softmax_loss,
    times_slope,
)

MUCH = 1e200  # times the most outputs there can be is still a number


class LayerTable(NamedTuple):
    """Where the layers 1 … last lie, as above; the codes of activation and loss, whether outputs have a bias, and how many there are."""

    last: int
    real: Any
    wide: Any
    used: Any
    weights: Any
    biases: Any
    what: int
    loss: int
    bias: bool
    outputs: int


class Examples(NamedTuple):
    """Rows X of d numbers with their codes of classes, or targets, and weights c; rows: the numbers of those that are visited, in order."""

    X: Any
    d: int
    codes: Any
    targets: Any
    c: Any
    rows: Any


class Workspace(NamedTuple):
    """Gradients G; sums Z, outputs A and slopes D of units, and as much room S."""

    G: Any
    Z: Any
    A: Any
    D: Any
    S: Any


class Parameters(NamedTuple):
    """Weights P, those of layers above the first transposed, and what the rule remembers, M and V; summed: room for a gradient; `size` numbers each."""

    P: Any
    transposed: Any
    M: Any
    V: Any
    summed: Any
    size: int


class Dropout(NamedTuple):
    """`share` of the hidden units are left out, others taken `times` = 1 / (1 − share); drawn by the seed and the numbers of batch and piece."""

    share: float
    times: Any
    seed: Any
    batch: Any
    piece: Any


@inlined
def layer_pointers(net):  # type: ignore[no-untyped-def]
    return LayerTable(
        net.last,
        data_pointer(net.real),
        data_pointer(net.wide),
        data_pointer(net.used),
        data_pointer(net.weights),
        data_pointer(net.biases),
        net.what,
        net.loss,
        net.bias,
        net.outputs,
    )


@inlined
def example_pointers(examples):  # type: ignore[no-untyped-def]
    return Examples(
        data_pointer(examples.X),
        examples.d,
        data_pointer(examples.codes),
        data_pointer(examples.targets),
        data_pointer(examples.c),
        data_pointer(examples.rows),
    )


@inlined
def workspace_pointers(work):  # type: ignore[no-untyped-def]
    return Workspace(
        data_pointer(work.G), data_pointer(work.Z), data_pointer(work.A), data_pointer(work.D), data_pointer(work.S)
    )


@inner
def forward(net, units, P, work, m, dropout):  # type: ignore[no-untyped-def]
    """From the inputs at A[units[0] …] to the outputs, m rows."""
    A, one = work.A, np.int64(1)
    for layer in range(1, net.last + 1):
        n, before, at = net.wide[layer], net.wide[layer - 1], units[layer]
        how = net.what if layer < net.last else IDENTITY
        sums = A if needs_no_sums(how) else work.Z
        multiply(
            Strided(A, units[layer - 1], before, one),
            Strided(P, net.weights[layer], n, one),
            Strided(sums, at, n, one),
            m,
            n,
            net.used[layer - 1],
            1,
            Strided(P, net.biases[layer], np.int64(0), one),
        )
        activate(how, sums, A, at, m * n)
        if net.what == LOGISTIC and layer < net.last:
            silence(A, at, m, net.real[layer], n)
        if dropout.share > 0 and layer < net.last:
            key = key_of(dropout.seed, dropout.batch, dropout.piece, layer)
            drop(A, at, m * n, key, dropout.share, dropout.times)


@inner
def silence(A, at, m, real, n):  # type: ignore[no-untyped-def]
    """Units that fill a layer of `real` units up to n say 0: σ(0) = ½ would give the weights that leave them a gradient."""
    for i in range(m):
        for j in range(real, n):
            A[at + i * n + j] = 0.0


@inner
def backward(net, units, transposed, work, g, m, dropout):  # type: ignore[no-untyped-def]
    """From the slopes of the outputs at D[units[L] …] to the gradient at G[g …]; `turned`: the weights of layers above the first, transposed."""
    G, A, D, zero, one = work.G, work.A, work.D, np.int64(0), np.int64(1)
    nothing = Strided(G, zero, zero, one)
    for layer in range(net.last, 0, -1):
        n, before, at = net.wide[layer], net.wide[layer - 1], units[layer - 1]
        slopes = Strided(D, units[layer], n, one)
        gradient = Strided(G, g + net.weights[layer], n, one)
        multiply(Strided(A, at, one, before), slopes, gradient, net.used[layer - 1], n, m, 0, nothing)
        many = m if net.bias or layer < net.last else 0
        for j in range(0, n, NARROW):
            sum_rows(D, units[layer] + j, n, many, G, g + net.biases[layer] + j)
        if layer > 1:
            back = Strided(transposed, net.weights[layer], before, one)
            multiply(slopes, back, Strided(D, at, before, one), m, before, net.real[layer], 0, nothing)
            if dropout.share > 0:
                key = key_of(dropout.seed, dropout.batch, dropout.piece, layer - 1)
                drop_slopes(A, D, at, m * before, key, dropout.share, dropout.times)
            times_slope(net.what, work.Z, A, D, work.S, at, m * before)


@inner
def judge(net, units, examples, first, many, share, work, m):  # type: ignore[no-untyped-def]
    """Slopes of the outputs of `many` rows (numbers rows[first …]), zeros up to m; returns (Σ c loss, Σ c [wrong])."""
    A, D, rows, codes, c, outputs = work.A, work.D, examples.rows, examples.codes, examples.c, net.outputs
    n, at = net.wide[net.last], units[net.last]
    for i in range(m * n):
        D[at + i] = 0.0
    total, wrong = 0.0, 0.0
    if net.loss == SOFTMAX and outputs > 1:
        product = 1.0  # one logarithm for as many rows of weight 1 as it holds
        for i in range(many):
            row = rows[first + i]
            weight = c[row]
            one, below, off = softmax_loss(A, at + i * n, outputs, codes[row], share * weight, D)
            if weight == 1.0:
                product *= one
                total += below
                if product > MUCH:
                    total += math.log(product)
                    product = 1.0
            else:
                total += weight * (math.log(one) + below)
            wrong += weight * off
        return total + math.log(product), wrong
    for i in range(many):
        row = rows[first + i]
        weight = c[row]
        one, off = row_loss(
            net.loss, A, at + i * n, outputs, codes[row], examples.targets, row * outputs, share * weight, D
        )
        total += weight * one
        wrong += weight * off
    return total, wrong


@inner
def there_and_back(net, units, examples, first, stop, share, weights, work, g, dropout):  # type: ignore[no-untyped-def]
    """A piece of a mini-batch: the gradient of share·Σ c loss of rows rows[first … stop − 1] at G[g …]; returns (Σ c loss, Σ c [wrong]). All tuples hold addresses."""
    many = stop - first
    m = -(-many // SHORT) * SHORT
    bring(examples.X, examples.d, examples.rows, first, many, m, work.A, units[0], net.wide[0])
    forward(net, units, weights.P, work, m, dropout)
    total, wrong = judge(net, units, examples, first, many, share, work, m)
    backward(net, units, weights.transposed, work, g, m, dropout)
    return total, wrong


class Strided(NamedTuple):
    """A matrix in an array: entry (i, j) at data[at + i row + j column]."""

    data: Any
    at: Any
    row: Any
    column: Any


@inner
def multiply(A, B, C, m, n, many, begin, begun):  # type: ignore[no-untyped-def]
    """C = A B for A (m, many), B (many, n), and where `begin` is not 0 + begun (m, n). All but A have columns side by side; m is a multiple of SHORT, n of
    NARROW."""
    high = m - m % TALL
    wide = n - n % WIDE if is_single(A.data) else 0
    for j in range(0, wide, WIDE):
        for i in range(0, high, TALL):
            tall_wide(A, B, C, i, j, many, begin, begun)
        for i in range(high, m, SHORT):
            short_wide(A, B, C, i, j, many, begin, begun)
    for j in range(wide, n, NARROW):
        for i in range(0, high, TALL):
            tall_narrow(A, B, C, i, j, many, begin, begun)
        for i in range(high, m, SHORT):
            short_narrow(A, B, C, i, j, many, begin, begun)
