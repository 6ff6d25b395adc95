"""Many settings of one class on the same rows: as good as separate fits, and cheaper."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from cases import answers, blobs, codes, counts, file_bytes, lines, pairs
from small_blocks import small_blocks

import assay
from assay.engines import ArrayRows, block_rows
from assay.errors import ParameterError
from assay.estimator.one_fold import OneFold
from assay.inputs import as_rows

inf = float("inf")
#: models whose statistics serve every setting: bit for bit what separate fits give
EXACT = [
    (assay.GaussianNB(), [{"var_smoothing": v} for v in (1e-2, 1e-5, 0.0)], blobs),
    (assay.GaussianNB(), [{"class_weight": "balanced"}, {}, {"priors": [0.2, 0.3, 0.5]}], blobs),
    (assay.NaiveBayes(), [{"alpha": 10.0}, {"alpha": 0.1}, {"columns": "gaussian"}, {"columns": "poisson"}], counts),
    (assay.BernoulliNB(), [{"alpha": 1.0}, {"binarize": 1.0}, {"binarize": 1.0, "alpha": 3.0}, {}], counts),
    (assay.MultinomialNB(), [{"alpha": 1.0}, {"fit_prior": False}], counts),
    (assay.CategoricalNB(), [{"alpha": 1.0}, {"alpha": 0.5, "min_categories": 9}, {}], codes),
    (assay.LinearDiscriminantAnalysis(), [{}, {"shrinkage": "auto"}, {"shrinkage": 0.5}, {"solver": "lsqr"}], blobs),
    (
        assay.QuadraticDiscriminantAnalysis(),
        [{"reg_param": r} for r in (0.5, 0.1, 0.0)] + [{"covariance": "tied"}],
        blobs,
    ),
    (
        assay.LinearRegression(),
        [{}, {"fit_intercept": False}, {"solver": "gd"}, {"solver": "gd", "init": [0.0] * 6}],
        lines,
    ),
    (assay.Ridge(), [{"alpha": 10.0**p} for p in range(3, -4, -1)], lines),
    (
        assay.KNeighborsClassifier("auto"),
        [{"weights": "distance"}, {}, {"rule": "one-se"}, {"metric": "manhattan"}, {"n_neighbors": 3}],
        blobs,
    ),
    (assay.KNeighborsRegressor("auto"), [{}, {"weights": "distance"}, {"n_neighbors": 2}, {"n_neighbors": 2}], lines),
    (assay.Baseline(), [{}, {"n_jobs": 1}], blobs),
    (assay.BaselineRegressor(), [{}, {}], lines),
]
DECADES = [{"C": 10.0**p} for p in range(-3, 3)]
#: models that begin at the weights of the fit before: equal within their tolerance
WARM = [
    (assay.LogisticRegression(), DECADES, pairs),
    (assay.LogisticRegression(), DECADES, blobs),
    (assay.LogisticRegression(l1_ratio=0.7), DECADES, pairs),
    (assay.LogisticRegression(fit_intercept=False), DECADES[::-1], pairs),
    (assay.LogisticRegression(), [{"class_weight": "balanced"}, {}, {"C": inf}, {"C": 0.1}], pairs),
    (assay.LogisticRegression(), [{}, {"fit_intercept": False}, {}, {"solver": "lbfgs"}, {"l1_ratio": 0.5}, {}], pairs),
    (assay.LinearSVC(), [{}, {"intercept_scaling": 2.0}, {"intercept_scaling": 1.0}, {"C": 9.0}], pairs),
    (assay.LinearSVC(), DECADES, pairs),
    (assay.LinearSVC(), DECADES, blobs),
    (assay.LinearSVC(loss="hinge"), DECADES, pairs),
    (assay.LinearSVC(penalty="l1"), DECADES, pairs),
    (assay.ERM(penalty="l1"), [{"lam": v} for v in (0.3, 0.03, 1e-3)], blobs),
    (assay.ERM(), [{"loss": loss} for loss in ("log", "hinge", "softmax", "squared_hinge")], blobs),
    (assay.ERM("huber", "l1"), [{"lam": v} for v in (1.0, 0.1, 1e-3)], lines),
    (assay.ERM("huber"), [{"loss": "huber"}, {"loss": "squared"}], lines),
]


def name(value):
    return repr(value) if hasattr(value, "get_params") else getattr(value, "__name__", None)


def separately(model, settings, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [type(model)(**{**model.get_params(), **changed}).fit(rows) for changed in settings]


def together(model, settings, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(model.fit_each(rows, settings))


def lead(model, X):
    """How far the best class is ahead of the next."""
    Z = answers(model, X)
    Z = np.sort(np.column_stack([-Z, Z]) if Z.ndim == 1 else Z, axis=1)
    return Z[:, -1] - Z[:, -2]


@pytest.mark.parametrize(("model", "settings", "data"), EXACT, ids=name)
def test_models_of_one_fold_are_bit_for_bit_those_of_separate_fits(model, settings, data):
    rows = as_rows(*data(150, 5, 0))
    each, alone = together(model, settings, rows), separately(model, settings, rows)
    assert [m.get_params() for m in each] == [m.get_params() for m in alone]
    for a, b in zip(each, alone):
        assert file_bytes(a) == file_bytes(b)
        assert {k for k in vars(a) if k.endswith("_")} == {k for k in vars(b) if k.endswith("_")}
        assert a.certificate_.verify(rows).holds == b.certificate_.verify(rows).holds
    assert not model.__sklearn_is_fitted__()


def test_perceptrons_are_those_of_separate_fits_but_do_not_ask_whether_rows_can_be_separated():
    rows = as_rows(*pairs(150, 5, 0))
    model, settings = assay.Perceptron(max_iter=4), [{"variant": "averaged"}, {}]
    for a, b in zip(together(model, settings, rows), separately(model, settings, rows)):
        assert np.array_equal(a.coef_, b.coef_)
        assert np.array_equal(a.intercept_, b.intercept_)
        assert a.certificate_.verify(rows).holds
        assert not hasattr(a, "separable_")
        a.certify(rows)
        assert hasattr(a, "separable_") == hasattr(b, "separable_")


@pytest.mark.parametrize(("model", "settings", "data"), WARM, ids=name)
def test_warm_starts_change_nothing_beyond_the_tolerance(model, settings, data):
    X, y = data(150, 5, 0)
    rows = as_rows(X, y)
    each, alone = together(model, settings, rows), separately(model, settings, rows)
    assert [m.get_params() for m in each] == [m.get_params() for m in alone]
    for a, b in zip(each, alone):
        assert a.converged_ == b.converged_
        assert np.all(a.gap_ <= a.tol) or not b.converged_
        assert np.allclose(a.objective_, b.objective_, rtol=3 * a.tol)
        assert np.allclose(answers(a, X), answers(b, X), rtol=0.02, atol=0.02)
        if hasattr(a, "classes_"):
            clear = lead(b, X) > 2 * np.abs(answers(a, X) - answers(b, X)).max()
            assert clear.mean() > 0.5
            assert np.array_equal(a.predict(X[clear]), b.predict(X[clear]))
        assert a.complexity() == pytest.approx(b.complexity(), abs=0.01)


@pytest.mark.parametrize(("model", "settings", "data"), WARM, ids=name)
def test_every_model_is_whole_and_its_certificate_holds(model, settings, data, tmp_path):
    X, y = data(150, 5, 1)
    w = 0.5 + np.arange(150) % 3
    for fitted in together(model, settings, as_rows(X, y, w)):
        verdicts = fitted.certificate_.verify(X, y, w)
        assert verdicts.holds, f"{fitted}: {verdicts}"
        assert verdicts.notes == ()
        fitted.save(tmp_path / "m.assay")
        again = assay.load(tmp_path / "m.assay")
        assert file_bytes(again) == file_bytes(fitted)
        assert np.array_equal(answers(pickle.loads(pickle.dumps(fitted)), X), answers(again, X))
        assert "_trail" not in vars(fitted)
        fitted.fit(X, y)  # and can be fitted again, on its own


@pytest.mark.parametrize(("model", "settings", "data"), [*EXACT[:4], *WARM[:3], WARM[9], WARM[11]], ids=name)
def test_threads_change_no_bit(model, settings, data):
    found = []
    with small_blocks():
        X, y = data(2 * block_rows(20) + 7, 20, 0)
        for workers in (1, 2):
            with assay.engine("threads", workers=workers):
                found.append([file_bytes(m) for m in together(model, settings[:3], ArrayRows(X, y))])
    assert found[0] == found[1]


def test_sparse_rows_are_followed_too():
    from scipy import sparse

    X, y = pairs(200, 6, 0)
    X = np.where(np.abs(X) > 1, X, 0.0)
    rows = as_rows(sparse.csr_array(X), y, sparse=True)
    for model, settings in (
        (assay.LogisticRegression(), DECADES),
        (assay.BernoulliNB(), [{"alpha": 1.0}, {"alpha": 9}]),
    ):
        for a, b in zip(together(model, settings, rows), separately(model, settings, rows)):
            assert np.allclose(answers(a, X), answers(b, X), atol=1e-3)
            assert a.certificate_.verify(sparse.csr_array(X), y).holds


def test_a_later_fit_does_not_feel_what_was_done_to_an_earlier_one():
    rows = as_rows(*blobs(150, 5, 0))
    more = blobs(150, 5, 1)
    for model, settings, _ in (EXACT[0], EXACT[7]):
        alone = separately(model, settings, rows)
        for k, fitted in enumerate(model.fit_each(rows, settings)):
            assert file_bytes(fitted) == file_bytes(alone[k])
            fitted.partial_fit(*more).set_params(priors=[1.0, 0.0, 0.0])


def test_rows_are_folded_once(monkeypatch):
    from assay.estimator import one_fold
    from assay.families.linear import fit as linear

    counted = {"fold": 0, "statistics": 0}

    def counting(word, function):
        def counted_call(*arguments):
            counted[word] += 1
            return function(*arguments)

        return counted_call

    monkeypatch.setattr(one_fold, "fold", counting("fold", one_fold.fold))
    monkeypatch.setattr(linear, "row_statistics", counting("statistics", linear.row_statistics))
    together(assay.QuadraticDiscriminantAnalysis(), EXACT[7][1], as_rows(*blobs(150, 5, 0)))
    together(assay.LogisticRegression(), DECADES, as_rows(*pairs(150, 5, 0)))
    assert counted == {"fold": 1, "statistics": 1}


def test_warm_starts_save_iterations():
    rows = as_rows(*pairs(2000, 10, 0))
    for model in (assay.LogisticRegression(), assay.LinearSVC()):
        each, alone = together(model, DECADES, rows), separately(model, DECADES, rows)
        assert sum(m.n_iter_ for m in each) < sum(m.n_iter_ for m in alone)


def test_the_notes_algorithms_take_their_own_steps():
    rows = as_rows(*pairs(100, 3, 0))
    model = assay.LogisticRegression(solver="gd", max_iter=20)
    for a, b in zip(together(model, DECADES[:3], rows), separately(model, DECADES[:3], rows)):
        assert file_bytes(a) == file_bytes(b)


def test_a_warm_start_leaves_no_intercept_where_none_is_fitted():
    X, y = pairs(100, 3, 0)
    model = assay.LogisticRegression(warm_start=True).fit(X, y).set_params(fit_intercept=False).fit(X, y)
    assert model.intercept_ == [0.0]
    assert model.certificate_.verify(X, y).holds


def test_separable_classes_are_found_out_all_the_same():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    rows = as_rows(X, [0, 0, 1, 1])
    weak, none = together(assay.LogisticRegression(), [{"C": 1.0}, {"C": inf}], rows)
    assert not weak.separable_
    assert none.separable_
    assert none.certificate_.verify(X, [0, 0, 1, 1]).holds
    soft, hard, again = together(assay.LinearSVC(), [{"C": 1.0}, {"C": inf}, {"C": 2.0}], rows)
    assert (soft.solver_, hard.solver_, again.solver_) == ("newton", "hard-margin", "newton")
    assert hard.certificate_.verify(X, [0, 0, 1, 1]).holds


def test_a_setting_that_is_not_possible_is_refused_when_its_turn_comes():
    rows = as_rows(*blobs(150, 5, 0))
    for model, name in ((assay.GaussianNB(), "var_smoothing"), (assay.LogisticRegression(), "C")):
        fits = model.fit_each(rows, [{name: 0.5}, {name: -1.0}])
        next(fits)
        with pytest.raises(ParameterError, match=f"{name}=-1"):
            next(fits)


def test_every_model_of_one_fold_says_what_its_statistics_depend_on():
    for cls in assay.models().values():
        if issubclass(cls, OneFold):
            assert cls()._folded_by() == cls()._folded_by()
