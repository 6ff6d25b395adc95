"""The perceptron of the lecture notes, in every order: its worked numbers, its rules, its variants and its refusals."""

from __future__ import annotations

import hashlib
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from cases import file_bytes
from small_blocks import small_blocks

import assay
from assay.engines import block_rows
from assay.errors import ConvergenceWarning, DataError, ParameterError
from assay.families.perceptron.estimators import Perceptron

ORDERS = ["cyclic", "random", "first-mistake", "batch"]
VARIANTS = ["last", "averaged", "voted"]
NOTES = np.array([[2.0, -1.0], [2.0, 1.0], [1.0, 3.0]]), np.array([1, 1, 0])


def separable(n=150, d=4, seed=0, gap=0.1):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    s = X @ w + 0.3
    X += np.outer(np.sign(s) * gap, w) / np.linalg.norm(w)
    return X, (s > 0).astype(int)


def noisy(n=200, d=3, K=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.argmax(X @ rng.normal(size=(d, K)) + rng.normal(size=(n, K)), axis=1)


def quiet(model, X, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **more)


# --- the notes ----------------------------------------------------------------------------------------------------------


def test_the_worked_example_of_the_notes_step_by_step():
    steps = list(Perceptron(init=[0, -1, 1], eta0=1.0).steps(*NOTES))
    wanted = [(1, 1, 0), (1, 1, 0), (0, 0, -3), (0, 0, -3), (1, 2, -2)]
    assert [tuple(s.values["w"]) for s in steps[:5]] == wanted
    assert [s.values["row"] for s in steps[:5]] == [0, 1, 2, 0, 1]
    assert [s.values["score"] for s in steps[:5]] == [-3, 3, 2, 3, -3]
    assert [s.values["prediction"] for s in steps[:5]] == [0, 1, 1, 1, 0]
    assert [tuple(s.values["update"]) for s in steps[:3]] == [(1, 2, -1), (0, 0, 0), (-1, -1, -3)]
    assert len(steps) == 9  # the third pass is the first without a mistake
    model = Perceptron(init=[0, -1, 1]).fit(*NOTES)
    assert (model.intercept_.tolist(), model.coef_.tolist()) == ([1], [[2, -2]])
    assert (model.n_iter_, model.t_, model.mistakes_, model.converged_) == (3, 9, 3, True)


def test_every_and_the_last_step_are_given():
    assert [s.number for s in Perceptron(init=[0, -1, 1]).steps(*NOTES, every=4)] == [4, 8, 9]


def test_the_labels_may_be_minus_one_and_one_or_any_two_classes():
    X, y = separable()
    plain = Perceptron().fit(X, y)
    for labels in ([-1, 1], ["no", "yes"], [False, True], [-7.0, 3.0]):
        other = Perceptron().fit(X, np.array(labels)[y])
        assert np.array_equal(other.coef_, plain.coef_)
        assert np.array_equal(other.predict(X), np.array(labels)[y])


def test_a_score_of_zero_is_the_greater_class():
    model = Perceptron(init=[0, -1, 1]).fit(*NOTES)
    on_the_border = [[0.0, 0.5]]  # 1 + 0 − 1
    assert model.decision_function(on_the_border)[0] == 0
    assert model.predict(on_the_border)[0] == 1


def by_the_book(X, y, order, eta=1.0, passes=1000):
    """The orders as the notes write them, in plain Python."""
    Z, s, w, mistakes = np.column_stack([np.ones(len(X)), X]), 2 * y - 1, np.zeros(X.shape[1] + 1), 0
    for _ in range(passes):
        before = mistakes
        if order == "cyclic":
            for x, c in zip(Z, y):
                h = int(w @ x >= 0)
                w, mistakes = w - eta * (h - c) * x, mistakes + (h != c)
        elif order == "batch":
            h = (Z @ w >= 0).astype(int)
            w, mistakes = w - eta * ((h - y)[:, None] * Z).sum(axis=0), mistakes + int((h != y).sum())
        else:
            bad = np.flatnonzero(s * (Z @ w) <= 0)
            if len(bad):
                w, mistakes = w + s[bad[0]] * Z[bad[0]], mistakes + 1
        if mistakes == before:
            break
    return w, mistakes


@pytest.mark.parametrize("order", ["cyclic", "first-mistake", "batch"])
def test_each_order_is_what_the_notes_write(order):
    X, y = separable(60, 3, 1)
    model = Perceptron(order=order, max_iter=5000).fit(X, y)
    w, mistakes = by_the_book(X, y, order, passes=5000)
    assert model.mistakes_ == mistakes
    np.testing.assert_allclose([*model.intercept_, *model.coef_[0]], w, rtol=1e-10)


def test_random_draws_follow_the_stated_rule():
    X, y = separable(40, 2, 3)
    model = Perceptron(order="random", random_state=7).fit(X, y)
    Z, s, w = np.column_stack([np.ones(40), X]), 2 * y - 1, np.zeros(3)
    for epoch in range(1, 1000):
        for i in np.random.default_rng([7, epoch, 0]).integers(0, 40, 40):
            w = w + 0.5 * (s[i] - (1 if w @ Z[i] >= 0 else -1)) * Z[i]
        if np.all((Z @ w >= 0) == (y == 1)):
            break
    assert model.n_iter_ == epoch
    np.testing.assert_allclose([*model.intercept_, *model.coef_[0]], w, rtol=1e-10)


# --- laws of the model --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("K", [2, 3])
def test_rows_that_can_be_separated_are(order, K):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 4))
    Z = X @ rng.normal(size=(4, K))
    y = Z.argmax(axis=1)
    top = np.sort(Z, axis=1)
    clear = top[:, -1] - top[:, -2] > 0.3
    model = Perceptron(order=order, max_iter=20_000).fit(X[clear], y[clear])
    assert model.converged_
    assert model.score(X[clear], y[clear]) == 1
    assert model.coef_.shape == ((1, 4) if K == 2 else (K, 4))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("K", [2, 4])
