"""The lecture notes' solver: the dual to very small gaps, whatever the kernel matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.svm import SVC, SVR

from assay import SVC as assay_svc
from assay.errors import DataError
from assay.families.kernel.functions import Kernel
from assay.families.kernel.svm.dual import DualProblem, classes_problem, measure, numbers_problem
from assay.families.kernel.svm.sqp import MOST_ROWS, sqp

INF = float("inf")
rng = np.random.default_rng(1)
N = 120
X = rng.normal(size=(N, 3))
Y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=N) > 0.7, 1.0, -1.0)
APART = np.where(X[:, 0] > 0, 1.0, -1.0)
NUMBERS = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=N)
W = rng.uniform(0.2, 3.0, N)
KERNELS = {
    "linear": (Kernel("linear"), {"kernel": "linear"}),
    "poly": (Kernel("poly", 0.5, 3.0, 1.0), {"kernel": "poly", "gamma": 0.5, "degree": 3, "coef0": 1.0}),
    "rbf": (Kernel("rbf", 0.5), {"kernel": "rbf", "gamma": 0.5}),
    "laplacian": (Kernel("laplacian", 0.3), {"kernel": lambda A, B: Kernel("laplacian", 0.3).block(A, B)}),
}


def solved(problem, tol=1e-10, **more):
    *_, state = sqp(problem, tol, **more)
    return state


def feasible(problem: DualProblem, alpha) -> bool:
    balance = abs(problem.sign @ alpha) <= 1e-12 * max(1.0, alpha.sum())
    return bool((alpha >= 0).all() and (alpha <= problem.upper).all() and balance)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("name", KERNELS)
def test_classes_are_solved_to_ten_digits(name, C):
    problem = classes_problem(KERNELS[name][0], X, Y, C * W)
    state = solved(problem)
    assert state.gap <= 1e-10
    assert feasible(problem, state.alpha)
    K = problem.kernel.block(X, X)
    assert measure(problem, state.alpha, K @ problem.coefficients(state.alpha), state.intercept).gap <= 1e-9


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", KERNELS)
def test_numbers_are_solved_to_ten_digits(name, C, epsilon):
    problem = numbers_problem(KERNELS[name][0], X, NUMBERS, C * W, epsilon)
    state = solved(problem)
    assert state.gap <= 1e-10
    assert feasible(problem, state.alpha)
    assert not np.any((state.alpha[:N] > 0) & (state.alpha[N:] > 0))


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("name", KERNELS)
def test_the_answer_is_that_of_libsvm(name, C):
    # libsvm keeps kernel values in float32: its own answer has five digits or so
    kernel, words = KERNELS[name]
    theirs = SVC(C=C, tol=1e-9, **words).fit(X, Y, W)
    problem = classes_problem(kernel, X, Y, C * W)
    state = solved(problem)
    beta = np.zeros(N)
    beta[theirs.support_] = theirs.dual_coef_[0]
    size = np.abs(theirs.decision_function(X)).max()
    np.testing.assert_allclose(state.values + state.intercept, theirs.decision_function(X), atol=1e-4 * size)
    found = measure(problem, np.abs(beta), kernel.block(X, X) @ beta, theirs.intercept_[0])
    assert state.dual >= found.dual - 1e-9 * found.primal
    if name in ("rbf", "laplacian"):  # the multipliers are unique
        np.testing.assert_allclose(problem.coefficients(state.alpha), beta, atol=1e-3 * C)
        assert set(np.flatnonzero(state.alpha)) == set(theirs.support_)


@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_numbers_are_those_of_libsvm(name):
    kernel, words = KERNELS[name]
    theirs = SVR(C=2.0, epsilon=0.1, tol=1e-9, **words).fit(X, NUMBERS, W)
    state = solved(numbers_problem(kernel, X, NUMBERS, 2.0 * W, 0.1))
    np.testing.assert_allclose(state.values + state.intercept, theirs.predict(X), atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_small_problems_are_those_of_a_general_solver(seed):
    draw = np.random.default_rng(seed)
    Z, y = draw.normal(size=(8, 2)), np.where(np.arange(8) % 2, 1.0, -1.0)
    problem = classes_problem(Kernel("rbf", 0.7), Z, y, np.full(8, 1.5))
    Q = problem.kernel.block(Z, Z) * y * y[:, None]
    general = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.full(8, 0.5),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, 1.5)] * 8,
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(solved(problem).alpha, general.x, atol=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_a_hard_margin_puts_every_row_on_its_side(name):
    problem = classes_problem(KERNELS[name][0], X, APART, np.full(N, INF))
    state = solved(problem)
    assert state.gap <= 1e-10
    assert (APART * (state.values + state.intercept)).min() >= 1 - 1e-6
    assert state.bound == pytest.approx(1 / np.sqrt(2 * state.primal))


def test_a_row_of_weight_w_is_w_rows():
    for kernel, _ in KERNELS.values():
        whole = rng.integers(1, 4, N)
        once = solved(classes_problem(kernel, X, Y, 1.0 * whole))
        copies = solved(classes_problem(kernel, np.repeat(X, whole, axis=0), np.repeat(Y, whole), np.ones(whole.sum())))
        assert once.primal == pytest.approx(copies.primal)
        np.testing.assert_allclose(np.repeat(once.values, whole), copies.values, atol=1e-6)


def test_a_row_of_weight_zero_is_no_row():
    weight = np.where(np.arange(N) % 3, 1.0, 0.0)
    there = weight > 0
    whole = solved(classes_problem(Kernel("rbf", 0.5), X, Y, weight))
    less = solved(classes_problem(Kernel("rbf", 0.5), X[there], Y[there], weight[there]))
    assert not whole.alpha[~there].any()
    np.testing.assert_allclose(whole.alpha[there], less.alpha, atol=1e-9)


@pytest.mark.parametrize(("C", "alpha", "b"), [(0.1, 0.1, -0.2), (1.0, 0.5, -1.0), (INF, 0.5, -1.0)])
def test_two_rows_have_the_answer_of_a_line(C, alpha, b):
    state = solved(classes_problem(Kernel("linear"), np.array([[0.0], [2.0]]), np.array([-1.0, 1.0]), np.full(2, C)))
    np.testing.assert_allclose(state.alpha, alpha)
    assert state.intercept == pytest.approx(b) or C == 0.1  # at both bounds every b in between is as good
    assert state.gap <= 1e-10


def test_multipliers_that_are_all_at_their_bound():
    half = np.where(np.arange(N) % 2, 1.0, -1.0)
    state = solved(classes_problem(Kernel("rbf", 0.5), X, half, np.full(N, 1e-6)))
    np.testing.assert_array_equal(state.alpha, 1e-6)
    assert state.gap <= 1e-10


def test_rows_that_are_all_equal_or_all_of_one_class():
    zero = solved(
        classes_problem(Kernel("linear"), np.zeros((9, 2)), np.where(np.arange(9) % 3, 1.0, -1.0), np.ones(9))
    )
    assert (zero.gap, zero.intercept, zero.primal) == (0.0, 1.0, 6.0)
    one = solved(classes_problem(Kernel("rbf", 1.0), X, np.ones(N), np.ones(N)))
    assert (one.gap, one.primal, one.alpha.any()) == (0.0, 0.0, False)


@pytest.mark.parametrize(
    "kernel", [Kernel("linear"), Kernel("rbf", 0.5), Kernel("laplacian", 1.0)], ids=lambda k: k.name
)
def test_a_hard_margin_that_does_not_exist_comes_to_an_end(kernel):
    Z, y = X.copy(), APART.copy()
    Z[1], y[1] = Z[0], -y[0]
    states = list(sqp(classes_problem(kernel, Z, y, np.full(N, INF)), 1e-6))
    assert len(states) < 100
    assert states[-1].gap == INF
    assert states[-1].bound <= 1e-7 * np.sqrt(kernel.diagonal(Z).max())


def test_classes_whose_hulls_meet_have_no_hard_margin_on_a_line():
    state = solved(classes_problem(Kernel("linear"), X, Y, np.full(N, INF)))
    assert state.gap == INF
    assert state.bound < 1e-6


def test_it_ends_where_rounding_allows_no_small_gap():
    for scale, C in ((1e8, 1.0), (1.0, 1e12), (np.array([1.0, 1e6, 1e-6]), 1e4)):
        problem = classes_problem(Kernel("linear"), X * scale, Y, np.full(N, C))
        states = list(sqp(problem, 1e-12))
        assert len(states) <= 320
        assert feasible(problem, states[-1].alpha)


def test_the_units_of_the_rows_do_not_matter():
    for scale in (1e-4, 1e4):
        state = solved(classes_problem(Kernel("linear"), X * scale, Y, np.full(N, 1.0 / scale**2)))
        assert state.gap <= 1e-10


def test_the_intercept_is_that_of_a_row_between_its_bounds():
    problem = classes_problem(Kernel("rbf", 0.5), X, Y, np.ones(N))
    state = solved(problem)
    free = (state.alpha > 0) & (state.alpha < 1)
    np.testing.assert_allclose(Y[free] - state.values[free], state.intercept, atol=1e-8)


def test_a_solution_to_begin_at_is_known_at_once():
    problem = classes_problem(Kernel("rbf", 0.5), X, Y, np.ones(N))
    first = solved(problem)
    (again,) = sqp(problem, 1e-10, start=first.alpha)
    assert again.gap <= 1e-10
    dearer = problem._replace(upper=2.0 * problem.upper)
    warm, cold = (solved(dearer, start=start) for start in (2.0 * first.alpha, None))
    np.testing.assert_allclose(warm.alpha, cold.alpha, atol=1e-8)


def test_every_state_is_feasible_and_measured():
    for problem in (
        classes_problem(Kernel("rbf", 0.5), X, Y, W),
        numbers_problem(Kernel("rbf", 0.5), X, NUMBERS, W, 0.1),
    ):
        K = problem.kernel.block(X, X)
        numbers = []
        for state in sqp(problem, 1e-10):
            assert feasible(problem, state.alpha)
            np.testing.assert_allclose(state.values, K @ problem.coefficients(state.alpha), atol=1e-12)
            found = measure(problem, state.alpha, state.values, state.intercept)
            assert (state.primal, state.dual, state.gap) == found[:3]
            numbers.append(state.number)
        assert numbers == list(range(1, len(numbers) + 1))


def test_equal_bits_whatever_blas_may_use():
    problem = classes_problem(Kernel("rbf", 0.5), X, Y, W)
    first, second = (solved(problem) for _ in range(2))
    np.testing.assert_array_equal(first.alpha, second.alpha)
    assert first.intercept == second.intercept


def test_too_many_rows_are_refused_with_words():
    many = np.zeros((MOST_ROWS + 1, 1))
    problem = classes_problem(Kernel("linear"), many, np.ones(len(many)), np.ones(len(many)))
    with pytest.raises(DataError, match="solver='smo'"):
        next(sqp(problem, 1e-3))


def test_at_most_so_many_steps():
    problem = classes_problem(Kernel("rbf", 0.5), X, Y, 1e3 * W)
    assert len(list(sqp(problem, 1e-10, most=3))) <= 4


@pytest.mark.parametrize(("gamma", "coef0", "C"), [(0.5, 0.0, 1.0), (1.0, -1.0, 10.0), (5.0, 1.0, 1.0)])
def test_a_kernel_without_a_feature_space_comes_to_a_stationary_point(gamma, coef0, C):
    kernel = Kernel("sigmoid", gamma, 3.0, coef0)
    assert np.linalg.eigvalsh(kernel.block(X, X))[0] < -1e-3
    for problem in (
        classes_problem(kernel, X, Y, np.full(N, C)),
        numbers_problem(kernel, X, NUMBERS, np.full(N, C), 0.1),
    ):
        states = list(sqp(problem, 1e-6))
        assert states[-1].gap <= 1e-6
        assert feasible(problem, states[-1].alpha)
        assert states[-1].dual >= states[0].dual


def test_a_given_matrix_is_solved_as_the_kernel_it_came_from():
    kernel = Kernel("rbf", 0.5)
    known = solved(classes_problem(kernel, X, Y, W))
    given = solved(classes_problem(Kernel("precomputed"), kernel.block(X, X), Y, W))
    np.testing.assert_allclose(given.alpha, known.alpha, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_whether_a_hyperplane_parts_rows_on_a_grid_is_what_a_linear_program_says(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(4, 20))
    Z, y = draw.integers(0, 4, size=(n, 2)).astype(float), np.where(np.arange(n) % 2, 1.0, -1.0)
    if seed % 2:
        y = np.where(Z @ draw.normal(size=2) > 1.0, 1.0, -1.0)
        y[0] = -y[1:].max()
    sides = -y[:, None] * np.column_stack([Z, np.ones(n)])
    there = linprog(np.zeros(3), A_ub=sides, b_ub=-np.ones(n), bounds=[(None, None)] * 3).status == 0
    state = solved(classes_problem(Kernel("linear"), Z, y, np.full(n, INF)), 1e-8)
    assert (state.gap <= 1e-8) == there
    assert there or (state.gap == INF and state.bound <= 1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_any_small_problem_is_solved(seed):
    draw = np.random.default_rng(seed)
    n, d = int(draw.integers(2, 40)), int(draw.integers(1, 4))
    Z = draw.normal(size=(n, d)) if seed % 3 else draw.integers(0, 3, size=(n, d)).astype(float)
    kernel = [KERNELS[name][0] for name in KERNELS][seed % 4]
    upper = 10 ** draw.uniform(-3, 3) * draw.choice([0.0, 1.0, 1.0, 2.0], size=n)
    for problem in (
        classes_problem(kernel, Z, np.where(draw.random(n) < 0.5, 1.0, -1.0), upper),
        numbers_problem(kernel, Z, draw.normal(size=n), upper, float(draw.choice([0.0, 0.1, 3.0]))),
    ):
        state = solved(problem, 1e-9)
        assert state.gap <= 1e-9
        assert feasible(problem, state.alpha)


def test_one_program_is_one_iteration():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    for most in (1, 2, 3):
        with np.testing.suppress_warnings() as quiet:
            quiet.filter(UserWarning)
            model = assay_svc(solver="sqp", kernel="linear", C=1.0, max_iter=most, tol=1e-12).fit(X, y)
        assert model.n_iter_.max() <= most
