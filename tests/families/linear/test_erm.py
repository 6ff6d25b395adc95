"""ERM: every declared triple fits and proves its gap, every other is refused by name, and the other models are special cases."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from cases import blobs, file_bytes, lines
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer
from sklearn.utils.estimator_checks import parametrize_with_checks

import assay
from assay.errors import ConvergenceWarning, ParameterError, SeparableWarning
from assay.families.least_squares.estimators import Ridge
from assay.families.linear.erm import ERM, LOSSES, SOLVERS
from assay.families.linear.linear_svc import LinearSVC
from assay.families.linear.logistic import LogisticRegression
from assay.risk.terms import Penalty
from assay.solvers.needs import NEEDS, check

PENALTIES = ("l2", "l1", "elasticnet", None)
NUMBERS = ("squared", "huber")
SLOW = ("gd", "subgradient")  # as the notes write them: they come near, not to the gap


def two(n=150, d=4, seed=3, flips=0.1):
    """Two classes that no hyperplane separates."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    y = (X @ np.arange(1.0, d + 1) + 0.5 * rng.standard_normal(n) > 4).astype(int)
    return X, np.where(rng.random(n) < flips, 1 - y, y)


def data_of(loss, classes=2):
    if loss in NUMBERS:
        return lines(150, 4, 3)
    return two() if classes == 2 else blobs(150, 4, 3)


def able(loss, penalty, solver):
    """What the solvers themselves declare."""
    strengths = {"l2": (0.0, 1.0), "l1": (1.0, 0.0), "elasticnet": (1.0, 1.0), None: (0.0, 0.0)}[penalty]
    if (loss == "perceptron" and penalty) or (loss == "hinge" and not penalty):
        return False
    try:
        check(solver, loss.replace("_", " "), Penalty.of(4, *strengths))
    except ParameterError:
        return False
    return True


TRIPLES = [(x, p, s) for x in LOSSES for p in PENALTIES for s in SOLVERS[1:]]
GOOD = [triple for triple in TRIPLES if able(*triple)]