def test_sparse_rows_give_the_model_of_dense_ones(order, variant, K):
    if order == "batch" and variant != "last":
        return
    X, y = noisy(150, 9, K)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    w = np.arange(150) % 4 / 2
    model = Perceptron(order=order, variant=variant, max_iter=20)
    dense, sparse = quiet(model, X, y, sample_weight=w).to_record(), None
    scores = model.decision_function(X)
    sparse = quiet(model, sp.csr_matrix(X), y, sample_weight=w)
    np.testing.assert_allclose(sparse.coef_, dense.arrays["coef_"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), scores, rtol=1e-9, atol=1e-9)
    assert sparse.certificate_.verify(sp.csr_matrix(X), y, w).holds


def test_the_average_is_over_all_visits_and_votes_count_them():
    X, y = noisy(40, 3)
    steps = [s.values["w"] for s in Perceptron(max_iter=3).steps(X, y)]
    mean = quiet(Perceptron(max_iter=3, variant="averaged"), X, y)
    np.testing.assert_allclose([*mean.intercept_, *mean.coef_[0]], np.mean(steps, axis=0), rtol=1e-10)
    voted = quiet(Perceptron(max_iter=3, variant="voted"), X, y)
    assert voted.votes_.sum() == len(steps)
    Z = np.column_stack([np.ones(40), X])
    votes = np.where(Z @ np.array(steps).T >= 0, 1, -1).mean(axis=1)
    np.testing.assert_allclose(voted.decision_function(X), votes, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_pass_in_pieces_is_one_pass(variant):
    for K in (2, 3):
        X, y = noisy(90, 4, K)
        w = 0.5 + np.arange(90) % 3
        whole = quiet(Perceptron(max_iter=1, variant=variant), X, y, sample_weight=w)
        pieces = Perceptron(max_iter=1, variant=variant)
        for a in range(0, 90, 37):
            pieces.partial_fit(X[a : a + 37], y[a : a + 37], range(K), w[a : a + 37])
        assert np.array_equal(whole.coef_, pieces.coef_)
        assert (whole.t_, whole.mistakes_) == (pieces.t_, pieces.mistakes_)
        assert np.array_equal(whole.decision_function(X), pieces.decision_function(X))
        assert pieces.certificate_.verify(X, y, w).holds
        assert not pieces.certificate_.verify(X[::-1], y[::-1], w).holds
        assert pieces.fit(X, y).partial_fit(X, y).certificate_.claims == ()


def test_a_weight_multiplies_the_step_and_a_class_weight_too():
    model = quiet(Perceptron(max_iter=1, eta0=0.5), [[1.0], [2.0]], [1, 0], sample_weight=[3.0, 4.0])
    assert [*model.intercept_, *model.coef_[0]] == [-2.0, -4.0]  # the first row is right at w = 0, the second wrong
    model = quiet(Perceptron(max_iter=1, class_weight={0: 3.0}), [[1.0], [2.0]], [1, 0])
    assert [*model.intercept_, *model.coef_[0]] == [-3.0, -6.0]


def test_a_batch_row_of_weight_n_is_n_rows():
    X, y = noisy()
    times = np.arange(len(y)) % 3
    weighted = quiet(Perceptron(order="batch", max_iter=7), X, y, sample_weight=times)
    repeated = quiet(Perceptron(order="batch", max_iter=7), X.repeat(times, 0), y.repeat(times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)


def test_without_an_intercept_the_bias_stays_zero():
    X, y = separable()
    model = quiet(Perceptron(fit_intercept=False, max_iter=9, init=np.ones(5)), X, y)
    assert model.intercept_ == 0


def test_the_share_of_mistakes_allowed_ends_the_passes():
    X, y = noisy(400, 3)
    model = Perceptron(tol=0.5).fit(X, y)
    assert model.converged_
    assert model.n_iter_ == 1
    assert not quiet(Perceptron(tol=0.0, max_iter=5), X, y).converged_


def test_shuffled_passes_and_seeds():
    X, y = noisy()
    fits = [quiet(Perceptron(shuffle=True, random_state=s, max_iter=3), X, y).coef_ for s in (0, 0, 1)]
    assert np.array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


# --- engines --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [*({"order": o} for o in ORDERS), {"shuffle": True}, {"variant": "averaged"}], ids=str
)
def test_the_same_bytes_on_every_engine(settings, client):
    marks = {}
    with small_blocks(client):
        n, d = 2 * block_rows(20) + 7, 20
        X, y = noisy(n, d, 2)
        w = 0.5 + np.arange(n) % 3
        for name, option in [("threads", 1), ("threads", 3), ("stream", 2), ("cluster", client)]:
            with assay.engine(name, option):
                model = quiet(Perceptron(max_iter=2, **settings), X, y, sample_weight=w)
                marks[name, str(option)] = hashlib.sha256(file_bytes(model)).hexdigest()
    assert len(set(marks.values())) == 1, marks


@pytest.mark.parametrize("order", ORDERS)
def test_dask_rows_give_the_bytes_of_numpy(order, client):
    import dask.array as da

    with small_blocks(client):
        X, y = noisy(block_rows(20) + 11, 20, 3)
        here = file_bytes(quiet(Perceptron(max_iter=2, order=order), X, y))
        with assay.engine("cluster", client):
            far = quiet(Perceptron(max_iter=2, order=order), da.from_array(X, (91, 17)), da.from_array(y, 50))
    assert file_bytes(far) == here


# --- bad input ------------------------------------------------------------------------------------------------------------


def test_a_fit_that_does_not_converge_says_what_to_do():
    X, y = noisy()
    with pytest.warns(ConvergenceWarning, match="No weights are right on all rows"):
        model = Perceptron(max_iter=2).fit(X, y)
    assert not model.converged_
    X, y = separable(gap=0.001)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        Perceptron(max_iter=1, init=[9, 9, -9, 9, 9]).fit(X, y)
    X, y = noisy(K=3)
    with pytest.warns(ConvergenceWarning, match=r"each class against the rest only"):
        Perceptron(max_iter=2).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"eta0": 0}, "eta0"),
        ({"eta0": -1}, "eta0"),
        ({"order": "sorted"}, "order"),
        ({"tol": 2}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"init": [1, 2]}, "3 finite numbers, the bias first"),
        ({"init": [1, 2, np.inf]}, "finite"),
        ({"init": "x"}, "init"),
        ({"variant": "voted", "order": "batch"}, "single visits"),
        ({"shuffle": True, "order": "random"}, "shuffle"),
        ({"tol": 0.1, "order": "first-mistake"}, "tol"),
        ({"class_weight": {5: 1.0}}, "class_weight"),
        ({"class_weight": {0: 0.0, 1: 0.0}}, "no class"),
    ],
)
def test_hyper_parameters_that_cannot_be_are_named(settings, match):
    with pytest.raises(ParameterError, match=match):
        Perceptron(**settings).fit(*NOTES)


