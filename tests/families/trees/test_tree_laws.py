"""What a tree may depend on: the rows, their weights and the order of a column's values, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from cases import answers, file_bytes
from tree_tables import FAMILIES, random_setup

import assay
from assay import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor

CRITERIA = ("gini", "entropy", "squared_error", "absolute_error", "poisson")


def tree(criterion, **params):
    cls = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    return cls(criterion=criterion, **params)


def rows(seed, criterion, n=150, K=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 9, n), rng.standard_normal(n), rng.integers(0, 3, n)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, K, n) if criterion in ("gini", "entropy") else rng.integers(0, 9, n) / 4
    return X, y


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_whole_weights_are_repeated_rows(criterion, K):
    for seed in range(6):
        X, y = rows(seed, criterion, K=K)
        times = np.random.default_rng(seed).integers(0, 4, len(y))
        times[:20] = 1
        whole = criterion == "entropy"  # x log x of other weights is rounded otherwise, which tells equal splits apart
        for limits in ({} if whole else {"max_depth": 4}, {}):
            weighted = tree(criterion, categorical_features=[2], **limits).fit(X, y, sample_weight=times)
            repeated = tree(criterion, categorical_features=[2], **limits).fit(
                np.repeat(X, times, axis=0), np.repeat(y, times)
            )
            seen = X[times > 0]  # of other rows: what is missing goes where most rows go, whatever they weigh
            assert np.allclose(answers(weighted, seen), answers(repeated, seen), rtol=0, atol=1e-12), seed


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_order_of_the_rows_changes_no_bit(criterion, K, weighted):
    for seed in range(6):
        X, y = rows(seed, criterion, K=K)
        w = np.random.default_rng(seed).random(len(y)) if weighted else None
        order = np.random.default_rng(seed + 50).permutation(len(y))
        model = tree(criterion, categorical_features=[2])
        here = answers(model.fit(X, y, sample_weight=w), X)
        there = answers(model.fit(X[order], y[order], sample_weight=None if w is None else w[order]), X)
        assert np.array_equal(here, there), seed


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_column_counts_by_its_order_alone(criterion):
    X, y = rows(1, criterion)
    bent = X.copy()
    bent[:, 0] = np.exp(X[:, 0] / 3)
    bent[:, 1] = 1000 + X[:, 1] ** 3
    assert np.array_equal(answers(tree(criterion).fit(X, y), X), answers(tree(criterion).fit(bent, y), bent))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_columns_that_say_nothing_change_nothing(criterion):
    X, y = rows(2, criterion)
    wide = np.column_stack([np.full(len(y), 3.0), X, np.full(len(y), np.nan)])
    a, b = tree(criterion).fit(X, y), tree(criterion).fit(wide, y)
    assert np.array_equal(answers(a, X), answers(b, wide))
    assert np.array_equal(np.where(a.feature_ >= 0, a.feature_ + 1, -1), b.feature_)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_a_tree_of_numbers_goes_with_shift_and_scale_of_the_target(criterion):
    X, y = rows(3, criterion)
    plain = tree(criterion, min_samples_leaf=4).fit(X, y)
    for scale, shift in ((4.0, 0.0), (-0.5, 8.0), (1024.0, -3.0)):
        other = tree(criterion, min_samples_leaf=4).fit(X, scale * y + shift)
        assert np.allclose(other.predict(X), scale * plain.predict(X) + shift, rtol=1e-12, atol=1e-12)
        assert np.array_equal(other.feature_, plain.feature_)


def test_weights_count_by_their_ratios_alone():
    X, y = rows(4, "gini")
    w = np.random.default_rng(0).random(len(y))
    for scale in (1e-200, 1e-3, 2.0**40, 1e100):
        assert np.allclose(
            DecisionTreeClassifier().fit(X, y, sample_weight=scale * w).predict_proba(X),
            DecisionTreeClassifier().fit(X, y, sample_weight=w).predict_proba(X),
            rtol=0,
            atol=1e-9,
        )


def settings_of(family):
    for kind in ("Classifier", "Regressor"):
        for bins in ("auto", 32):
            params = {"bins": bins, "random_state": 3}
            if not family.startswith("Decision"):
                params |= {"n_estimators": 5, "max_depth": 9}
            yield getattr(assay, family + kind)(**params)


def wide_rows(n, regression):
    """Columns with ties and gaps; the last is the first one reversed, so that splits of both are worth the same."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((n, 3)), rng.integers(0, 30, n), rng.integers(0, 9, n)]).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    X = np.column_stack([X, -X[:, 0]])
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 3], nan=9.0) / 10 + rng.standard_normal(n)
    return X, signal if regression else (signal > 1).astype(int) + (signal > 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_streams_and_clusters_make_the_same_file(family, client):
    for model in settings_of(family):
        regression = type(model).__name__.endswith("Regressor")
        X, y = wide_rows(6000, regression)
        w = 0.5 + np.arange(len(y)) % 3
        for target, weights in (
            (y, None),
            (y if regression else np.minimum(y, 1), w),
            (np.minimum(y, 1) if not regression else y, None),
        ):
            files = set()
            for engine, options in (
                ("threads", {"workers": 1}),
                ("threads", {"workers": 2}),
                ("stream", {"workers": 1}),
            ):
                with assay.engine(engine, **options):
                    files.add(file_bytes(model.fit(X, target, sample_weight=weights)))
            with assay.engine("cluster", client):
                files.add(file_bytes(model.fit(X, target, sample_weight=weights)))
            for jobs in (1, 2):
                files.add(file_bytes(model.set_params(n_jobs=jobs).fit(X, target, sample_weight=weights)))
            assert len(files) == 1, model


def test_fits_of_random_settings_are_the_same_twice_and_on_two_threads():
    for seed in range(60):
        model, X, y, w = random_setup(seed)
        first = file_bytes(model.fit(X, y, w))
        assert file_bytes(model.set_params(n_jobs=2).fit(X, y, w)) == first, seed


@pytest.mark.parametrize("regression", [False, True])
def test_bins_are_as_good_as_all_thresholds(regression):
    """70 000 rows are binned unless asked otherwise; what differs is within the noise of the held-out rows. Of numbers, so many
    thresholds are tried that their codes take four bytes."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((80_000, 6))
    X = X if regression else X.round(3)
    signal = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(len(X))
    y = signal if regression else (signal > 0).astype(int)
    model = DecisionTreeRegressor(min_samples_leaf=20) if regression else DecisionTreeClassifier(min_samples_leaf=20)
    losses = []
    for bins in ("auto", "exact"):
        said = model.set_params(bins=bins).fit(X[:70_000], y[:70_000]).predict(X[70_000:])
        losses.append((said - y[70_000:]) ** 2 if regression else (said != y[70_000:]).astype(float))
    noise = np.std(losses[0] - losses[1]) / 100  # of the difference of means of 10 000 rows
    assert abs(losses[0].mean() - losses[1].mean()) < max(4 * noise, 0.01 * losses[1].mean())


@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_a_forest_is_as_good_as_the_peers_on_new_rows(cls):
    import sklearn.ensemble

    rng = np.random.default_rng(8)
    X = rng.standard_normal((3000, 8))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(len(X))
    y = signal if "Regressor" in cls.__name__ else (signal > 0).astype(int)
    theirs = getattr(sklearn.ensemble, cls.__name__)(n_estimators=60, random_state=0)
    ours = cls(n_estimators=60, random_state=0)
    scores = [m.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) for m in (ours, theirs)]
    assert scores[0] > scores[1] - 0.02
