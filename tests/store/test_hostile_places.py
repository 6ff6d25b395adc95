"""Whole numbers by which loops and NumPy read: declared in the layout with what they are places of, and refused beyond it."""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES
from store.hostile import document, every_case, file_of, parts, refused, with_arrays, with_document

from assay.estimator.layout import Fact, Tensor
from assay.families import models

#: whole numbers by which nothing is read: counts, sides, flags, sets of bits
AMOUNTS = {
    "category_code_",  # a byte, the number of one of 256 bits
    "cells_",
    "class_rows_",
    "folds_",  # of each row: only compared
    "leaf_rows_",
    "lost_",
    "lost_rows_",
    "member_times_",
    "missing_columns_",
    "missing_left_",
    "n_iter_",
    "sets_",
    "support_sides_",
    "votes_",
    "won_",
    "won_rows_",
}
#: numbers of rows of the fit, which no file holds: checkers alone read by them, and look first whether there are such rows
OF_ROWS = {"dual_rows_", "perceptron.support_"}


def test_every_whole_number_is_declared_as_a_place_or_as_an_amount():
    for model, cls in models().items():
        for name, part in cls.layout.items():
            if isinstance(part, Tensor) and np.dtype(part.dtype).kind in "iu":
                known = name in AMOUNTS or {name, f"{model}.{name}"} & OF_ROWS
                assert bool(part.index or part.most) != bool(known), f"{model}: {name}"
            if isinstance(part, Tensor) and (part.index or part.most):
                dims = {dim for other in cls.layout.values() if isinstance(other, Tensor) for dim in other.dims}
                counts = {n for n, other in cls.layout.items() if isinstance(other, Fact) and other.kind is int}
                classes = {"K"} if cls.kind_of({}) == "classifier" else set()  # which every file of a classifier lists
                assert (part.index or part.most) in dims | counts | classes, f"{model}: {name}"


@every_case
def test_a_value_cannot_stand_in_for_an_array_nor_an_array_for_a_value(case):
    data = file_of(case)
    doc = document(data)
    for name, part in case.cls.layout.items():
        if isinstance(part, Tensor):
            for value in ([-7] * 40, -7, [[0.5] * 3] * 3, None, "x"):
                refused(with_document(data, {**doc, "facts": {**doc["facts"], name: value}}))
        else:
            refused(with_arrays(data, lambda arrays, name=name: {**arrays, name: np.zeros(3)}))


@every_case
def test_places_beyond_what_there_is_are_refused(case):
    data = file_of(case)
    for name in [n for n in parts(data)[0] if n in case.cls.layout]:
        part = case.cls.layout[name]
        if not (part.index or part.most) or 0 in parts(data)[0][name]["shape"]:
            continue
        ends = np.iinfo(part.dtype)
        for value in {int(ends.max), int(ends.max) - 1, *([int(ends.min), -5] if ends.min < 0 else [])}:
            for place in (0, -1, slice(None)):

                def change(arrays, name=name, value=value, place=place):
                    arrays[name].ravel()[place] = value
                    return arrays

                refused(with_arrays(data, change))


@pytest.mark.parametrize("name", ["decision-tree", "random-forest", "extra-regressor"])
def test_amounts_whose_sum_overflows_are_refused(name):
    data = file_of(next(case for case in CASES if case.name == name))

    def change(arrays):
        n = len(arrays["feature_"])
        return {**arrays, "nodes_": np.array([2**63 - 1, 2**63 - 1, 2 + n], dtype=np.int64)}

    refused(with_arrays(data, change))


@pytest.mark.parametrize("name", ["decision-tree", "random-forest", "extra-regressor"])
def test_a_tree_cannot_ask_for_a_column_whose_number_its_nodes_cannot_hold(name):
    data = file_of(next(case for case in CASES if case.name == name))
    doc = {**document(data), "n_features": 1 << 31, "names": None}

    def change(arrays):
        arrays["feature_"][arrays["feature_"] >= 0] = 1 << 24
        return arrays

    refused(with_arrays(with_document(data, doc), change))