def test_many_classes_need_a_row_of_weights_each():
    X, y = noisy(K=3)
    with pytest.raises(ParameterError, match="3 rows"):
        Perceptron(init=[0, 0, 0, 0]).fit(X, y)
    assert quiet(Perceptron(init=np.zeros((3, 4)), max_iter=2), X, y).coef_.shape == (3, 3)


def test_too_many_voters_are_refused_with_what_to_do():
    X, y = noisy()
    with pytest.raises(ParameterError, match=r"max_voters=80.*averaged"):
        Perceptron(variant="voted", max_voters=80).fit(X, y)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_named(order, bad):
    X, y = noisy()
    X = X.copy()
    X[77, 1] = bad
    for rows in (X, sp.csr_matrix(X)):
        with pytest.raises(DataError, match=r"row 77, column 1"):
            quiet(Perceptron(order=order, max_iter=3), rows, y)
        with pytest.raises(DataError, match=r"NaN|infinity"):
            quiet(Perceptron(order=order, max_iter=3), X[:50], y[:50]).predict(rows)


def test_numbers_that_overflow_are_refused():
    with pytest.raises(DataError, match="overflow"):
        Perceptron().fit([[1e200], [2e200], [-1e200]], [0, 1, 0])


def test_partial_fit_needs_the_classes_and_refuses_balance_and_another_variant():
    X, y = noisy()
    with pytest.raises(DataError, match="classes must be passed"):
        Perceptron().partial_fit(X, y)
    with pytest.raises(ParameterError, match="balanced"):
        Perceptron(class_weight="balanced").partial_fit(X, y, [0, 1])
    model = Perceptron().partial_fit(X, y, [0, 1])
    with pytest.raises(ParameterError, match="Fit again"):
        model.set_params(variant="averaged").partial_fit(X, y)


def test_agreement_with_scikit_learn():
    """scikit-learn 1.9 corrects at a score of 0 whichever class is right: from w = 0 the same where the first row is of the lower."""
    from sklearn.linear_model import Perceptron as Peer

    X, y = noisy(500, 6)
    X, y = X[np.argmin(y) :], y[np.argmin(y) :]
    peer = Peer(max_iter=4, tol=None, shuffle=False).fit(X, y)
    ours = quiet(Perceptron(max_iter=4), X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-9)