@pytest.mark.parametrize(("loss", "penalty", "solver"), GOOD)
def test_every_declared_triple_fits_and_proves_its_gap(loss, penalty, solver):
    X, y = data_of(loss)
    model = ERM(loss, penalty, solver, lam=0.05, max_iter=3000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        best = None if loss == "perceptron" else ERM(loss, penalty, lam=0.05, tol=1e-9).fit(X, y)
    if loss == "perceptron":
        assert model.certificate_.holds == (model.score(X, y) == 1.0)
        return
    if solver in SLOW:
        worst = np.mean(y**2) if loss in NUMBERS else 1.0  # at w = 0
        assert model.risk_ <= best.risk_ + (0.1 * worst if loss in NUMBERS else 0.15)
        assert model.certificate_.holds == (model.gap_.max() <= model.tol)
        return
    if penalty is None and (solver == "proximal-gradient" or (solver, loss) == ("proximal-newton", "softmax")):
        # without a penalty they have nothing that bounds the gap
        assert model.risk_ == pytest.approx(best.risk_, rel=1e-5)
        return
    assert model.risk_ == pytest.approx(best.risk_, rel=5e-6)
    assert model.converged_
    assert model.gap_.max() <= 1e-6
    verdicts = model.certificate_.verify(X, y)
    assert verdicts.holds, str(verdicts)


@pytest.mark.parametrize(("loss", "penalty", "solver"), [t for t in TRIPLES if t not in GOOD])
def test_every_other_triple_is_refused_by_name(loss, penalty, solver):
    X, y = data_of(loss)
    with pytest.raises(ParameterError, match=rf"{solver}|loss='{loss}'"):
        ERM(loss, penalty, solver, lam=0.05).fit(X, y)


def test_the_solvers_are_those_that_declare_their_needs():
    assert set(SOLVERS[1:]) == set(NEEDS) - {"hard-margin", "pgd", "interior-point"}


@pytest.mark.parametrize("loss", ["log", "softmax", "hinge", "squared_hinge"])
@pytest.mark.parametrize("penalty", PENALTIES[:3])
def test_more_than_two_classes(loss, penalty):
    X, y = blobs(150, 4, 3)
    model = ERM(loss, penalty).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.certificate_.verify(X, y).holds
    assert model.score(X, y) > 0.7
    if loss in ("log", "softmax"):
        P = model.predict_proba(X)
        assert np.allclose(P.sum(axis=1), 1)
        assert np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    else:
        assert not hasattr(model, "predict_proba")


class TestTheObjectiveIsTheNotes:
    """R_n + λΩ, term by term."""

    @pytest.mark.parametrize("penalty", PENALTIES[:3])
    @pytest.mark.parametrize("loss", ["log", "hinge", "squared_hinge", "squared", "huber"])
    def test_at_the_weights_found(self, loss, penalty):
        X, y = data_of(loss)
        c = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
        model = ERM(loss, penalty, lam=0.07, l1_ratio=0.3, delta=0.8).fit(X, y, sample_weight=c)
        w, z = model.coef_[0], X @ model.coef_[0] + model.intercept_[0]
        t = y if loss in NUMBERS else 2.0 * y - 1
        r = np.abs(z - t)
        value = {
            "log": np.logaddexp(0, -t * z),
            "hinge": np.maximum(0, 1 - t * z),
            "squared_hinge": np.maximum(0, 1 - t * z) ** 2,
            "squared": (z - t) ** 2,
            "huber": np.where(r <= 0.8, 0.5 * r**2, 0.8 * r - 0.32),
        }[loss]
        size = {"l1": np.abs(w).sum(), "l2": w @ w, "elasticnet": 0.3 * np.abs(w).sum() + 0.7 * (w @ w)}[penalty]
        assert model.empirical_risk_ == pytest.approx(np.average(value, weights=c), rel=1e-9)
        assert model.risk_ == pytest.approx(np.average(value, weights=c) + 0.07 * size, rel=1e-9)

    def test_the_empirical_risk_is_that_of_assay_empirical_risk(self):
        for loss in ("log", "hinge", "squared"):
            X, y = data_of(loss)
            model = ERM(loss).fit(X, y)
            assert model.empirical_risk_ == pytest.approx(assay.empirical_risk(model, X, y, loss), rel=1e-9)

    @pytest.mark.parametrize("delta", [0.3, 1.35])
    def test_huber_against_a_general_minimiser(self, delta):
        X, y = lines(120, 3, 5)

        def risk(v):
            r = np.abs(X @ v[:-1] + v[-1] - y)
            return np.where(r <= delta, 0.5 * r**2, delta * r - 0.5 * delta**2).mean() + 0.01 * v[:-1] @ v[:-1]

        best = minimize(risk, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
        model = ERM("huber", lam=0.01, delta=delta).fit(X, y)
        assert model.risk_ == pytest.approx(best.fun, rel=1e-6)
        assert np.allclose(model.coef_[0], best.x[:-1], atol=1e-3)

    @pytest.mark.parametrize("penalty", PENALTIES)
    def test_huber_from_far_away(self, penalty):
        X, y = lines(200, 4, 1)
        model = ERM("huber", penalty, delta=1e-2).fit(X, 100 + y)
        assert model.converged_
        assert model.certificate_.verify(X, 100 + y).holds


class TestTheOtherModelsAreSpecialCases:
    @pytest.mark.parametrize("classes", [2, 3])
    def test_logistic_regression(self, classes):
        X, y = data_of("log", classes)
        n, C = len(y), 0.7
        ours = ERM("log" if classes == 2 else "softmax", lam=1 / (2 * C * n), tol=1e-10).fit(X, y)
        theirs = LogisticRegression(C=C, tol=1e-10).fit(X, y)
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5)
        assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)

    def test_l1_and_elastic_net(self):
        X, y = two()
        n, C = len(y), 0.7
        ours = ERM("log", "elasticnet", lam=1.3 / (C * n), l1_ratio=0.6 / 1.3 * 1.0, tol=1e-10)
        # (1/C)(0.6|w|_1 + 0.4*½|w|²) = n·lam·(ρ|w|_1 + (1 − ρ)|w|²)  ⇒  lam·n·C = 0.6 + 0.2
        ours.set_params(lam=0.8 / (C * n), l1_ratio=0.6 / 0.8)
        theirs = LogisticRegression(C=C, l1_ratio=0.6, tol=1e-10).fit(X, y)
        assert np.allclose(ours.fit(X, y).coef_, theirs.coef_, atol=1e-5)

    @pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
    def test_linear_svc(self, loss):
        X, y = two()
        ours = ERM(loss, lam=1 / (2 * 3.0 * len(y)), tol=1e-10).fit(X, y)
        theirs = LinearSVC(loss=loss, C=3.0, tol=1e-10).fit(X, y)
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5)
        assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-5)

    def test_ridge(self):
        X, y = lines(150, 4, 3)
        ours, theirs = ERM("squared", lam=2.0 / len(y)).fit(X, y), Ridge(alpha=2.0).fit(X, y)
        assert np.allclose(ours.coef_[0], theirs.coef_, rtol=1e-9)
        assert np.allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


