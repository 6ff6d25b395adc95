"""Certificates of separability: true ones hold, tampered ones are refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from assay.certify import Certificate
from assay.families.perceptron.estimators import Perceptron
from assay.families.separability.separability import separability


def cloud(n=400, d=3, flipped=0.0):
    rng = np.random.default_rng(1)
    X, w = rng.standard_normal((n, d)), np.arange(1.0, d + 1)
    s = np.where(X @ w > 0, 1, -1)
    return X + 0.05 * s[:, None] * w, np.where(rng.random(n) < flipped, -s, s)


APART, MIXED = cloud(), cloud(flipped=0.1)
TOUCHING = np.array([[0.0, 1.0], [1.0, 2.0], [1.0, 3.0], [2.0, 5.0]]), np.array([0, 0, 1, 1])
TOUCHING = np.append(TOUCHING[0], [[1.0, 2.0]], axis=0), np.append(TOUCHING[1], 1)


def verdict(claim, table):
    (found,) = Certificate((claim,)).verify(*table)
    return found


def claims_of(table):
    return {claim.check: claim for claim in separability(*table).certificate}


def test_every_claim_of_each_kind_of_table_holds():
    kinds = set()
    for table in (APART, MIXED, TOUCHING):
        verdicts = separability(*table).certificate.verify(*table)
        assert verdicts.holds, str(verdicts)
        kinds |= set(claims_of(table))
    assert len(kinds) == 5


def tampered(claim, **witness):
    return replace(claim, witness={**claim.witness, **witness})


def test_a_hyperplane_with_a_row_on_the_wrong_side_is_refused():
    claim = claims_of(APART)["separability_hyperplane"]
    X, y = APART
    assert verdict(claim, APART).holds
    assert not verdict(tampered(claim, coef=-claim.witness["coef"]), APART).holds
    assert not verdict(tampered(claim, intercept=claim.witness["intercept"] + 1.0), APART).holds
    assert not verdict(replace(claim, value=1.01 * claim.value), APART).holds
    assert not verdict(replace(claim, value=0.9 * claim.value), APART).holds
    assert not verdict(tampered(claim, coef=claim.witness["coef"][:2]), APART).holds
    assert not verdict(tampered(claim, positive="nobody"), APART).holds
    assert not verdict(claim, (np.vstack([X, X[:1]]), np.append(y, -y[0]))).holds
    assert not verdict(tampered(claim, coef=np.full(3, np.nan)), APART).holds


def test_a_margin_that_is_not_the_greatest_is_refused():
    claim = claims_of(APART)["separability_margin"]
    assert verdict(claim, APART).holds
    rows = claim.witness["rows"]
    elsewhere = (rows + 1) % len(APART[1])
    assert not verdict(tampered(claim, rows=elsewhere), APART).holds
    assert not verdict(tampered(claim, weights=claim.witness["weights"][::-1].copy()), APART).holds
    assert not verdict(tampered(claim, weights=-claim.witness["weights"]), APART).holds
    assert not verdict(tampered(claim, rows=np.append(rows[:-1], 10**6)), APART).holds
    assert not verdict(tampered(claim, intercept=claim.witness["intercept"] + 1e-4), APART).holds
    assert not verdict(replace(claim, bound=0.5), APART).holds


def test_weights_with_which_the_hulls_do_not_meet_are_refused():
    claim = claims_of(MIXED)["separability_hulls"]
    assert claim.kind == "proof"
    assert verdict(claim, MIXED).holds
    rows, weights = claim.witness["rows"], claim.witness["weights"]
    bad = weights.copy()
    bad[0] *= 1.01
    assert not verdict(tampered(claim, weights=bad), MIXED).holds
    assert not verdict(tampered(claim, rows=(rows + 1) % len(MIXED[1])), MIXED).holds
    assert not verdict(tampered(claim, rows=rows[1:], weights=weights[1:]), MIXED).holds
    assert not verdict(tampered(claim, rows=np.repeat(rows[:1], len(rows))), MIXED).holds
    assert not verdict(tampered(claim, rows=np.arange(40), weights=np.ones(40)), MIXED).holds
    assert not verdict(claim, APART).holds


def test_rows_of_no_weight_prove_nothing():
    claim = claims_of(MIXED)["separability_hulls"]
    weights = np.ones(len(MIXED[1]))
    weights[claim.witness["rows"][0]] = 0.0
    (found,) = Certificate((claim,)).verify(*MIXED, sample_weight=weights)
    assert not found.holds


def test_an_estimate_must_be_close_and_is_never_read_as_a_proof():
    claim = replace(claims_of(MIXED)["separability_hulls"], kind="estimate")
    assert verdict(claim, MIXED).holds
    weights = claim.witness["weights"].copy()
    weights[0] *= 1 + 1e-6
    assert not verdict(tampered(claim, weights=weights), MIXED).holds


def test_a_bound_for_another_hyperplane_or_space_is_refused():
    claim = claims_of(APART)["separability_bound"]
    assert verdict(claim, APART).holds
    assert not verdict(replace(claim, value=0.5 * claim.value), APART).holds
    assert not verdict(tampered(claim, space="affine"), APART).holds
    assert not verdict(tampered(claim, coef=claim.witness["coef"] * [1.0, 1.0, 1.5]), APART).holds


def test_a_direction_with_rows_on_both_sides_is_not_weakly_separating():
    claim = claims_of(TOUCHING)["separability_weak"]
    assert verdict(claim, TOUCHING).holds
    assert not verdict(tampered(claim, coef=-claim.witness["coef"]), TOUCHING).holds
    assert not verdict(tampered(claim, coef=np.zeros(2), intercept=0.0), TOUCHING).holds
    assert not verdict(tampered(claim, intercept=claim.witness["intercept"] + 0.1), TOUCHING).holds


@pytest.mark.parametrize("d", [120, 200])
def test_many_columns_are_proved_too(d):
    rng = np.random.default_rng(d)
    X, y = rng.standard_normal((1500, d)), rng.integers(0, 2, 1500)
    found = separability(X, y)
    assert found.certificate.claims[0].kind == "proof"
    assert found.certificate.verify(X, y).holds


NEARLY = [
    (
        [
            [1e-31, -2e-42, 2e-36, -2e-39],
            [1e-31, 0.0, -1e-36, -1e-39],
            [1e-31, -1e-42, -1e-36, 1e-39],
            [1e-31, 0.0, -2e-36, 0.0],
        ],
        [0, 1, 1, 0],
    ),
    (
        [
            [10014.525025670733, 10000.002905005134, 9933.520873590649],
            [9975.725459588262, 9999.995145091918, 10115.811153995264],
            [10041.682764642803, 10000.008336552928, 9818.831320228004],
            [10041.682764642803, 10000.008336552928, 9818.831320228004],
            [10021.2625495716, 10000.004252509914, 10088.25186319747],
            [9900.466684156165, 9999.980093336831, 10090.341554246435],
        ],
        [1, 1, 0, 1, 0, 0],
    ),
    (
        [
            [100017.73917608648, 100000.0011893679],
            [99996.81641279827, 100000.0021743369],
            [100005.61798119317, 99999.9992289696],
            [99993.0925145405, 100000.0006171088],
            [99973.30185623851, 100000.00130320669],
            [100011.53441354094, 99999.99935986011],
            [100010.15920577712, 99999.99938873255],
        ],
        [0, 0, 1, 0, 2, 2, 2],
    ),
    (
        [
            [100000.00082023126, 99999.99914280887, 100000.1429957526],
            [99999.99963445071, 100000.00030340598, 99999.94186606658],
            [99999.99932701114, 100000.0004045224, 99999.76900530244],
            [99999.99844155948, 99999.99918880124, 100000.19459619434],
            [99999.99974725812, 99999.99895221759, 99999.85054356616],
        ],
        [0, 1, 0, 1, 1],
    ),
]


@pytest.mark.parametrize(("X", "y"), NEARLY, ids=["flat", "weak", "three", "lifted"])
def test_what_rounding_hides_of_a_margin_is_not_claimed(X, y):
    certificate = separability(X, y).certificate
    verdicts = certificate.verify(X, y)
    assert all(v.holds for v in verdicts), str(verdicts)


def test_a_margin_within_rounding_is_stated_without_rounding():
    """Columns of 7 (1 + k EPS): every row is on its side by less than its score is rounded by."""
    X = np.array([[1.0, 7.000000000000002], [1.0, 7.0000000000000036], [0.0, 7.0], [0.0, 7.0000000000000036]])
    y = [-1, 1, -1, -1]
    with pytest.warns(UserWarning, match="raise max_iter"):
        certificate = Perceptron(max_iter=5).fit(X, y).certify(X, y)
    verdicts = certificate.verify(X, y)
    assert verdicts.holds, str(verdicts)
    (claim,) = (claim for claim in certificate if claim.check == "separability_hyperplane")
    assert 0 < claim.value <= least_exactly(X, y, claim.witness) * (1 + 1e-9)
    assert not verdict(replace(claim, value=2 * claim.value), (X, y)).holds


def least_exactly(X, y, plane):
    w, b = [Fraction(float(v)) for v in plane["coef"]], Fraction(float(plane["intercept"]))
    rows = ([Fraction(float(v)) for v in x] for x in X)
    s = [1 if label == plane["positive"] else -1 for label in y]
    length = np.linalg.norm([*plane["coef"], *([plane["intercept"]] if plane["space"] == "augmented" else [])])
    return min(float(t * (sum(u * v for u, v in zip(w, x)) + b)) for t, x in zip(s, rows)) / length


@pytest.mark.parametrize("scale", [1.0, 1e9])
def test_a_direction_that_rounding_alone_puts_right_is_not_claimed(scale):
    X = np.array(
        [[-0.0003862143461775013], [-0.0003862143461775012], [-0.00038621434617750107], [-0.0003862143461775012]]
    )
    y = np.array([-1, -1, 1, 1])
    certificate = Perceptron(order="random").fit(scale * X, y).certificate_
    found = certificate.verify(scale * X, y)
    assert all(v.holds for claim, v in zip(certificate.claims, found) if claim.holds), found
