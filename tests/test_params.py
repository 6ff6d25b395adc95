"""Hyper-parameter tables: what they accept, how they say what they do not, and how a word of the shell is read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases import CASES, IDS
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.errors import ParameterError
from assay.params import CLASS_WEIGHT, N_JOBS, Choice, Flag, Free, Range

SHARE = Range(low=0, high=1, open_low=True, words=("auto",), doc="a share")
COUNT = Range(kind=int, low=1, words=(None,), doc="a count")
COLOUR = Choice(options=("red", "green"), words=(None,), doc="a colour")


@pytest.mark.parametrize("value", [1, 0.5, 1e-300, np.float32(0.5), np.int64(1), "auto"])
def test_a_range_accepts_what_lies_in_it(value):
    assert SHARE.accepts(value)


@pytest.mark.parametrize(
    "value", [0, -0.1, 1.0001, math.nan, math.inf, "0.5", "none", None, True, [0.5], np.array([0.5]), 1j, object()]
)
def test_a_range_refuses_what_does_not(value):
    assert not SHARE.accepts(value)


@pytest.mark.parametrize("value", [0, 1.0, 2.5, "3", True, -1, math.nan])
def test_a_whole_number_is_no_decimal_one(value):
    assert not COUNT.accepts(value)
    assert COUNT.accepts(None)
    assert COUNT.accepts(np.int32(4))


@given(st.integers(min_value=1))
def test_whole_numbers_of_any_size_are_judged_without_an_error(value):
    assert COUNT.accepts(value)


def test_choices_flags_and_free_values():
    assert COLOUR.accepts("red")
    assert COLOUR.accepts(None)
    assert not any(COLOUR.accepts(v) for v in ("blue", 1, ["red"], np.array(["red"])))
    assert all(Flag(doc="").accepts(v) for v in (True, False, 0, 1, np.bool_(True)))
    assert not any(Flag(doc="").accepts(v) for v in (2, "yes", None, 0.0))
    free = Free(doc="", what="a list", words=("all",), check=lambda v: isinstance(v, list))
    assert free.accepts([])
    assert free.accepts("all")
    assert not any(free.accepts(v) for v in ("some", None, 3))


@pytest.mark.parametrize("value", [{0: 1.0}, {"a": 0}, {}, None, "balanced"])
def test_class_weights_that_can_be(value):
    assert CLASS_WEIGHT.accepts(value)


@pytest.mark.parametrize("value", [{0: -1}, {0: math.nan}, {0: math.inf}, {0: "1"}, "equal", 3, [1, 2], {0: 10**400}])
def test_class_weights_that_cannot(value):
    assert not CLASS_WEIGHT.accepts(value)


@pytest.mark.parametrize(
    ("param", "text", "value"),
    [
        (SHARE, "0.5", 0.5),
        (SHARE, "auto", "auto"),
        (SHARE, "x", "x"),
        (COUNT, "3", 3),
        (COUNT, "None", None),
        (COUNT, "3.5", "3.5"),
        (COLOUR, "none", None),
        (COLOUR, "red", "red"),
        (Flag(doc=""), "yes", True),
        (Flag(doc=""), "0", False),
        (CLASS_WEIGHT, "balanced", "balanced"),
        (CLASS_WEIGHT, '{"a": 2}', {"a": 2}),
        (CLASS_WEIGHT, "{", "{"),
        (N_JOBS, "-1", -1),
    ],
)
def test_words_of_the_shell_are_read(param, text, value):
    assert param.parse(text) == value


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_bad_value_is_named_with_what_would_do(case):
    X, y = case.rows()
    for name, param in case.cls.params.items():
        if param.accepts(object()):
            continue
        with pytest.raises(ParameterError, match=rf"{case.cls.__name__}: {name}=.* is not possible: it must be"):
            case.model(**{name: object()}).fit(X, y)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_an_unknown_name_is_refused_with_the_nearest_known_one(case):
    with pytest.raises(ParameterError, match=r"Invalid parameter 'n_job' .*Did you mean 'n_jobs'"):
        case.model().set_params(n_job=2)
    with pytest.raises(TypeError):
        case.cls(n_job=2)


def test_the_repr_shows_what_differs_from_the_default():
    assert repr(assay.GaussianNB()) == "GaussianNB()"
    assert repr(assay.GaussianNB(n_jobs=2)) == "GaussianNB(n_jobs=2)"
    assert repr(assay.GaussianNB(priors=np.array([0.5, 0.5]))) == "GaussianNB(priors=array([0.5, 0.5]))"
