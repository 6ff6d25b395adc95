"""A picture of decision regions says what the model says, and only where rows support it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.image import AxesImage

import assay
from assay.errors import DataError, NotFittedError, ParameterError, SchemaError
from assay.pictures.geometry import plane, reach
from assay.pictures.rows import picture_rows
from assay.plots import decision_regions


@pytest.fixture(scope="module")
def iris():
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


def image(ax) -> AxesImage:
    return next(a for a in ax.images if isinstance(a, AxesImage))


def centres(picture: AxesImage):
    left, right, low, high = picture.get_extent()
    n = picture.get_array().shape[0]
    steps = (np.arange(n) + 0.5) / n
    return np.meshgrid(left + steps * (right - left), low + steps * (high - low))


def models():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier

    return [
        assay.QuadraticDiscriminantAnalysis(),
        assay.LogisticRegression(),
        assay.Perceptron(),
        KNeighborsClassifier(),
        RandomForestClassifier(5, random_state=0),
    ]


@pytest.mark.filterwarnings("ignore::assay.errors.ConvergenceWarning")
@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_the_class_of_every_pixel_is_what_the_model_predicts_there(model, iris):
    X, y = iris
    model.fit(X, y)
    ax = decision_regions(model, X, y, columns=(2, 3), at={0: 6.0}, resolution=40)
    a, b = centres(image(ax))
    points = np.column_stack([np.full(a.size, v) for v in np.quantile(X, 0.5, axis=0, method="lower")])
    points[:, 0], points[:, 2], points[:, 3] = 6.0, a.ravel(), b.ravel()
    drawn = image(ax).get_array()
    assert np.array_equal(drawn.data.ravel(), model.predict(points))
    assert drawn.mask.any()
    assert not drawn.mask.all()


def test_grey_is_where_the_nearest_row_is_farther_than_rows_are_from_their_neighbours(iris):
    X, y = iris
    model = assay.LinearDiscriminantAnalysis().fit(X, y)
    ax = decision_regions(model, X, y, columns=("column 0", "column 2"), resolution=30)
    a, b = centres(image(ax))
    points = np.tile(np.quantile(X, 0.5, axis=0, method="lower"), (a.size, 1))
    points[:, 0], points[:, 2] = a.ravel(), b.ravel()
    s = X.std(axis=0)
    Z, P = X / s, points / s
    nearest = np.sqrt(((P[:, None] - Z[None]) ** 2).sum(axis=2)).min(axis=1)
    distinct = np.unique(Z, axis=0)
    among = np.sort(np.sqrt(((distinct[:, None] - distinct[None]) ** 2).sum(axis=2)), axis=1)[:, 5]
    r = np.sort(among)[int(np.ceil(0.95 * len(among))) - 1]
    assert np.isclose(r, reach(Z))
    grey = image(ax).get_array().mask.ravel()
    clear = np.abs(nearest - r) > 1e-9
    assert np.array_equal(grey[clear], (nearest > r)[clear])


@pytest.mark.parametrize("projection", ["pca", "lda"])
def test_a_projection_asks_the_model_at_points_of_a_plane_through_the_mean(projection, iris):
    X, y = iris
    model = assay.LinearDiscriminantAnalysis().fit(X, y)
    data = picture_rows(model, X, y)
    on = plane(data, projection, (0, 1), None)
    a = np.array([[0.0, 0.0], [1.0, -2.0]])
    assert np.allclose(on.points(a)[0], X.mean(axis=0))
    assert np.allclose(on.coordinates(on.points(a)), a)
    off = (X - on.points(on.coordinates(X))) / X.std(axis=0)
    assert np.allclose(off @ (on.basis / X.std(axis=0)).T, 0, atol=1e-9), "rows are seen at right angles"
    assert np.allclose(off.mean(axis=0), 0, atol=1e-9)
    ax = decision_regions(model, X, y, projection=projection, resolution=20)
    grid = np.column_stack([g.ravel() for g in centres(image(ax))])
    assert np.array_equal(image(ax).get_array().data.ravel(), model.predict(on.points(grid)))


def test_the_first_direction_of_lda_is_fishers():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    X = rng.normal(size=(400, 3)) @ np.array([[1, 0.9, 0], [0, 0.3, 0], [0, 0, 5.0]]) + y[:, None] * [1.0, -1.0, 0]
    on = plane(picture_rows(assay.GaussianNB().fit(X, y), X, y), "lda", (0, 1), None)
    W = sum(np.cov(X[y == k].T) for k in (0, 1))
    fisher = np.linalg.solve(W, X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
    cosine = abs(on.back[:, 0] @ fisher) / np.linalg.norm(on.back[:, 0]) / np.linalg.norm(fisher)
    assert cosine > 0.9999


def test_the_more_probable_the_class_the_more_solid_is_its_colour(iris):
    X, y = iris
    model = assay.LogisticRegression().fit(X[:, :2], y)
    ax = decision_regions(model, X[:, :2], y, resolution=25)
    a, b = centres(image(ax))
    sure = model.predict_proba(np.column_stack([a.ravel(), b.ravel()])).max(axis=1)
    solid, known = np.asarray(image(ax).get_alpha()).ravel(), ~image(ax).get_array().mask.ravel()
    order = np.argsort(sure[known])
    assert np.all(np.diff(solid[known][order]) >= -1e-12)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_columns_are_found_by_name_and_no_warning_is_given(kind, iris):
    X, y = iris
    names = ["a", "b", "c", "d"]
    frame = kind(dict(zip(names, X.T)))
    from sklearn.linear_model import LogisticRegression

    for model in (assay.LinearDiscriminantAnalysis(), LogisticRegression(max_iter=1000)):
        model.fit(frame, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ax = decision_regions(model, frame, y, columns=("d", "a"), resolution=10)
            decision_regions(model, X, y, columns=("d", "a"), resolution=10)
        assert ax.get_xlabel() == "d"
        assert ax.get_ylabel() == "a"


def test_a_model_of_categories_is_asked_at_its_categories():
    colour = np.array(["red", "green", "blue"])[np.arange(60) % 3]
    frame = pd.DataFrame({"colour": colour, "size": np.arange(60.0), "kind": ["x", "y"] * 30})
    y = (colour == "red").astype(int)
    model = assay.NaiveBayes().fit(frame, y)
    ax = decision_regions(model, frame, y, columns=("size", "colour"), at={"kind": "y"}, resolution=24)
    levels = [t.get_text() for t in ax.get_yticklabels()]
    a, b = centres(image(ax))
    nearest = np.clip(np.round(b.ravel()), 0, 2).astype(int)
    asked = pd.DataFrame({"colour": np.array(levels)[nearest], "size": a.ravel(), "kind": "y"})
    assert np.array_equal(image(ax).get_array().data.ravel(), model.predict(asked))
    with pytest.raises(ParameterError, match="Known: 'x', 'y'"):
        decision_regions(model, frame, y, columns=("size", "colour"), at={"kind": "z"})


def test_a_regressor_is_drawn_as_a_map_of_its_values():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = assay.LinearRegression().fit(X, X @ [1.0, 2.0])
    ax = decision_regions(model, X, X @ [1.0, 2.0], resolution=16)
    a, b = centres(image(ax))
    assert np.allclose(image(ax).get_array().data, a + 2 * b)


def test_rows_with_gaps_are_left_out_and_the_picture_says_so(iris):
    X, y = iris
    model = assay.GaussianNB().fit(X, y)
    holes = X.copy()
    holes[[3, 5], 1] = np.nan
    ax = decision_regions(model, holes, y, resolution=10)
    assert any("2 rows with missing values are not drawn" in " ".join(t.get_text().split()) for t in ax.texts)


def test_more_than_ten_classes_share_the_look_of_other():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 20)
    X = rng.normal(size=(240, 2)) + np.column_stack([y % 4, y // 4]) * 6
    ax = decision_regions(assay.GaussianNB().fit(X, y), X, y, resolution=30)
    assert [t.get_text() for t in ax.get_legend().get_texts()][-1] == "other"


def test_a_slice_far_from_every_row_is_grey_all_over_and_says_so(iris):
    X, y = iris
    ax = decision_regions(assay.GaussianNB().fit(X, y), X, y, at={2: 1e6}, resolution=10)
    assert image(ax).get_array().mask.all()
    assert any("No row is near this plane" in " ".join(t.get_text().split()) for t in ax.texts)


def test_a_model_with_several_answers_a_row_or_text_where_numbers_are_due_is_refused():
    from sklearn.linear_model import LinearRegression

    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(DataError, match="2 values a row"):
        decision_regions(LinearRegression().fit(X, X), X)
    with pytest.raises(DataError, match="y must be numbers"):
        decision_regions(LinearRegression().fit(X, X[:, 0]), X, ["a"] * 30)


def test_bad_requests_say_what_to_do(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])
    model = assay.GaussianNB().fit(frame, y)
    with pytest.raises(SchemaError, match="Did you mean 'petal length'"):
        decision_regions(model, frame, y, columns=("petal lenght", "sepal width"))
    with pytest.raises(SchemaError, match="from 0 to 3"):
        decision_regions(model, frame, y, columns=(0, 4))
    with pytest.raises(ParameterError, match="same column twice"):
        decision_regions(model, frame, y, columns=(1, "sepal width"))
    with pytest.raises(ParameterError, match="slice"):
        decision_regions(model, frame, y, projection="slices")
    with pytest.raises(ParameterError, match="two columns shown"):
        decision_regions(model, frame, y, at={0: 1.0})
    with pytest.raises(ParameterError, match="resolution"):
        decision_regions(model, frame, y, resolution=2)
    with pytest.raises(NotFittedError):
        decision_regions(assay.GaussianNB(), frame, y)
    with pytest.raises(DataError, match="one column"):
        decision_regions(assay.GaussianNB().fit(X[:, :1], y), X[:, :1], y)
    with pytest.raises(DataError, match="3 columns"):
        decision_regions(model, X[:, :3], y)
    with pytest.raises(DataError, match="missing or infinite"):
        decision_regions(model, X * np.nan, y)
    with pytest.raises(ParameterError, match="needs y"):
        decision_regions(model, frame, projection="lda")
    with pytest.raises(ParameterError, match="no predict"):
        decision_regions(object(), frame, y)