class TestLaws:
    @pytest.mark.parametrize("loss", ["log", "softmax", "hinge", "squared_hinge", "squared", "huber"])
    def test_a_weight_is_a_row_repeated(self, loss):
        X, y = data_of(loss)
        c = np.arange(len(y)) % 3
        weighted, repeated = (ERM(loss, tol=1e-10) for _ in range(2))
        weighted.fit(X, y, sample_weight=c)
        repeated.fit(np.repeat(X, c, axis=0), np.repeat(y, c))
        assert weighted.risk_ == pytest.approx(repeated.risk_, rel=1e-9)
        assert np.allclose(weighted.coef_, repeated.coef_, atol=1e-4)

    @pytest.mark.parametrize("loss", LOSSES)
    def test_equal_bits_on_threads_and_stream(self, loss):
        rng = np.random.default_rng(1)
        X = rng.standard_normal((30_000, 6))
        y = X @ np.arange(6.0) + rng.standard_normal(30_000)
        y = y if loss in NUMBERS else (y > 0).astype(int)
        penalty = None if loss == "perceptron" else "l2"
        found = set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for name, workers in (("threads", 1), ("threads", 2), ("threads", 5), ("stream", 2)):
                with assay.engine(name, workers=workers):
                    found.add(file_bytes(ERM(loss, penalty, max_iter=50).fit(X, y)))
        assert len(found) == 1

    @pytest.mark.parametrize("penalty", ["l2", "l1"])
    @pytest.mark.parametrize("loss", ["log", "softmax", "hinge", "squared", "huber"])
    def test_sparse_rows_are_the_same_rows(self, loss, penalty):
        X, y = data_of(loss)
        X = np.where(np.abs(X) > 0.7, X, 0.0)
        dense, sparse = (ERM(loss, penalty, tol=1e-9).fit(A, y) for A in (X, scipy.sparse.csr_matrix(X)))
        assert sparse.risk_ == pytest.approx(dense.risk_, rel=1e-8)
        assert np.allclose(dense.coef_, sparse.coef_, atol=1e-4)
        assert sparse.certificate_.verify(scipy.sparse.csr_matrix(X), y).holds

    @pytest.mark.parametrize(
        ("loss", "penalty"), [("log", None), ("squared_hinge", None), ("log", "l2"), ("hinge", "l1")]
    )
    def test_units_of_columns_do_not_spoil_a_fit(self, loss, penalty):
        X, y = two()
        units = 10.0 ** np.array([-4.0, 4.0, 2.0, -2.0])
        model = ERM(loss, penalty, lam=1e-3).fit(X * units, y)
        assert model.certificate_.verify(X * units, y).holds
        if penalty is None:  # nothing but the units of the weights changes
            plain = ERM(loss, penalty, tol=1e-9).fit(X, y)
            assert np.allclose(model.coef_ * units, plain.coef_, rtol=1e-4)

    def test_a_saved_model_is_the_model(self, tmp_path, monkeypatch):
        monkeypatch.setitem(assay.families.REGISTRY, "erm", "assay.families.linear.erm:ERM")
        for loss in ("log", "softmax", "hinge", "squared", "huber"):
            X, y = data_of(loss)
            model = ERM(loss).fit(X, y)
            model.save(tmp_path / "model.assay")
            again = assay.load(tmp_path / "model.assay")
            assert np.array_equal(again.predict(X), model.predict(X))
            assert again.certificate_.verify(X, y).holds
            again.coef_[0, 0] += 1e-3  # other weights are not what was proved
            assert not again.certificate_.verify(X, y).holds

    def test_a_warm_start_begins_where_the_fit_before_ended(self):
        X, y = two()
        model = ERM("log", warm_start=True).fit(X, y)
        assert model.fit(X, y).n_iter_ == 0
        for loss in ("log", "softmax"):  # other classes: the weights of before are no start
            model = ERM(loss, warm_start=True).fit(X, y)
            assert model.fit(*blobs(150, 4, 3)).coef_.shape == (3, 4)

    def test_init_is_in_the_order_of_the_notes(self):
        X, y = two()
        model = ERM("log", tol=1e-9).fit(X, y)
        init = np.append(model.intercept_, model.coef_[0])
        assert ERM("log", init=init).fit(X, y).n_iter_ == 0
        with pytest.raises(ParameterError, match="init must be"):
            ERM("log", init=[1.0]).fit(X, y)

    def test_gradient_descent_takes_the_notes_step(self):
        X, y = two()
        steps = list(ERM("log", None, "gd", eta=0.5, max_iter=2).steps(X, y))
        t, A = 2.0 * y - 1, np.column_stack([X, np.ones(len(y))])
        w = np.zeros(5)
        for step in steps:
            assert np.allclose(np.append(step.values["coef_"][0], step.values["intercept_"]), w)
            w = w + 0.5 * (A * (t / (1 + np.exp(t * (A @ w))))[:, None]).mean(axis=0)


