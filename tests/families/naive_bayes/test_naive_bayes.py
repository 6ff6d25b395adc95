"""Naive Bayes: closed forms, textbook numbers, agreement with scikit-learn 1.9.1, weights, partial fits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn import naive_bayes as peer

import assay
from assay.store import encode

NAMES = ["GaussianNB", "BernoulliNB", "MultinomialNB", "CategoricalNB"]
MODELS = ["NaiveBayes", *NAMES]


def rows(name: str, n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes; numbers for GaussianNB, counts for the others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    if name in ("GaussianNB", "NaiveBayes"):
        return rng.normal(size=(n, 5)) * [1, 2, 3, 4, 5] + y[:, None] + 100, y
    X = np.minimum(rng.poisson(0.5 + 0.5 * y[:, None] * np.arange(5) / 2), 4).astype(float)
    return X, y


def file_of(model) -> bytes:
    return encode(model.to_record())


def same_parameters(a, b, rtol=1e-10) -> None:
    """All learnt arrays of two models are equal up to rounding."""
    for name in (n for n in type(a).layout if n.endswith("_") and n not in ("columns_", "class_factor_")):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_parameters_and_probabilities_are_those_of_scikit_learn(name, weighted):
    X, y = rows(name)
    w = np.random.default_rng(1).random(len(y)) if weighted else None
    ours, theirs = getattr(assay, name)().fit(X, y, w), getattr(peer, name)().fit(X, y, sample_weight=w)
    attributes = {
        "GaussianNB": ["theta_", "class_prior_"] + ([] if weighted else ["var_", "epsilon_"]),
        "BernoulliNB": ["feature_count_", "feature_log_prob_", "class_log_prior_"],
        "MultinomialNB": ["feature_count_", "feature_log_prob_", "class_log_prior_"],
        "CategoricalNB": ["class_log_prior_", "n_categories_"],
    }[name]
    for attribute in ["class_count_", *attributes]:
        np.testing.assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), rtol=1e-10, err_msg=attribute)
    if name == "CategoricalNB":
        for attribute, j in itertools.product(["category_count_", "feature_log_prob_"], range(5)):
            np.testing.assert_allclose(getattr(ours, attribute)[j], getattr(theirs, attribute)[j], rtol=1e-10)
    # scikit-learn takes epsilon from the unweighted variance, so weighted variances differ by parts of 1e-9
    tolerance = 1e-7 if weighted else 1e-9
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=tolerance, atol=tolerance
    )
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=tolerance, atol=tolerance)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("GaussianNB", {"priors": [0.2, 0.3, 0.5], "var_smoothing": 0.1}),
        ("BernoulliNB", {"alpha": 0.3, "binarize": 1.0, "fit_prior": False}),
        ("BernoulliNB", {"class_prior": [0.2, 0.3, 0.5]}),
        ("MultinomialNB", {"alpha": [0.1, 0.2, 0.3, 0.4, 0.5]}),
        ("MultinomialNB", {"fit_prior": False, "alpha": 2.0}),
        ("CategoricalNB", {"alpha": 0.5, "min_categories": 7}),
        ("CategoricalNB", {"min_categories": [6, 7, 5, 5, 9], "class_prior": [0.2, 0.3, 0.5]}),
    ],
)
def test_hyper_parameters_mean_what_they_mean_in_scikit_learn(name, params):
    X, y = rows(name)
    ours, theirs = getattr(assay, name)(**params).fit(X, y), getattr(peer, name)(**params).fit(X, y)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9)


def test_a_tiny_alpha_is_lifted_unless_forced():
    X, y = rows("MultinomialNB")
    with pytest.warns(UserWarning, match="alpha"):
        lifted = assay.MultinomialNB(alpha=0.0, force_alpha=False).fit(X, y)
    same_parameters(lifted, assay.MultinomialNB(alpha=1e-10).fit(X, y))
    assert lifted.certificate_.verify(X, y).holds


def test_the_chinese_text_of_the_information_retrieval_book_has_its_published_probabilities():
    # Manning, Raghavan, Schütze (2008), example 13.1: P(c | d5) ∝ 3/4 (3/7)³ 1/14 1/14 ≈ 0.0003, other ≈ 0.0001
    words = ["Chinese", "Beijing", "Shanghai", "Macao", "Tokyo", "Japan"]
    texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
    X = np.array([[text.split().count(word) for word in words] for text in texts], dtype=float)
    d5 = [[3, 0, 0, 0, 1, 1]]
    model = assay.MultinomialNB().fit(X, ["c", "c", "c", "j"])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0, [0, 4, 5]]), [3 / 7, 1 / 14, 1 / 14])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[1, [0, 4, 5]]), [2 / 9, 2 / 9, 2 / 9])
    joint = np.exp(model.predict_joint_log_proba(d5))[0]
    np.testing.assert_allclose(joint, [3 / 4 * (3 / 7) ** 3 / 14**2, 1 / 4 * (2 / 9) ** 5])
    assert joint.round(4).tolist() == [0.0003, 0.0001]
    assert model.predict(d5)[0] == "c"


def test_the_bernoulli_model_of_the_same_book_decides_the_other_way():
    # example 13.2: P(c | d5) ∝ 3/4 · 4/5 · 1/5 · 1/5 · (1 − 2/5)³ ≈ 0.005, P(other | d5) ∝ 1/4 · (2/3)³ (1 − 1/3)³ ≈ 0.022
    X = [[1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 1]]
    model = assay.BernoulliNB().fit(X, ["c", "c", "c", "j"])
    joint = np.exp(model.predict_joint_log_proba([[1, 0, 0, 0, 1, 1]]))[0]
    np.testing.assert_allclose(joint, [3 / 4 * 4 / 5 / 25 * (3 / 5) ** 3, 1 / 4 * (2 / 3) ** 6])
    assert joint.round(3).tolist() == [0.005, 0.022]


def test_mitchells_day_for_tennis_has_its_published_posterior():
    # Mitchell (1997), section 6.9.1: P(no | sunny, cool, high, strong) = .0206 / (.0206 + .0053) = .795
    table = """sunny hot high weak no;sunny hot high strong no;overcast hot high weak yes;rain mild high weak yes;
    rain cool normal weak yes;rain cool normal strong no;overcast cool normal strong yes;sunny mild high weak no;
    sunny cool normal weak yes;rain mild normal weak yes;sunny mild normal strong yes;overcast mild high strong yes;
    overcast hot normal weak yes;rain mild high strong no"""
    import pandas as pd

    columns = ["outlook", "temperature", "humidity", "wind", "play"]
    frame = pd.DataFrame([row.split() for row in table.split(";")], columns=columns)
    X, day = frame[columns[:4]], pd.DataFrame([["sunny", "cool", "high", "strong"]], columns=columns[:4])
    for model in (assay.CategoricalNB(alpha=0.0), assay.NaiveBayes(alpha=0.0)):
        model.fit(X, frame["play"])
        joint = np.exp(model.predict_joint_log_proba(day))[0]
        assert joint.round(4).tolist() == [0.0206, 0.0053]
        assert model.predict_proba(day)[0].round(3).tolist() == [0.795, 0.205]


def test_a_poisson_column_has_the_mean_count_as_its_rate():
    X, y = [[0], [2], [4], [10], [12]], [0, 0, 0, 1, 1]
    model = assay.NaiveBayes("poisson", alpha=0.0).fit(X, y)
    assert model.poisson_rate_.ravel().tolist() == [2.0, 11.0]
    expected = np.log([3 / 5, 2 / 5]) + 3 * np.log([2, 11]) - [2, 11]
    np.testing.assert_allclose(model.predict_joint_log_proba([[3]])[0], expected)


def test_one_density_for_all_columns_is_the_model_of_that_name():
    for name, word in zip(NAMES, ["gaussian", "bernoulli", "multinomial", "categorical"]):
        X, y = rows(name)
        X = np.minimum(X, 1) if word == "bernoulli" else X
        same_parameters(assay.NaiveBayes(word).fit(X, y), getattr(assay, name)().fit(X, y), rtol=0)


@pytest.mark.parametrize("name", MODELS)
def test_a_weight_is_a_row_repeated_and_weight_zero_a_row_absent(name):
    X, y = rows(name)
    w = np.random.default_rng(2).integers(0, 4, len(y))
    w[X.argmax(axis=0)] = 0  # the largest categories occur in rows of weight zero only
    again = np.repeat(np.arange(len(y)), w)
    ours, repeated = getattr(assay, name)().fit(X, y, w), getattr(assay, name)().fit(X[again], y[again])
    same_parameters(ours, repeated)
    np.testing.assert_allclose(ours.class_count_, repeated.class_count_)
    assert ours.certificate_.verify(X, y, w).holds
    assert ours.certificate_.verify(X[again], y[again]).holds


@pytest.mark.parametrize("name", ["NaiveBayes", "GaussianNB", "BernoulliNB"])
def test_a_class_weight_multiplies_the_weights_of_its_rows(name):
    X, y = rows(name)
    factor = np.array([1.0, 3.0, 0.5])
    weighted = getattr(assay, name)(class_weight={0: 1, 1: 3, 2: 0.5}).fit(X, y)
    same_parameters(weighted, getattr(assay, name)().fit(X, y, factor[y]))
    np.testing.assert_allclose(weighted.class_count_, factor * np.bincount(y))
    assert weighted.certificate_.verify(X, y).holds
    balanced = getattr(assay, name)(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.class_prior_, 1 / 3)


@pytest.mark.parametrize("name", MODELS)
def test_partial_fits_are_a_fit_up_to_rounding(name):
    X, y = rows(name)
    whole = getattr(assay, name)().fit(X, y)
    parts = getattr(assay, name)()
    parts.partial_fit(X[:150], y[:150], classes=[0, 1, 2])
    parts.partial_fit(X[150:], y[150:])
    same_parameters(parts, whole, rtol=1e-10)
    assert parts.certificate_.verify(X, y).holds


def test_a_batch_may_lack_a_class_and_a_column_may_grow_new_categories_later():
    model = assay.CategoricalNB().partial_fit([[0], [1]], [0, 0], classes=[0, 1])
    assert model.class_prior_.tolist() == [1.0, 0.0]
    assert model.predict_proba([[1]]).tolist() == [[1.0, 0.0]]
    model.partial_fit([[3], [3]], [1, 1])
    assert model.n_categories_.tolist() == [4]
    same_parameters(model, assay.CategoricalNB().fit([[0], [1], [3], [3]], [0, 0, 1, 1]))


def test_a_loaded_model_goes_on_learning(tmp_path):
    X, y = rows("NaiveBayes")
    model = assay.NaiveBayes().fit(X[:200], y[:200])
    model.save(tmp_path / "m.assay")
    loaded = assay.load(tmp_path / "m.assay")
    assert file_of(loaded) == file_of(model)
    assert file_of(loaded.partial_fit(X[200:], y[200:])) == file_of(model.partial_fit(X[200:], y[200:]))


@pytest.mark.parametrize("name", MODELS)
def test_float32_is_summed_in_float64(name):
    X, y = rows(name, n=3000)
    X = X.astype(np.float32)
    same_parameters(getattr(assay, name)().fit(X, y), getattr(assay, name)().fit(X.astype(np.float64), y))


@pytest.mark.parametrize("name", MODELS)
def test_the_file_is_the_same_for_any_number_of_threads_and_for_a_stream(name):
    X, y = rows(name, n=150_000)
    X[::1000, 0] = np.nan
    w = np.random.default_rng(3).random(len(y))
    files = {file_of(getattr(assay, name)(n_jobs=jobs).fit(X, y, w)) for jobs in (1, 2, 5)}
    with assay.engine("stream", workers=2):
        model = getattr(assay, name)().fit(X, y, w)
        files.add(file_of(model))
    assert len(files) == 1
    assert np.array_equal(model.predict(X[:50_000]), getattr(assay, name)(n_jobs=1).fit(X, y, w).predict(X)[:50_000])


@pytest.mark.parametrize("name", MODELS)
def test_the_last_step_is_the_fit(name):
    X, y = rows(name)
    steps = list(getattr(assay, name)().steps(X, y, every=100))
    assert [s.rows for s in steps] == [100, 200, 300, 400]
    model = getattr(assay, name)().fit(X, y)
    for attribute in ("class_prior_", "theta_", "bernoulli_prob_", "category_prob_"):
        np.testing.assert_allclose(steps[-1].values[attribute], getattr(model, attribute), rtol=1e-10)


def test_variances_keep_their_digits_far_from_the_origin():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(2000, 3)), rng.integers(0, 2, 2000)
    near, far = assay.GaussianNB(var_smoothing=0).fit(X, y), assay.GaussianNB(var_smoothing=0).fit(X + 2.0**23, y)
    np.testing.assert_allclose(far.var_, near.var_, rtol=1e-8)
    np.testing.assert_allclose(far.predict_proba(X + 2.0**23), near.predict_proba(X), atol=1e-6)
    assert far.certificate_.verify(X + 2.0**23, y).holds


def test_real_data_give_the_accuracy_of_scikit_learn(data_dir):
    import pandas as pd

    for name, file in (("GaussianNB", "iris.csv"), ("MultinomialNB", "optdigits.csv")):
        table = pd.read_csv(data_dir / file)
        X, y = table[table.columns[:-1]], table[table.columns[-1]]
        ours, theirs = getattr(assay, name)().fit(X, y), getattr(peer, name)().fit(X, y)
        assert ours.score(X, y) == theirs.score(X, y)
        assert ours.certificate_.verify(X, y).holds


def test_a_class_of_which_no_row_counts_is_never_the_answer():
    X, y = rows("GaussianNB", 60)
    model = assay.GaussianNB().fit(X, y, (y == 1).astype(float))
    assert model.predict(X).tolist() == [1] * 60
    assert model.certificate_.verify(X, y, (y == 1).astype(float)).holds
