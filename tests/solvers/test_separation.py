"""Separation by working set: right on every small table, proved either way, and the same bits wherever it runs."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from assay.engines import ArrayRows, SparseRows, engine, engine_for
from assay.errors import DataError, OneClassError, ParameterError
from assay.families.linear.linear_svc import projected_gradient
from assay.inputs.labels import Labels, find_classes
from assay.inputs.rows import as_sparse
from assay.solvers.separation import exact
from assay.solvers.separation.exact import decide
from assay.solvers.separation.hulls import nearest_points
from assay.solvers.separation.separation import hard_margin, separate


def run(X, y, w=None, **options):
    rows = ArrayRows(np.asarray(X, dtype=np.float64), np.asarray(y), w)
    where = engine_for(rows)
    return separate(where, rows, Labels.of(find_classes(where, rows)), **options)


def sides_of(y):
    return np.where(np.asarray(y) == np.max(y), 1, -1)


def by_one_program(X, y):
    """(separable, weakly separable) by one linear program each."""
    s, (n, d) = sides_of(y), X.shape
    A = -s[:, None] * np.column_stack([X, np.ones(n)])
    strict = linprog(np.zeros(d + 1), A_ub=A, b_ub=-np.ones(n), bounds=(None, None)).status == 0
    cost = np.concatenate([np.zeros(d + 1), -np.ones(n)])
    bounds = [(None, None)] * (d + 1) + [(0, 1)] * n
    most = -linprog(cost, A_ub=np.column_stack([A, np.eye(n)]), b_ub=np.zeros(n), bounds=bounds).fun
    return strict, most > 1e-7


@st.composite
def small_tables(draw):
    n, d, m = draw(st.integers(2, 10)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    X = draw(st.lists(st.lists(st.integers(-m, m), min_size=d, max_size=d), min_size=n, max_size=n))
    y = draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))
    return np.array(X, dtype=np.float64), np.array([0, 1, *y])


def evidence_holds(X, y, found):
    """The evidence of a verdict, checked in the plainest way."""
    s = sides_of(y)
    if found.separable:
        values = s * (X @ found.coef + found.intercept)
        v = (found.weights * found.sides) @ X[found.rows]
        assert np.isclose(np.linalg.norm(found.coef), 1.0)
        assert np.isclose(values.min(), found.margin, rtol=1e-9)
        assert np.linalg.norm(v) / 2 <= found.margin * (1 + 1e-8)
        return
    assert found.exact
    assert len(found.rows) <= X.shape[1] + 2
    assert np.array_equal(found.sides, s[found.rows])
    alpha = [Fraction(a).limit_denominator(10_000) for a in found.weights]
    assert min(alpha) > 0
    assert [sum(a for a, t in zip(alpha, found.sides) if t == side) for side in (1, -1)] == [1, 1]
    for j in range(X.shape[1]):
        assert sum(a * int(t) * Fraction(X[i, j]) for a, t, i in zip(alpha, found.sides, found.rows)) == 0


@given(small_tables())
def test_the_verdict_is_that_of_one_linear_program_and_its_evidence_holds(table):
    X, y = table
    found = run(X, y)
    assert (found.separable, found.weak) == by_one_program(X, y)
    evidence_holds(X, y, found)


@given(small_tables(), st.lists(st.integers(-450, 450), min_size=4, max_size=4))
def test_units_of_columns_do_not_change_the_verdict(table, powers):
    X, y = table
    there, here = run(X * 2.0 ** np.array(powers[: X.shape[1]]), y), run(X, y)
    assert (there.separable, there.weak) == (here.separable, here.weak)


@given(small_tables())
def test_a_weak_direction_has_no_row_on_the_wrong_side(table):
    X, y = table
    found = run(X, y)
    if found.separable is False and found.weak:
        values = sides_of(y) * (X @ found.coef + found.intercept)
        assert values.min() >= -1e-9 * values.max()
        assert values.max() > 0


@given(small_tables())
def test_through_the_origin_the_verdict_is_that_of_the_doubled_rows(table):
    X, y = table
    found = run(X, y, space="linear")
    s = sides_of(y)
    strict = linprog(np.zeros(X.shape[1]), A_ub=-s[:, None] * X, b_ub=-np.ones(len(X)), bounds=(None, None)).status == 0
    assert found.separable == strict


CASES = {
    "xor": ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], False, False),
    "one row a class": ([[1, 2], [3, 4]], [0, 1], True, True),
    "the same row twice, with both labels": ([[1, 2], [1, 2], [5, 5]], [0, 1, 1], False, True),
    "all rows alike": ([[1, 2], [1, 2]], [0, 1], False, False),
    "points on a line, apart": ([[0, 0], [1, 1], [2, 2], [3, 3]], [0, 0, 1, 1], True, True),
    "points on a line, mixed": ([[0, 0], [1, 1], [2, 2]], [0, 1, 0], False, False),
    "one column, touching": ([[0], [1], [1], [2]], [0, 0, 1, 1], False, True),
    "fewer rows than columns": ([[1, 0, 0, 2, 1], [0, 1, 0, 1, 1], [0, 0, 1, 1, 3]], [0, 1, 1], True, True),
    "a constant column": ([[7, 0], [7, 1], [7, 2], [7, 3]], [0, 0, 1, 1], True, True),
    "tiny numbers": ([[1e-150, 2e-150], [3e-150, 1e-150]], [0, 1], True, True),
    "huge numbers": ([[1e150, 2e150], [3e150, 1e150], [2e150, 1.5e150]], [0, 1, 0], True, True),
    "one huge and one tiny column": (
        [[1e150, 0], [-1e150, 0], [1e150, 1e-150], [-1e150, 1e-150]],
        [0, 0, 1, 1],
        True,
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_odd_tables_get_the_right_verdict(name):
    X, y, separable, weak = CASES[name]
    found = run(X, y)
    assert (found.separable, found.weak) == (separable, weak), found


def test_large_offsets_do_not_hide_a_separator():
    X = 1e9 + np.array([[0.0], [1.0], [2.0], [3.0]])
    found = run(X, [0, 0, 1, 1])
    assert found.separable
    assert found.margin == pytest.approx(0.5, rel=1e-6)


def test_rows_told_apart_by_rounding_alone_are_undecided():
    rng = np.random.default_rng(72)
    undecided = []
    for _ in range(60):
        Z = rng.integers(-2, 3, (11, 4)).astype(float)
        y = np.append([0, 1], rng.integers(0, 2, 9))
        found = run(np.column_stack([Z, Z.sum(axis=1)]) * 0.1, y)
        separable, _ = by_one_program(Z, y)
        assert found.separable == separable or (found.separable is None and not separable)
        undecided.append(found.separable is None)
        assert found.reason
    assert any(undecided)


def test_rows_of_no_weight_do_not_count():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    assert run(X, y).separable is False
    assert run(X, y, np.array([1.0, 0.0, 1.0, 1.0])).separable
    with pytest.raises(OneClassError, match="class 1"):
        run(X, y, np.array([1.0, 0.0, 1.0, 0.0]))


def test_there_are_three_spaces():
    with pytest.raises(ParameterError, match="affine"):
        run([[0.0], [1.0]], [0, 1], space="projective")


def cloud(n, d, seed, margin=0.05, flipped=0.0):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    w /= np.linalg.norm(w)
    s = np.where(X @ w > 0, 1, -1)
    return X + margin * s[:, None] * w, np.where(rng.random(n) < flipped, -s, s)


@pytest.mark.parametrize("space", ["affine", "augmented", "linear"])
def test_margin_and_distance_of_the_hulls_agree_to_nine_digits(space):
    X, y = cloud(5000, 12, 3)
    found = run(X, y, space=space)
    assert found.separable
    assert 0 <= found.gap <= 1e-9
    assert found.margin >= 0.05 - 1e-9 or space == "augmented"
    values = y * (X @ found.coef + found.intercept)
    length = np.hypot(np.linalg.norm(found.coef), found.intercept if space == "augmented" else 0.0)
    assert length == pytest.approx(1.0)
    assert values.min() == pytest.approx(found.margin, rel=1e-9)


def test_columns_of_very_different_units_keep_the_margin_accurate():
    X, y = cloud(3000, 12, 11)
    found = run(X * 10.0 ** np.linspace(-4, 4, 12), y)
    assert found.separable
    assert found.gap <= 1e-6  # weights of 16 digits tell no more where R/γ is 1e10
    assert run(X + 1e5, y).gap <= 1e-8


def test_the_ratio_of_radius_and_margin_does_not_change_with_the_unit():
    X, y = cloud(2000, 5, 4)
    here, there = run(X, y), run(X * 1000.0, y)
    assert (there.radius / there.margin) ** 2 == pytest.approx((here.radius / here.margin) ** 2, rel=1e-9)
    assert there.margin == pytest.approx(1000 * here.margin, rel=1e-9)


def test_noisy_rows_in_many_columns_are_proved_inseparable():
    X, y = cloud(20_000, 60, 5, flipped=0.02)
    found = run(X, y)
    assert found.separable is False
    assert found.exact
    assert found.weak is False
    assert len(found.rows) == 62


def test_the_hard_margin_is_that_of_a_support_vector_machine():
    from sklearn.svm import SVC

    X, y = cloud(300, 4, 6, margin=0.3)
    found = hard_margin(run(X, y))
    peer = SVC(kernel="linear", C=1e8, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(found.coef, peer.coef_[0], rtol=1e-4)
    np.testing.assert_allclose(found.intercept, peer.intercept_[0], rtol=1e-3, atol=1e-3)
    assert (y * (X @ found.coef + found.intercept)).min() == pytest.approx(1.0)
    np.testing.assert_allclose((found.alpha * found.sides) @ X[found.rows], found.coef, rtol=1e-6)
    assert abs(found.alpha @ found.sides) <= 1e-9 * found.alpha.sum()
    total, w = found.alpha.sum(), (found.alpha * found.sides) @ X[found.rows]
    assert found.dual == pytest.approx(total - 0.5 * w @ w)
    assert found.primal == pytest.approx(0.5 * found.coef @ found.coef)
    assert 0 <= found.gap <= 1e-8


@pytest.mark.parametrize("eta", [0.2, 0.5, 1.0])
def test_projected_gradient_as_the_notes_write_it_reaches_the_same_hyperplane(eta):
    X, y = cloud(25, 2, 7, margin=0.4)
    X = X + 3.0  # so that the first projection, which counts w₀ too, is not yet the answer
    found = hard_margin(run(X, y))
    states = list(islice(projected_gradient(X, y, eta), 400))
    objective = np.array([state.objective for state in states])
    assert states[0].t == 0
    assert abs(objective[0] - found.primal) > 1e-6 * found.primal
    assert (np.diff(objective) <= 1e-7 * found.primal).all()
    assert objective[-1] == pytest.approx(found.primal, rel=1e-6)
    np.testing.assert_allclose(states[-1].w, found.coef, rtol=1e-4)
    assert states[-1].least >= 1 - 1e-9


def test_projected_gradient_says_that_rows_cannot_be_separated():
    with pytest.raises(DataError, match="No hyperplane"):
        next(projected_gradient(np.array([[0.0], [1.0], [2.0]]), np.array([1, -1, 1])))


def test_projected_gradient_refuses_steps_that_diverge():
    with pytest.raises(ParameterError, match="eta"):
        next(projected_gradient(np.eye(2), np.array([1, -1]), 2.0))


def test_sparse_rows_give_the_verdict_and_the_margin_of_dense_ones():
    import scipy.sparse

    rng = np.random.default_rng(8)
    X = scipy.sparse.random(300, 40, 0.1, format="csr", random_state=8, data_rvs=rng.standard_normal)
    for y in (rng.integers(0, 2, 300), (X.toarray() @ rng.standard_normal(40) > 0.1).astype(int)):
        rows = SparseRows(as_sparse(X), y)
        where = engine_for(rows)
        there, here = separate(where, rows, Labels.of(np.unique(y))), run(X.toarray(), y)
        assert there.separable == here.separable
        assert there.weak == here.weak
        assert there.margin == pytest.approx(here.margin, rel=1e-7)
        assert there.radius == pytest.approx(here.radius)


def test_wide_sparse_rows_need_only_the_columns_that_occur():
    import scipy.sparse

    X = scipy.sparse.random(400, 50_000, 2e-3, format="csr", random_state=9)
    y = np.random.default_rng(9).integers(0, 2, 400)
    rows = SparseRows(as_sparse(X), y)
    found = separate(engine_for(rows), rows, Labels.of(np.unique(y)))
    assert found.separable
    values = sides_of(y) * (X @ found.coef + found.intercept)
    assert values.min() == pytest.approx(found.margin, rel=1e-8)
    assert found.gap <= 1e-8


@pytest.mark.parametrize("flipped", [0.0, 0.001])
def test_every_engine_gives_the_same_bits(flipped, client):
    X, y = cloud(300_000, 3, 10, margin=0.01, flipped=flipped)
    rows, labels = ArrayRows(X, y), Labels.of(np.array([-1, 1]))
    places = [engine("threads", workers=k) for k in (1, 2, 5)] + [engine("stream"), engine("cluster", client)]
    found = [separate(place, place.open(rows), labels) for place in places]
    for other in found[1:]:
        for a, b in zip(found[0], other):
            assert np.array_equal(a, b)


@given(st.integers(0, 10_000))
def test_nearest_points_satisfy_their_optimality_conditions(seed):
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(4, 30)), int(rng.integers(1, 6))
    group = np.append([0, 1], rng.integers(0, 2, m - 2))
    A = rng.standard_normal((m, d)) + np.where(rng.random() < 0.5, 2.0, 0.0)
    near = nearest_points(A, group, 2)
    assert near.weights.min() >= 0
    for g in (0, 1):
        assert near.weights[group == g].sum() == pytest.approx(1.0)
    v = near.weights @ A
    if near.meets:
        assert np.linalg.norm(v) <= 1e-13 * np.abs(A).max()
        return
    slack = A @ v - np.array([(A @ v)[(group == g) & (near.weights > 0)].min() for g in (0, 1)])[group]
    assert slack.min() >= -1e-9 * (v @ v)


@given(st.integers(0, 10_000))
def test_elimination_in_whole_numbers_solves_exactly(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    A, x = rng.integers(-4, 5, (n, n)), [Fraction(int(p), int(q)) for p, q in rng.integers(1, 9, (n, 2))]
    c = [sum(int(a) * v for a, v in zip(row, x)) for row in A]
    below = int(np.prod([v.denominator for v in c], dtype=object))
    found = exact.solve([[*(int(a) * below for a in row), int(v * below)] for row, v in zip(A, c)])
    if round(np.linalg.det(A)) != 0:
        assert found == x
    else:
        assert found is None


@given(small_tables())
def test_the_simplex_method_in_whole_numbers_decides_as_the_search_does(table):
    X, y = table
    s = sides_of(y)
    found = decide(X, s, False, np.zeros(len(X), dtype=bool))
    assert (found.at is None) == run(X, y).separable
    if found.at is None:
        assert (s * (X @ found.w + found.b)).min() > 0
    else:
        assert exact.meeting_weights(X[found.at], s[found.at]) is not None


def test_a_positive_solution_is_proved_only_where_it_is_positive():
    M = np.array([[2.0, 1.0], [1.0, 3.0]])
    np.testing.assert_allclose(exact.surely_positive(M, M @ [0.25, 0.5]), [0.25, 0.5])
    assert exact.surely_positive(M, M @ [0.25, -0.5]) is None
    assert exact.surely_positive(M, M @ [0.25, 1e-17]) is None
    assert exact.surely_positive(np.array([[1.0, 1.0], [1.0, 1.0]]), np.ones(2)) is None
    assert exact.surely_positive(np.ones((2, 1)), np.ones(2)) is None


def test_rows_that_would_take_too_many_to_weigh_are_undecided_and_say_so(monkeypatch):
    from assay.solvers.separation import hulls, working_set

    X, y = cloud(2000, 30, 12, margin=0.001)
    monkeypatch.setattr(hulls, "MOST_ACTIVE", 10)
    monkeypatch.setattr(working_set, "MOST_ACTIVE", 10)
    found = run(X, y)
    assert found.separable is None or found.gap > 1e-9
    assert found.separable is not None or "too long" in found.reason
    noisy = run(X, np.random.default_rng(0).permutation(y))
    assert noisy.separable is None
    assert "too long" in noisy.reason


def test_weights_are_convex_to_the_last_digit():
    for seed in range(20):
        X, y = cloud(200, 3, seed, flipped=0.1)
        assert run(X, y).weights.max() <= 1.0


@pytest.mark.parametrize("space", ["affine", "linear"])
def test_a_hyperplane_that_is_known_is_where_the_search_begins(space):
    X, y = cloud(3000, 8, 13)
    cold = run(X, y, space=space)
    warm = run(X, y, space=space, start=(cold.coef * 7.0, cold.intercept * 7.0))
    assert warm.margin == pytest.approx(cold.margin, rel=1e-9)
    assert warm.passes < cold.passes
    wrong = run(X, y, space=space, start=(-cold.coef, cold.intercept))
    assert wrong.margin == pytest.approx(cold.margin, rel=1e-9)
    nowhere = run(X, y, space=space, start=(0.0 * cold.coef, 0.0))
    assert nowhere.margin == pytest.approx(cold.margin, rel=1e-9)
