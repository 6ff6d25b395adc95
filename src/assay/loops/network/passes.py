"""Rows through the network and back: outputs, loss, and the gradient of all weights, for a piece of a mini-batch.

All arrays are flat. Layer layer = 1 … L has weights (wide[layer − 1], wide[layer]) at weights[layer] and biases at biases[layer] of the parameters P; its sums, outputs and slopes
are (rows, wide[layer]) at units[layer] of Z, A and D; where outputs say what the slopes are, the sums are not kept. Layer layer has real[layer] units, and widths are multiples of NARROW; what fills them has weights of zero
and keeps them, and beyond `used` (multiples of SHORT) nothing is multiplied.
"""

from __future__ import annotations

import math

from assay.compiled import inner
from assay.compiled.simd.networks import NARROW, sum_rows
from assay.loops.network.activations import IDENTITY, LOGISTIC, activate, needs_no_sums, times_slope
from assay.loops.network.dropping import drop, drop_slopes, key_of
from assay.loops.network.losses import SOFTMAX, row_loss, softmax_loss
from assay.loops.network.products import multiply

MUCH = 1e200  # times the most outputs there can be is still a number


@inner
def forward(real, wide, used, weights, biases, units, what, P, Z, A, m, share, times, seed, batch, piece):  # type: ignore[no-untyped-def]
    """From the inputs at A[units[0] …] to the outputs, m rows. `share` of the hidden units are left out, and `times` = 1 / (1 − share)."""
    last = len(wide) - 1
    for layer in range(1, last + 1):
        n, before = wide[layer], wide[layer - 1]
        at = units[layer]
        how = what if layer < last else IDENTITY
        sums = A if needs_no_sums(how) else Z
        multiply(
            A,
            units[layer - 1],
            before,
            1,
            P,
            weights[layer],
            n,
            sums,
            at,
            n,
            m,
            n,
            used[layer - 1],
            1,
            P,
            biases[layer],
            0,
        )
        activate(how, sums, A, at, m * n)
        if what == LOGISTIC and layer < last:
            silence(A, at, m, real[layer], n)
        if share > 0 and layer < last:
            drop(A, at, m * n, key_of(seed, batch, piece, layer), share, times)


@inner
def silence(A, at, m, real, n):  # type: ignore[no-untyped-def]
    """Units that fill a layer of `real` units up to n say 0: σ(0) = ½ would give the weights that leave them a gradient."""
    for i in range(m):
        for j in range(real, n):
            A[at + i * n + j] = 0.0


@inner
def backward(  # type: ignore[no-untyped-def]
    real, wide, used, weights, biases, units, what, turned, Z, A, D, S, G, g, m, bias, share, times, seed, batch, piece
):  # type: ignore[no-untyped-def]
    """From the slopes of the outputs at D[units[L] …] to the gradient at G[g …]; `turned`: the weights of layers above the first, transposed;
    bias: whether the outputs have one."""
    last = len(wide) - 1
    for layer in range(last, 0, -1):
        n, before = wide[layer], wide[layer - 1]
        multiply(
            A,
            units[layer - 1],
            1,
            before,
            D,
            units[layer],
            n,
            G,
            g + weights[layer],
            n,
            used[layer - 1],
            n,
            m,
            0,
            G,
            0,
            0,
        )
        many = m if bias or layer < last else 0
        for j in range(0, n, NARROW):
            sum_rows(D, units[layer] + j, n, many, G, g + biases[layer] + j)
        if layer > 1:
            multiply(
                D,
                units[layer],
                n,
                1,
                turned,
                weights[layer],
                before,
                D,
                units[layer - 1],
                before,
                m,
                before,
                real[layer],
                0,
                G,
                0,
                0,
            )
            if share > 0:
                key = key_of(seed, batch, piece, layer - 1)
                drop_slopes(A, D, units[layer - 1], m * before, key, share, times)
            times_slope(what, Z, A, D, S, units[layer - 1], m * before)


@inner
def judge(loss, outputs, wide, units, codes, targets, c, rows, first, many, share, A, D, m):  # type: ignore[no-untyped-def]
    """Slopes of the outputs of `many` rows (numbers rows[first …]), zeros up to m; returns (Σ c loss, Σ c [wrong])."""
    last = len(wide) - 1
    n, at = wide[last], units[last]
    for i in range(m * n):
        D[at + i] = 0.0
    total, wrong = 0.0, 0.0
    if loss == SOFTMAX and outputs > 1:
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
        one, off = row_loss(loss, A, at + i * n, outputs, codes[row], targets, row * outputs, share * weight, D)
        total += weight * one
        wrong += weight * off
    return total, wrong
