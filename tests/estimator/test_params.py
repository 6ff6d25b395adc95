"""Hyper-parameters: what they accept, how they say what they do not, how a word of the shell is read, and the constructors they make."""

from __future__ import annotations

import copy
import inspect
import math
import pickle

import numpy as np
import pytest
from cases import CASES, IDS
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.errors import ParameterError
from assay.estimator.params import (
    CLASS_WEIGHT,
    N_JOBS,
    Choice,
    Flag,
    Free,
    Range,
    Transformer,
    attribute,
    defaults,
    param,
)

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
    for name, table in case.cls.params.items():
        if table.accepts(object()):
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


class Dial(Transformer):
    """Something with two hyper-parameters."""

    size: int = param("how large it is", default=3, kw_only=False, check=Range(int, low=1))
    loud: bool = param("whether it is heard", default=False)
    turns_: int = attribute("how often it was turned")
    _before: int = attribute(default=7)


class BrightDial(Dial):
    """One more, and another default."""

    colour: str = param("what it looks like", default="red", check=Choice(("red", "green")))
    size: int = param("how large it is", default=5, kw_only=False, check=Range(int, low=1))


def test_a_line_a_parameter_makes_the_constructor_and_its_signature():
    assert str(inspect.signature(Dial)) == "(size: 'int' = 3, *, loud: 'bool' = False) -> None"
    assert Dial(4, loud=True).get_params() == {"size": 4, "loud": True}
    assert Dial().get_params() == defaults(Dial) == {"size": 3, "loud": False}
    assert not hasattr(Dial(), "turns_")
    assert Dial()._before == 7
    assert isinstance(Dial.params["loud"], Flag)


def test_parameters_of_the_class_above_come_first_and_keep_their_place():
    assert list(BrightDial.params) == ["size", "loud", "colour"]
    assert BrightDial().get_params() == {"size": 5, "loud": False, "colour": "red"}
    assert Dial().size == 3


@pytest.mark.parametrize(
    ("args", "given", "why"),
    [
        ((1, True), {}, "takes 1 arguments by position but 2 were given"),
        ((1,), {"size": 2}, "multiple values for argument 'size'"),
        ((), {"sise": 2}, "unexpected keyword argument 'sise'"),
    ],
)
def test_wrong_arguments_are_refused_as_python_would(args, given, why):
    with pytest.raises(TypeError, match=why):
        Dial(*args, **given)


def test_a_parameter_that_is_no_flag_needs_a_check():
    with pytest.raises(TypeError, match="needs a check"):
        param("how large it is", default=3)


def test_a_constructor_of_ones_own_is_left_alone():
    class Loud(Dial):
        def __init__(self, size=9):
            super().__init__(size, loud=True)

    assert Loud().get_params() == {"size": 9}
    assert Loud().loud


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_models_are_copied_pickled_and_cloned_with_their_parameters(case):
    from sklearn.base import clone

    model = case.model(n_jobs=1)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), clone(model)):
        assert type(other) is type(model)
        assert vars(other) == vars(model) == {**defaults(case.cls), **case.params, "n_jobs": 1}


NOT_OURS = {
    "MLPRegressor": ["loss"],
    "HistGradientBoostingClassifier": ["loss"],
    "HistGradientBoostingRegressor": ["loss"],
}  # hidden_layer_sizes comes first in both networks; GradientBoosting…, the other name of Hist…, takes nothing by position


def test_what_scikit_learn_takes_by_position_so_do_we():
    from sklearn.utils import all_estimators

    theirs = {name: cls for name, cls in all_estimators() if hasattr(assay, name)}
    assert len(theirs) > 20
    for name, cls in theirs.items():
        expected = [p for p in by_position(cls) if p not in NOT_OURS.get(name, [])]
        assert by_position(getattr(assay, name)) == expected, name


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_type_checkers_see_the_parameters_in_the_order_of_the_signature(case):
    lines = dict.fromkeys(name for base in reversed(case.cls.__mro__) for name in inspect.get_annotations(base))
    expected = by_position(case.cls)
    assert [name for name in lines if name in expected] == expected


def by_position(cls):
    kinds = {name: p.kind for name, p in inspect.signature(cls).parameters.items()}
    return [name for name, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]


def test_the_first_parameter_by_position():
    assert assay.RandomForestClassifier(7).n_estimators == 7
    assert assay.KNeighborsClassifier(3).n_neighbors == 3
    assert assay.MLPClassifier((4,), "tanh").activation == "tanh"
    with pytest.raises(TypeError, match="by position"):
        assay.SVC(1.0)
