"""Where every row is a neighbour none can be left out: the certificate says what holds all the same, and is checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import assay

rng = np.random.default_rng(0)
X = rng.integers(0, 3, (9, 2)).astype(float)
MODELS = [
    (assay.KNeighborsClassifier, np.arange(9) % 2),
    (assay.KNeighborsRegressor, rng.normal(size=9)),
]


@pytest.mark.parametrize(("cls", "y"), MODELS)
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_a_fit_of_as_many_neighbours_as_rows_makes_claims_that_are_checked(cls, y, weights, tmp_path):
    model = cls(len(X), weights=weights).fit(X, y)
    assert model.certificate_.holds
    assert "asked as they are" in model.certificate_["exact neighbours"].statement
    model.save(tmp_path / "m.assay")
    verdicts = assay.load(tmp_path / "m.assay").certificate_.verify(X, y)
    assert verdicts.holds, str(verdicts)


def test_fractional_weights_that_add_up_to_less_than_one_vote_more_are_neighbours_all(tmp_path):
    y, w = np.arange(9) % 2, np.full(9, 0.5)
    model = assay.KNeighborsClassifier(4).fit(X, y, sample_weight=w)
    assert model.certificate_.verify(X, y, sample_weight=w).holds


def test_other_answers_and_rows_left_out_in_words_alone_are_refused():
    y = np.arange(9) % 2
    certificate = assay.KNeighborsClassifier(9).fit(X, y).certificate_
    exact = certificate["exact neighbours"]
    for change in ({"answers": exact.witness["answers"] + 1}, {"by_distance": True}, {"k": 3}):
        wrong = replace(exact, witness={**exact.witness, **change})
        assert not replace(certificate, claims=(wrong,), own=None).verify(X, y).holds


def test_rows_that_are_too_few_to_answer_have_no_certificate():
    model = assay.KNeighborsClassifier(5).partial_fit(X[:3], [0, 1, 0], classes=[0, 1])
    assert not model.certificate_.claims
    assert model.certificate_.holds is False


@pytest.mark.parametrize("metric", ["learned", "mahalanobis"])
def test_a_row_that_a_map_takes_beyond_all_numbers_is_refused_by_name(metric):
    rows = np.random.default_rng(1).normal(size=(60, 3)) * 1e-3
    model = assay.KNeighborsClassifier(3, metric=metric).fit(rows, np.arange(60) % 3)
    with pytest.raises(assay.errors.DataError, match="overflow"):
        model.predict(np.full((1, 3), 1.7e308))