class TestWithoutAPenalty:
    def test_a_separable_log_risk_has_no_minimum(self):
        X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
        with pytest.warns(SeparableWarning, match="no minimum"):
            model = ERM("log", None).fit(X, y)
        assert [claim.name for claim in model.certificate_] == ["no maximum likelihood"]
        assert model.certificate_.verify(X, y).holds

    def test_a_separable_squared_hinge_becomes_zero(self):
        X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
        model = ERM("squared_hinge", None).fit(X, y)
        assert model.risk_ == 0.0
        assert model.certificate_.verify(X, y).holds

    def test_each_class_against_the_rest(self):
        X, y = blobs(150, 4, 3)
        for solver in ("newton", "lbfgs"):
            model = ERM("squared_hinge", None, solver).fit(X, y)
            assert model.certificate_.verify(X, y).holds

    def test_the_perceptron_ends_at_the_first_clean_pass(self):
        X, y = np.array([[0.0, 1.0], [1.0, 3.0], [3.0, 1.0], [4.0, 0.5]]), [0, 0, 1, 1]
        model = ERM("perceptron", None).fit(X, y)
        assert model.score(X, y) == 1.0
        assert model.certificate_.verify(X, y).holds
        assert not model.certificate_.verify(X, 1 - np.array(y)).holds
        with pytest.warns(ConvergenceWarning):
            model = ERM("perceptron", None, max_iter=20).fit(*two())
        assert not model.certificate_.holds


