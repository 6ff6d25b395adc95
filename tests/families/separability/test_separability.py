"""`separability` and `margin`: what a user asks and is told."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.errors import DataError, OneClassError
from assay.families.separability.separability import Overlap, SeparatingHyperplane, margin, separability

X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 1.0]])


def test_separable_rows_get_a_hyperplane_its_margin_and_the_perceptrons_bound():
    found = separability(X, ["no", "no", "yes", "yes"])
    assert found.separable is True
    assert found.weak is True
    assert isinstance(found.witness, SeparatingHyperplane)
    assert found.margin == pytest.approx(np.sqrt(5) / 2)
    assert found.radius == pytest.approx(np.sqrt(17))
    assert found.ratio == found.bound
    assert np.array_equal(found.support.rows, [1, 2])
    values = X @ found.witness.coef + found.witness.intercept
    assert np.all((values > 0) == [False, False, True, True])
    assert found.certificate.verify(X, ["no", "no", "yes", "yes"]).holds


def test_the_bound_is_novikoffs_with_a_one_before_each_row():
    y = np.array([0, 0, 1, 1])
    found = separability(X, y)
    lifted, s = np.column_stack([np.ones(4), X]), np.array([-1, -1, 1, 1])
    w, mistakes = np.zeros(3), 0
    for _ in range(1000):  # a perceptron makes no more mistakes than that
        for x, t in zip(lifted, s):
            if t * (w @ x) <= 0:
                w, mistakes = w + t * x, mistakes + 1
    assert 0 < mistakes <= found.bound
    candidates = np.random.default_rng(0).standard_normal((200_000, 3))
    best = (s * (candidates @ lifted.T)).min(axis=1) / np.linalg.norm(candidates, axis=1)
    assert found.bound <= 18 / best.max() ** 2 * (1 + 1e-9)
    assert found.bound == pytest.approx(18 / best.max() ** 2, rel=0.05)


def test_rows_that_no_hyperplane_separates_get_the_rows_that_prove_it():
    rows, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    found = separability(rows, y)
    assert found.separable is False
    assert found.margin == 0.0
    assert found.bound == np.inf
    assert isinstance(found.witness, Overlap)
    assert np.array_equal(found.witness.rows, [0, 1, 2, 3])
    assert np.allclose(found.witness.weights, 0.5)
    assert found.certificate.verify(rows, y).holds


def test_touching_classes_are_weakly_separable_and_a_warning_says_what_that_means():
    found = separability([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
    assert found.separable is False
    assert found.weak is True
    assert "maximum-likelihood" in str(found.certificate)
    assert found.certificate.verify([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]).holds


def test_more_than_two_classes_are_each_set_against_the_others():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    found = separability(X, names)
    assert found.separable is False
    assert {c: v.separable for c, v in found.per_class.items()} == {
        "setosa": True,
        "versicolor": False,
        "virginica": False,
    }
    assert found.certificate.verify(X, names).holds
    assert "'setosa': separable: yes" in str(found)
    corners = separability([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], [0, 1, 2])
    assert corners.separable is True
    assert corners.margin == min(v.margin for v in corners.per_class.values()) > 0


def test_the_text_tells_verdict_margin_and_rows():
    text = str(separability(X, [0, 0, 1, 1]))
    assert "separable: yes" in text
    assert "class 1: 2 (1)" in text
    assert "separable: no" in str(separability([[0.0], [0.0]], [0, 1]))
    assert "Hyperplane" in repr(separability(X, [0, 0, 1, 1]))


def test_the_margin_is_the_number_asked_for():
    found = margin(X, [0, 0, 1, 1])
    assert float(found) == found.margin == pytest.approx(np.sqrt(5) / 2)
    assert found.ratio == found.bound
    assert found.certificate.verify(X, [0, 0, 1, 1]).holds


def test_a_margin_that_does_not_exist_is_an_error_that_names_the_rows():
    with pytest.raises(DataError, match=r"rows 0 \(0\.5\), 1 \(1\), 2 \(0\.5\)"):
        margin([[0.0], [1.0], [2.0]], [0, 1, 0])
    with pytest.raises(DataError, match="two classes"):
        margin([[0.0], [1.0], [2.0]], [0, 1, 2])


def test_weights_of_zero_take_rows_out():
    rows, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    assert separability(rows, y).separable is False
    assert separability(rows, y, sample_weight=[1, 1, 0]).separable is True


def test_sparse_rows_are_taken_as_they_are():
    import scipy.sparse

    found = separability(scipy.sparse.csr_matrix(X), [0, 0, 1, 1])
    assert found.margin == pytest.approx(np.sqrt(5) / 2)
    assert found.certificate.verify(scipy.sparse.csr_matrix(X), [0, 0, 1, 1]).holds


def test_frames_and_float32_are_taken():
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b"])
    assert separability(frame, [0, 0, 1, 1]).certificate.verify(frame, [0, 0, 1, 1]).holds
    assert separability(X.astype(np.float32), [0, 0, 1, 1]).margin == pytest.approx(np.sqrt(5) / 2)


@pytest.mark.parametrize(
    ("rows", "y", "error", "words"),
    [
        (X, [0, 0, 0, 0], OneClassError, "only one class"),
        (X, None, DataError, "needs the classes"),
        ([[np.nan], [1.0]], [0, 1], DataError, "NaN"),
        ([[np.inf], [1.0]], [0, 1], DataError, "infinity"),
        (X, [0.5, 1.5, 2.5, 0.1], DataError, "continuous"),
        (X, [0, 1], DataError, "inconsistent"),
    ],
)
def test_what_cannot_be_separated_is_refused_with_words(rows, y, error, words):
    with pytest.raises(error, match=words):
        separability(rows, y)


def test_a_table_of_text_is_refused_by_the_name_of_its_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,kind\n1,x,p\n2,y,q\n")
    with pytest.raises(DataError, match="'b' holds text"):
        separability(assay.rows(str(path), target="kind"))


def test_the_ratio_is_the_bound_of_the_space_in_which_a_perceptron_runs():
    rows, y = [[0.1], [0.2]], [0, 1]
    found = separability(rows, y)
    mistakes = assay.Perceptron().fit(rows, y).mistakes_
    assert found.ratio == found.bound == pytest.approx(425, rel=1e-3)
    assert found.margin == pytest.approx(0.05)
    assert mistakes <= found.ratio
    assert "= 16" not in str(found)


def test_without_an_intercept_the_bound_is_the_notes_and_does_not_change_with_the_unit():
    rows, y = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -0.5], [-2.0, 1.0]]), [1, 1, 0, 0]
    found, stretched = (separability(k * rows, y, fit_intercept=False) for k in (1.0, 1000.0))
    assert found.bound == pytest.approx((found.radius / found.margin) ** 2)
    assert found.bound == pytest.approx(stretched.bound)
    assert found.witness.intercept == 0.0
    assert assay.Perceptron(fit_intercept=False).fit(rows, y).mistakes_ <= found.bound
    assert found.certificate.verify(rows, y).holds
    assert any(claim.check == "separability_bound" for claim in found.certificate.claims)
    assert "R²/γ²" in str(found)
    assert "x̃" not in str(found)
    assert margin(rows, y, fit_intercept=False).bound == found.bound


def test_rows_that_only_an_intercept_separates_are_not_separable_without_one():
    assert separability([[1.0], [2.0]], [0, 1]).separable is True
    assert separability([[1.0], [2.0]], [0, 1], fit_intercept=False).separable is False
