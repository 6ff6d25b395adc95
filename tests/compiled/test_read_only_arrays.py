"""Arrays that may not be written to are handed to the code of those that may: nothing is compiled a second time for them."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import pytest

from assay.compiled import inner, jit


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


CONSTANT = np.arange(3.0)  # which loops know as read-only


@inner
def part(x, k):
    return x.sum() + k[0]


@jit
def whole(x, pair, shift=3):
    return part(x, CONSTANT) + part(CONSTANT, x) + pair.left.sum() + pair.right.sum() + shift


def locked(array):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def test_one_code_serves_every_mixture():
    x = np.ones(3)
    mixtures = [(a, Pair(b, c)) for a in (x, locked(x)) for b in (x, locked(x)) for c in (x, locked(x))]
    assert {whole(*mixture) for mixture in mixtures} == {16.0}
    assert len(whole.signatures) == 1
    assert len(part.signatures) <= 1  # none where the whole was compiled before


def test_it_is_found_without_asking_again(monkeypatch):
    x = locked(np.ones(3))
    whole(x, Pair(x, x))
    monkeypatch.setattr(type(whole), "compile", lambda *_: pytest.fail("asked again"))
    assert whole(x, Pair(x, x)) == 16.0


def test_other_peoples_functions_know_the_difference():
    x = np.ones(3)
    whole(locked(x), Pair(x, x))

    @numba.njit
    def theirs(a):
        a[0] = 2.0

    theirs(x)
    with pytest.raises(numba.TypingError, match="readonly"):
        theirs(locked(x))


def test_types_are_those_that_numba_finds():
    plain = [
        np.zeros((4, 6), dtype)[:, ::step] for dtype in (np.float32, np.int64, np.uint8, np.bool_) for step in (1, 2)
    ]
    for array in (*plain, np.asfortranarray(plain[0]), locked(plain[0]), np.zeros(()), np.zeros(2, "datetime64[s]")):
        assert whole.typeof_pyval(array) == numba.typeof(array)
    assert whole.typeof_pyval(3) == numba.typeof(3)