class TestBadInput:
    @pytest.mark.parametrize(
        ("params", "words"),
        [
            ({"loss": "zero-one"}, "surrogate of it.*'log', 'hinge'"),
            ({"loss": "hing"}, "'hinge'"),
            ({"loss": len}, "assay.surrogate"),
            ({"lam": -1.0}, "lam=-1.0"),
            ({"lam": np.inf}, "lam=inf"),
            ({"penalty": "l3"}, "penalty='l3'"),
            ({"solver": "adam"}, "solver='adam'"),
            ({"loss": "perceptron"}, "least at w = 0"),
            ({"loss": "hinge", "penalty": None}, "no unique minimum"),
            ({"loss": "hinge", "lam": 0.0}, "no unique minimum"),
            ({"loss": "huber", "delta": 0.0}, "delta=0.0"),
            ({"l1_ratio": 1.5}, "l1_ratio=1.5"),
            ({"loss": "squared", "class_weight": "balanced"}, "class_weight is for classes"),
        ],
    )
    def test_what_cannot_be_is_refused(self, params, words):
        X, y = two()
        with pytest.raises(ParameterError, match=words):
            ERM(**params).fit(X, y)


class TestPaths:
    @pytest.mark.parametrize(
        ("model", "name"),
        [
            (ERM("log", "l1"), "lams"),
            (ERM("softmax", "elasticnet"), "lams"),
            (ERM("squared", "l1"), "lams"),
            (ERM("hinge"), "lams"),
            (LogisticRegression(l1_ratio=1.0), "Cs"),
            (LogisticRegression(), "Cs"),
            (LinearSVC(), "Cs"),
        ],
        ids=str,
    )
    def test_a_warm_path_equals_cold_fits(self, model, name):
        X, y = data_of(getattr(model, "loss", "log"))
        strengths = [0.3, 0.01, 0.05]
        found = model.path(X, y, **{name: strengths})
        assert found.coefs.shape == (3, 2 if getattr(model, "loss", "") == "softmax" else 1, 4)
        assert found.gaps.max() <= 1e-6
        for k, strength in enumerate(strengths):
            cold = type(model)(**{**model.get_params(), name[:-1]: strength}).fit(X, y)
            objective = cold.risk_ if name == "lams" else cold.objective_.sum()
            assert found.objectives[k] == pytest.approx(objective, rel=3e-6)
            assert np.allclose(found.coefs[k], cold.coef_, atol=0.02)
        assert not model.__sklearn_is_fitted__()

    def test_it_takes_fewer_iterations_in_all(self):
        X, y = load_breast_cancer(return_X_y=True)
        model = ERM("log", "l1")
        found = model.path(X, y)
        assert len(found) == 50
        assert np.count_nonzero(found.coefs[0]) == 0
        assert np.count_nonzero(found.coefs[1]) > 0
        cold = sum(ERM("log", "l1", lam=lam).fit(X, y).n_iter_ for lam in found.strengths)
        assert found.n_iters.sum() < 0.7 * cold

    def test_many_classes_go_side_by_side(self):
        X, y = blobs(150, 4, 3)
        found = ERM("hinge").path(X, y, lams=[0.1, 0.01])
        assert found.coefs.shape == (2, 3, 4)
        assert np.allclose(found.coefs[1], ERM("hinge", lam=0.01).fit(X, y).coef_, atol=1e-3)

    def test_what_cannot_be_is_refused(self):
        X, y = two()
        with pytest.raises(ParameterError, match="needs a penalty"):
            ERM("log", None).path(X, y)
        for lams in ([], [-1.0], [np.nan], "x", [0.0]):
            with pytest.raises(ParameterError, match="lams="):
                ERM("log").path(X, y, lams=lams)
        with pytest.raises(ParameterError, match="Cs="):
            LogisticRegression().path(X, y, Cs=[np.inf])


@parametrize_with_checks([ERM("squared"), ERM("hinge"), ERM("softmax"), ERM("huber", "l1")])
def test_conformance(estimator, check):
    check(estimator)


@pytest.mark.parametrize("X", [[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]])
def test_a_row_on_the_plane_that_is_answered_wrongly_is_no_clean_fit(X):
    X = np.array(X)
    y = np.where(X[:, 0] > 0, "b", "a")
    model = ERM(loss="perceptron", penalty=None, fit_intercept=False).fit(X, y)
    assert (model.predict(X) != y).any()
    assert not model.certificate_.holds
    assert not model.certificate_.verify(X, y).holds
