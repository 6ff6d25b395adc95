"""Labels are found, ordered and turned into codes, whatever they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.engines import ArrayRows
from assay.engines.engine import Threads
from assay.engines.rows import LARGEST_BLOCK
from assay.errors import DataError, ParameterError
from assay.inputs.labels import Labels, class_multipliers, distinct, find_classes

whole = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1).map(lambda v: np.array(v, np.int64)),
    st.lists(st.integers(-50, 50), min_size=1).map(lambda v: np.array(v, np.int64)),
    st.lists(st.integers(0, 2**64 - 1), min_size=1).map(lambda v: np.array(v, np.uint64)),
    st.lists(st.integers(2**64 - 40, 2**64 - 1), min_size=1).map(lambda v: np.array(v, np.uint64)),
    st.lists(st.integers(-128, 127), min_size=1).map(lambda v: np.array(v, np.int8)),
    st.lists(st.booleans(), min_size=1).map(np.array),
    st.lists(st.integers(-(2**50), 2**50).map(float), min_size=1).map(np.array),
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5), min_size=1).map(np.array),
    st.lists(st.text(max_size=5), min_size=1).map(lambda v: np.array(v, object)),
)


@given(y=whole)
def test_codes_and_classes_give_the_labels_back(y):
    classes = distinct(y)
    assert np.array_equal(classes, np.unique(y))
    assert classes.dtype == y.dtype
    codes = Labels.of(classes).encode(y)
    assert codes.dtype == np.int64
    assert np.array_equal(classes[codes], y)


@settings(max_examples=20)
@given(y=whole)
def test_blocks_find_the_classes_of_the_whole(y):
    many = np.tile(y, 2 * LARGEST_BLOCK // len(y) + 2)  # more than one block
    found = find_classes(Threads(2), ArrayRows(np.zeros((len(many), 1)), many))
    assert np.array_equal(found, np.unique(y))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([0.0, np.nan]), "Input y contains NaN"),
        (np.array([0.0, np.inf]), "infinity"),
        (np.array([0.5, 1.0]), r"Unknown label type: continuous. y contains 0\.5, .*regressor"),
        (np.array(["a", None], object), "first at row 1"),
        (np.array(["a", np.nan], object), "NaN or None"),
        (np.array(["a", 1], object), r"mixes labels of kinds \['int', 'str'\]"),
    ],
)
def test_what_cannot_be_a_label_is_refused(y, message):
    with pytest.raises(DataError, match=message):
        distinct(y)


@pytest.mark.parametrize(
    ("classes", "y", "stranger"),
    [
        (np.array([0, 2]), np.array([0, 1]), "1"),
        (np.array([0, 2]), np.array([5]), "5"),
        (np.array([0, 2]), np.array([-1]), "-1"),
        (np.array([0, 2]), np.array([2.5]), "2.5"),
        (np.array(["a", "c"]), np.array(["b"]), "'b'"),
        (np.array([0, 10**6]), np.array([7]), "7"),
    ],
)
def test_an_unknown_label_is_named(classes, y, stranger):
    with pytest.raises(DataError, match=rf"label\(s\) \[{stranger}\] in y do not exist in the initial classes \[['0a]"):
        Labels.of(classes).encode(y)


def test_text_and_numbers_do_not_mix():
    message = "y holds whole numbers such as 1, but the classes are text such as 'a': use one kind of label"
    with pytest.raises(DataError, match=message):
        Labels.of(np.array(["a", "b"])).encode(np.array([1, 2]))


def test_class_weights_multiply():
    classes, counts = np.array(["a", "b"]), np.array([1.0, 3.0])
    assert class_multipliers(None, classes, counts).tolist() == [1, 1]
    assert (class_multipliers("balanced", classes, counts) * counts).tolist() == [2, 2]
    assert class_multipliers({"b": 5}, classes, counts).tolist() == [1, 5]
    with pytest.raises(ParameterError, match=r"names the class 'c', which does not occur. Classes: \['a', 'b'\]"):
        class_multipliers({"c": 5}, classes, counts)
    assert class_multipliers("balanced", classes, np.array([0.0, 3.0])).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("classes", "given"),
    [
        (np.array([0, 1]), {"1": 5}),
        (np.array([0, 1]), {1: 5}),
        (np.array([0, 1]), {np.int8(1): 5}),
        (np.array([0.0, 1.0]), {"1": 5}),
        (np.array([0.0, 1.0]), {"1.0": 5}),
        (np.array([False, True]), {"true": 5}),
        (np.array([False, True]), {"True": 5}),
        (np.array([0, 1], object), {"1": 5}),
        (np.array(["0", "1"]), {"1": 5}),
    ],
)
def test_class_weights_of_json_name_numbers_and_truth_values_by_their_text(classes, given):
    assert class_multipliers(given, classes, np.ones(2)).tolist() == [1, 5]


def test_a_number_does_not_name_a_class_of_text():
    with pytest.raises(ParameterError, match=r"names the class 1, which does not occur. Classes: \['0', '1'\]"):
        class_multipliers({1: 5}, np.array(["0", "1"]), np.ones(2))


@pytest.mark.parametrize(("y", "shown"), [(np.array(["x", "x"]), "'x'"), (np.array([0, 0]), "0")])
def test_a_single_class_is_named_as_plainly_as_it_was_given(y, shown):
    with pytest.raises(DataError, match=f"only one class, {shown}: "):
        assay.LogisticRegression().fit([[0.0], [1.0]], y)
