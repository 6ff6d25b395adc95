"""Linear models in kernel features: what kernel machines would answer, and a certificate that maps the rows again."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import file_bytes
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from small_blocks import small_blocks

import assay
from assay.errors import DataError, ModelFileError, ParameterError
from assay.families.kernel.features import fit as features_model

rng = np.random.default_rng(5)
X = rng.normal(size=(1200, 2))
Y = (np.hypot(X[:, 0], X[:, 1]) + 0.1 * rng.normal(size=1200) > 1.1).astype(int)
T = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=1200)
MODELS = [
    assay.KernelFeaturesClassifier(n_components=30),
    assay.KernelFeaturesClassifier("fourier", n_components=31, loss="hinge"),
    assay.KernelFeaturesClassifier(n_components=30, kernel="poly", degree=9, gamma=0.5, loss="squared_hinge"),
    assay.KernelFeaturesRegressor(n_components=30, kernel="laplacian"),
    assay.KernelFeaturesRegressor("fourier", n_components=30),
]


def again(model):
    return type(model)(**model.get_params())


def target_of(model):
    return T if isinstance(model, assay.KernelFeaturesRegressor) else Y


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("features", ["nystroem", "fourier"])
def test_few_features_are_nearly_as_right_as_the_exact_machine(features, loss):
    train, test = slice(0, 800), slice(800, None)
    exact = SVC(gamma=1.0, C=10.0).fit(X[train], Y[train]).score(X[test], Y[test])
    model = assay.KernelFeaturesClassifier(features, gamma=1.0, C=10.0, n_components=60, loss=loss)
    assert model.fit(X[train], Y[train]).score(X[test], Y[test]) > exact - 0.02
    assert assay.LogisticRegression().fit(X[train], Y[train]).score(X[test], Y[test]) < exact - 0.2


def test_with_all_rows_as_landmarks_the_hinge_gives_the_machine_itself():
    rows, y = X[:150], Y[:150]
    exact = SVC(gamma=1.0, C=1.0, tol=1e-10).fit(rows, y)
    ours = assay.KernelFeaturesClassifier(gamma=1.0, C=1.0, n_components=150, loss="hinge", tol=1e-10).fit(rows, y)
    assert np.allclose(ours.decision_function(X), exact.decision_function(X), atol=1e-5)


def test_with_all_rows_as_landmarks_the_regressor_is_kernel_ridge_with_an_intercept():
    rows, t, alpha = X[:120], T[:120], 0.3
    K = rbf_kernel(rows, rows, gamma=0.7)
    one = np.ones((120, 1))
    system = np.block([[K + alpha * np.eye(120), one], [one.T, np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.append(t, 0.0))
    ours = assay.KernelFeaturesRegressor(gamma=0.7, alpha=alpha, n_components=120).fit(rows, t)
    assert np.allclose(ours.predict(X), rbf_kernel(X, rows, gamma=0.7) @ solved[:-1] + solved[-1], atol=1e-6)


def test_the_model_is_the_transform_and_the_linear_model():
    F = (nystroem := assay.Nystroem(gamma="scale", n_components=30)).fit_transform(X)
    linear = assay.LogisticRegression(C=2.0).fit(F, Y)
    model = assay.KernelFeaturesClassifier(n_components=30, C=2.0).fit(X, Y)
    assert np.array_equal(model.feature_coef_, linear.coef_)
    assert np.array_equal(model.map_, nystroem.map_)
    assert model.approximation_error_ == nystroem.approximation_error_
    assert model.complexity() == linear.complexity()
    assert not hasattr(model, "coef_")  # it has no weights of the columns, which figures and reports would show
    assert np.allclose(model.predict_proba(X), linear.predict_proba(F), atol=1e-10)


def test_only_the_logistic_loss_has_probabilities():
    model = assay.KernelFeaturesClassifier(loss="hinge").fit(X, Y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="loss='logistic'"):
        model.predict_proba(X)
    model.set_params(loss="logistic")  # takes effect at the next fit
    assert not hasattr(model, "predict_proba")
    assert hasattr(model.fit(X, Y), "predict_proba")


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_what_is_set_after_a_fit_changes_no_answer(model):
    model, t = again(model), target_of(model)
    model.fit(X, t)
    before, file = model.predict(X), file_bytes(model)
    model.set_params(kernel="linear", gamma=3.0, n_components=5, features="nystroem", random_state=9)
    assert np.array_equal(model.predict(X), before)
    assert file_bytes(model) == file
    assert model.certificate_.verify(X, t).holds


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_rows_that_are_mapped_in_every_pass_give_the_same_file(model, monkeypatch):
    t = target_of(model)
    here = file_bytes(again(model).fit(X, t))
    monkeypatch.setattr(features_model, "in_memory_if_few", lambda engine, mapped: mapped)
    assert file_bytes(again(model).fit(X, t)) == here


@pytest.mark.parametrize("model", MODELS[:2] + MODELS[3:4], ids=str)
def test_settings_of_one_search_share_a_map_and_answer_alike(model, monkeypatch):
    calls = []
    learn = features_model.learn
    monkeypatch.setattr(features_model, "learn", lambda *a, **k: calls.append(1) or learn(*a, **k))
    t = target_of(model)
    name = "alpha" if t is T else "C"
    settings = [{name: 0.5}, {name: 2.0}, {name: 2.0, "n_components": 12}]
    rows = assay.engines.rows.ArrayRows(X, t)
    fits = list(again(model).fit_each(rows, settings))
    assert len(calls) == 2
    for setting, fit in zip(settings, fits, strict=True):
        alone = again(model).set_params(**setting).fit(X, t)
        assert fit.get_params() == alone.get_params()
        assert np.allclose(fit.predict(X), alone.predict(X), atol=1e-6)
        assert fit.certificate_.verify(X, t).holds


def test_a_file_is_fitted_streamed_and_on_a_cluster_with_the_same_bytes(tmp_path, client):
    import pandas as pd

    with small_blocks(client):
        names = ["a", "b"]
        frame = pd.DataFrame(np.tile(X, (8, 1)) + 0.01, columns=names).assign(y=np.tile(Y, 8))
        frame.to_csv(tmp_path / "t.csv", index=False)
        rows = assay.rows(tmp_path / "t.csv", target="y")
        wanted = assay.KernelFeaturesClassifier(n_components=25).fit(frame[names], frame["y"])
        streamed = assay.KernelFeaturesClassifier(n_components=25).fit(rows)
        with assay.engine("cluster", client):
            spread = assay.KernelFeaturesClassifier(n_components=25).fit(rows)
        assert np.array_equal(streamed.feature_coef_, wanted.feature_coef_)
        assert np.array_equal(spread.feature_coef_, wanted.feature_coef_)
        assert streamed.certificate_.verify(rows).holds
        assert streamed.certificate_.fingerprint == wanted.certificate_.fingerprint


# --- the certificate --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_certificate_states_the_error_and_refuses_any_other(model):
    t = target_of(model)
    certificate = again(model).fit(X, t).certificate_
    claim = certificate["kernel approximation"]
    assert claim.kind == "estimate"
    assert "root mean square" in claim.statement
    assert ("landmarks miss" in claim.statement) == (model.features == "nystroem")
    alone = dataclasses.replace(certificate, own=None)

    def refused(**changed):
        witness = {**claim.witness, **changed.pop("witness", {})}
        wrong = dataclasses.replace(claim, witness=witness, **changed)
        return not dataclasses.replace(alone, claims=(wrong,)).verify(X, t).holds

    assert not refused()
    assert refused(value=claim.value * 1.01)
    assert refused(value=None)
    for key, entry in claim.witness.items():
        if isinstance(entry, float):
            assert refused(witness={key: entry * 1.01 + 1e-5}), key
    assert refused(witness={"rows": 499})
    assert refused(witness={"seed": 77}) or model.features == "fourier"
    assert refused(witness={"kernel": "linear"})
    assert refused(witness={"kernel_numbers": [2.0 * claim.witness["kernel_numbers"][0], 3.0, 1.0]})
    for key, array in claim.witness.items():
        if isinstance(array, np.ndarray) and key != "centre":  # of a wave's products the centre is no part
            assert refused(witness={key: array * 1.01 + 0.01}), key
            assert refused(witness={key: array[:-1]}), key


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_claims_of_the_linear_model_are_checked_of_rows_mapped_anew(model):
    t = target_of(model)
    certificate = again(model).fit(X, t).certificate_
    alone = dataclasses.replace(certificate, own=None)
    claim = certificate.claims[0]
    assert claim.kind == "proof"
    assert claim.statement.startswith("of the features")
    for key in {"landmarks", "map", "frequencies", "offset", "centre", "coef"} & claim.witness.keys():
        wrong = dataclasses.replace(claim, witness={**claim.witness, key: claim.witness[key] * 1.001 + 0.001})
        assert not dataclasses.replace(alone, claims=(wrong,)).verify(X, t).holds, key
    for check in ("kernel_features", "kernel_approximation", "nothing", "tree_leaves"):
        wrong = dataclasses.replace(claim, witness={**claim.witness, "of_features": check})
        assert not dataclasses.replace(alone, claims=(wrong,)).verify(X, t).holds, check


def test_one_false_landmark_is_refused():
    certificate = dataclasses.replace(assay.KernelFeaturesClassifier().fit(X, Y).certificate_, own=None)
    claim = certificate["kernel approximation"]
    wrong = claim.witness["landmarks"].copy()
    wrong[3, 0] += 1e-9
    claims = (dataclasses.replace(claim, witness={**claim.witness, "landmarks": wrong}),)
    assert "least hash" in str(dataclasses.replace(certificate, claims=claims).verify(X, Y))


# --- files ------------------------------------------------------------------------------------------------------------


def broken(record, **changes):
    arrays, facts = dict(record.arrays), dict(record.facts)
    for name, value in changes.items():
        where = arrays if isinstance(value, np.ndarray) or name in arrays else facts
        where[name] = value
        if value is None:
            del where[name]
    return dataclasses.replace(record, arrays=arrays, facts=facts)


HOSTILE = [
    {"gamma_": 0.0},
    {"gamma_": float("inf")},
    {"map_": None},
    {"map_": np.empty((30, 0))},
    {"landmarks_": np.empty((0, 2)), "map_": np.empty((0, 30))},
    {"landmarks_": np.zeros((30, 3))},
    {"landmarks_": np.full((30, 2), np.nan)},
    {"map_": np.zeros((30, 29))},
    {"offset_": np.zeros(30)},
    {"frequencies_": np.zeros((2, 30)), "offset_": np.zeros(30), "centre_": np.zeros(2)},
    {"feature_coef_": np.zeros((1, 29))},
    {"feature_coef_": None},
    {"feature_coef_": np.zeros((2, 30))},
    {"intercept_": np.zeros(3)},
    {"error_rows_": 0},
    {"error_rms_": -1.0},
    {"n_iter_": None},
    {"dual_rows_": np.array([-1])},
    {"rank_": 3},
]


@pytest.mark.parametrize("changes", HOSTILE, ids=lambda c: "-".join(c))
def test_files_whose_parts_do_not_fit_together_are_refused(changes):
    model = again(MODELS[0]).fit(X, Y)
    with pytest.raises(ModelFileError):
        type(model).from_record(broken(model.to_record(), **changes))


def test_a_file_of_waves_without_waves_and_a_ridge_of_another_width_are_refused():
    model = again(MODELS[1]).fit(X, Y)
    for changes in ({"frequencies_": None}, {"offset_": np.zeros(30)}, {"centre_": np.zeros(3)}):
        with pytest.raises(ModelFileError):
            type(model).from_record(broken(model.to_record(), **changes))
    record = model.to_record()
    for params in (
        {"kernel": "poly"},
        {"features": "nystroem"},
        {"degree": 10**400},
        {"loss": "logistic", "gamma": -1.0},
    ):
        with pytest.raises(ModelFileError):
            type(model).from_record(dataclasses.replace(record, params={**record.params, **params}))
    ridge = again(MODELS[3]).fit(X, T)
    for changes in (
        {"state.scatter": np.zeros((29, 29))},
        {"state.n": None},
        {"rank_": 2},
        {"feature_coef_": np.zeros(29)},
    ):
        with pytest.raises(ModelFileError):
            type(ridge).from_record(broken(ridge.to_record(), **changes))


# --- refused, with words; taking part -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"C": np.inf}, "C=inf"),
        ({"C": 0.0}, "C=0.0"),
        ({"gamma": -0.5}, "gamma=-0.5"),
        ({"features": "wavelets"}, "'nystroem', 'fourier'"),
        ({"loss": "squared"}, "'logistic', 'hinge', 'squared_hinge'"),
        ({"n_components": -3}, "n_components=-3"),
    ],
)
def test_impossible_parameters_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        assay.KernelFeaturesClassifier(**given).fit(X, Y)
    if "C" not in given and "loss" not in given:
        with pytest.raises(ParameterError, match=words):
            assay.KernelFeaturesRegressor(**given).fit(X, T)


def test_a_missing_value_is_named_when_it_is_asked_about():
    model = assay.KernelFeaturesClassifier().fit(X, Y)
    bad = X.copy()
    bad[9, 1] = np.nan
    with pytest.raises(DataError, match="row 9, column 1"):
        model.predict(bad)
    with pytest.raises(DataError, match="row 9, column 1"):
        assay.KernelFeaturesRegressor().fit(X, T).predict(bad)


def test_a_comparison_finds_that_a_circle_is_no_line():
    table = {"a": X[:, 0], "b": X[:, 1], "y": np.array(["in", "out"])[Y]}
    found = assay.compare(table, target="y", models=["logistic-regression", "kernel-features", "baseline"])
    assert found.best == "kernel-features"


def test_endless_tables_are_left_to_others_and_text_is_not():
    from assay.estimator.search_space import TableTraits

    for cls, kind in ((assay.KernelFeaturesClassifier, "classifier"), (assay.KernelFeaturesRegressor, "regressor")):
        assert cls.search_space(kind, TableTraits(1000, 2, False, False, True)).unfit is None
        assert "minutes" in cls.search_space(kind, TableTraits(10**8, 2, False, False, False)).unfit
        long = cls.search_space(kind, TableTraits(10**6, 2, False, False, False))
        assert long.unfit is None
        assert len(long.search) == 1
        assert long.search[0]["n_components"] <= 100


def test_the_hinge_comes_to_its_end_though_many_features_are_nearly_nothing():
    from cases import pairs

    rows, y = pairs(30_000, 3, 0)  # 100 features of three columns: most have hardly any spread
    for features in ("nystroem", "fourier"):
        model = assay.KernelFeaturesClassifier(features, loss="hinge").fit(rows, y)
        assert model.converged_
        assert model.gap_.max() <= 1e-6


def test_rows_so_far_apart_that_products_lose_their_digits_are_mapped_by_differences():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5, 3)) * [0.03, 1e-7, 0.0] + [[0, 0, z] for z in (3000.0, 3000.0, -3000.0, 4500.0, 3000.0)]
    y = rng.standard_normal(5)
    model = assay.KernelFeaturesRegressor(gamma=77.0, alpha=0.002).fit(X, y)
    assert model._map.kernel.by_differences
    assert model.certificate_.verify(X, y).holds
    assert not assay.KernelFeaturesRegressor().fit(X / 1e3, y)._map.kernel.by_differences


def test_a_claim_that_does_not_hold_is_not_verified():
    rows, y = [[1.542403266228339], [-0.7214402328087515], [-0.43107194700213497]], [0, 0, 1]
    model = assay.KernelFeaturesClassifier(n_components=13, tol=0.0, class_weight={0: 3.0, 1: 0.5}).fit(rows, y)
    assert model.certificate_.holds == model.certificate_.verify(rows, y).holds


def test_values_whose_squares_overflow_are_refused():
    with pytest.raises(DataError, match="Squares of kernel values overflow"):
        assay.KernelFeaturesRegressor(kernel="affine").fit([[6e141]], [3e7])


NEARLY_EQUAL = [
    ([[2000.0, 1335.618400766411], [2000.0, 1335.46972164672]], [2.0, 0.9], [4e78, 4e78]),
    ([[2000.0, 1335.8023393202209], [2000.0, 1335.7480849358697]], [1.99, 2.07], [7e78, 4e78]),
    ([[0.0, 0.0], [50.0, 0.0], [0.0, 70000.0]], [999.0, 993.0, 1010.0], [2e11, 2e11, 1e11]),
    ([[0.0, 0.0], [50.0, 0.0], [0.0, 5720000.0]], [999.0, 993.0, 985.0], [2e11, 2e11, 3e11]),
]


def in_80_bits(model, X, y, w):
    """The root of the mean square of the residuals and the greatest slope (as a share of its scale), of features in numbers of 80 bits."""
    long = np.longdouble
    apart = np.asarray(X, long)[:, None] - model.landmarks_.astype(long)
    F = np.exp(-long(model.gamma_) * (apart**2).sum(axis=2)) @ model.map_.astype(long)
    w, y = np.asarray(w, long), np.asarray(y, long)
    r = y - model.intercept_ - F @ model.feature_coef_
    D, t = F - w @ F / w.sum(), y - w @ y / w.sum()
    scale = np.sqrt((w @ D**2 + model.alpha) * (w @ t**2))
    return np.sqrt(w @ r**2 / w.sum()), np.abs((w * r) @ D - model.alpha * model.feature_coef_) / scale


@pytest.mark.parametrize(("X", "y", "w"), NEARLY_EQUAL)
def test_what_rounding_of_features_hides_is_in_the_claim(X, y, w):
    X, y, w = np.array(X), np.array(y), np.array(w)
    model = assay.KernelFeaturesRegressor().fit(X, y, w)
    root, slopes = in_80_bits(model, X, y, w)
    variance, slope = model.certificate_["sigma^2"], model.certificate_["normal equations"]
    rounding = 1e-12 * np.abs(y).max()
    assert variance.holds
    assert abs(root - np.sqrt(variance.value)) <= np.sqrt(variance.bound) - np.sqrt(variance.value) + rounding
    assert slopes.max() <= slope.bound or not slope.holds
    for claim, verdict in zip(model.certificate_, model.certificate_.verify(X, y, w)):
        assert claim.holds == verdict.holds, str(verdict)


@pytest.mark.parametrize(("name", "case"), [("sigma^2", 0), ("sigma^2", 2), ("normal equations", 3)])
def test_a_claim_that_does_not_allow_for_rounding_of_features_is_refused(name, case):
    X, y, w = (np.array(part) for part in NEARLY_EQUAL[case])
    certificate = assay.KernelFeaturesRegressor().fit(X, y, w).certificate_
    bold = {"sigma^2": certificate["sigma^2"].value, "normal equations": 1e-9}[name]
    claims = tuple(dataclasses.replace(c, bound=bold) if c.name == name else c for c in certificate.claims)
    found = {v.claim: v for v in dataclasses.replace(certificate, claims=claims, own=None).verify(X, y, w)}
    assert not found[name].holds


def test_rounding_of_features_is_next_to_nothing_on_ordinary_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=400)
    for given in ({}, {"features": "fourier"}, {"kernel": "poly"}, {"kernel": "laplacian", "alpha": 1e-3}):
        model = assay.KernelFeaturesRegressor(**given).fit(X, y)
        assert model.certificate_["normal equations"].bound < 1e-8
        assert model.certificate_["sigma^2"].bound < model.certificate_["sigma^2"].value * (1 + 1e-7)
        assert model.certificate_.verify(X, y).holds


def test_no_gap_is_claimed_of_an_objective_that_rounding_of_features_leaves_open():
    rng = np.random.default_rng(3)
    X = np.array([1000.0, 1.0]) + np.array([1e-3, 1e-9]) * rng.normal(size=(20, 2))
    y = (rng.random(20) < 0.5).astype(int)
    for loss in ("logistic", "hinge", "squared_hinge"):
        model = assay.KernelFeaturesClassifier(kernel="poly", gamma=1.0, C=1e8, loss=loss, features="nystroem").fit(
            X, y
        )
        gap = model.certificate_.claims[0]
        assert model.certificate_.verify(X, y).verdicts[0].holds == gap.holds
        assert not gap.holds
        assert "rounding of the features" in gap.statement
    plain = rng.normal(size=(200, 3))
    model = assay.KernelFeaturesClassifier(C=10.0).fit(plain, (plain[:, 0] ** 2 > 0.5).astype(int))
    assert model.certificate_.holds
    assert "rounding" not in model.certificate_.claims[0].statement


def test_a_fit_whose_claims_nobody_asks_for_learns_the_same_and_measures_less():
    from assay.certify.claim import unclaimed

    X = np.random.default_rng(0).normal(size=(200, 3))
    y = X[:, 0] * X[:, 1] > 0
    whole = assay.KernelFeaturesClassifier(n_components=20).fit(X, y)
    with unclaimed():
        bare = assay.KernelFeaturesClassifier(n_components=20).fit(X, y)
    assert np.array_equal(whole.feature_coef_, bare.feature_coef_)
    assert np.array_equal(whole.predict(X), bare.predict(X))
    assert whole.error_rows_ > 0
    assert not hasattr(bare, "error_rows_")
    assert not hasattr(bare, "features_off_")
