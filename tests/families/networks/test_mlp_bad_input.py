"""Networks: what a user can get wrong is said in words, and no fit returns a model of what is no number."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

import assay
from assay.errors import ConvergenceWarning, DataError, ModelFileError, ParameterError
from assay.estimator.search_space import TableTraits

RNG = np.random.default_rng(5)
X, Y = RNG.standard_normal((80, 3)), RNG.integers(0, 3, 80)
NUMBERS = X @ np.array([1.0, -2.0, 0.5])
BOTH = [(assay.MLPClassifier, Y), (assay.MLPRegressor, NUMBERS)]
both = pytest.mark.parametrize(("cls", "y"), BOTH, ids=["classifier", "regressor"])
pytestmark = pytest.mark.filterwarnings("ignore:.*with the loss still falling.*")


@both
@pytest.mark.parametrize(
    "wrong",
    [
        {"hidden_layer_sizes": (0,)},
        {"hidden_layer_sizes": (10, -1)},
        {"hidden_layer_sizes": 0},
        {"hidden_layer_sizes": (2.5,)},
        {"hidden_layer_sizes": "100"},
        {"hidden_layer_sizes": None},
        {"learning_rate_init": -0.1},
        {"learning_rate_init": 0.0},
        {"learning_rate_init": np.inf},
        {"alpha": -1.0},
        {"batch_size": 0},
        {"batch_size": 2.5},
        {"momentum": 1.5},
        {"max_iter": 0},
        {"dropout": 1.0},
        {"dropout": -0.1},
        {"validation_fraction": 0.0},
        {"validation_fraction": 1.0},
        {"beta_1": 1.0},
        {"activation": "step"},
        {"solver": "newton"},
        {"loss": "zero-one"},
        {"dtype": "float16"},
        {"max_seconds": 0},
    ],
    ids=str,
)
def test_hyper_parameters_are_refused_by_name(cls, y, wrong):
    (name,) = wrong
    with pytest.raises(ParameterError, match=f"{name}=.* is not possible"):
        cls(**wrong).fit(X, y)


@both
def test_sizes_may_come_as_any_whole_numbers(cls, y):
    found = {
        cls(sizes, max_iter=1).fit(X, y).weights_.tobytes() for sizes in (4, (4,), [4], np.array([4]), [np.int64(4)])
    }
    assert len(found) == 1


@both
def test_missing_and_infinite_values_are_refused_by_place(cls, y):
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = X.copy()
        bad[7, 1] = value
        with pytest.raises(DataError, match=rf"{word}.*row 7, column 1"):
            cls((4,)).fit(bad, y)
        model = cls((4,), max_iter=2).fit(X, y)
        with pytest.raises(DataError, match=rf"{word}.*row 7, column 1"):
            model.predict(bad)
        with pytest.raises(DataError, match=rf"{word}.*row 0, column 1"):
            model.predict(bad[7:8])
    with pytest.raises(DataError, match="trees"):
        cls((4,)).fit(np.where(X > 2, np.nan, X), y)


def test_one_class_is_none_to_tell_apart():
    with pytest.raises(DataError, match="only one class"):
        assay.MLPClassifier().fit(X, np.zeros(80))
    with pytest.raises(DataError, match="Only one class"):
        assay.MLPClassifier(class_weight={1: 0.0, 2: 0.0}).fit(X, Y)
    with pytest.raises(DataError, match="regression"):
        assay.MLPClassifier().fit(X, NUMBERS)


def test_targets_that_are_no_numbers_or_too_large_are_refused():
    with pytest.raises(DataError, match="must be numbers"):
        assay.MLPRegressor().fit(X, np.array(["a"] * 80))
    with pytest.raises(DataError, match="row 3"):
        assay.MLPRegressor().fit(X, np.where(np.arange(80) == 3, np.nan, NUMBERS))
    with pytest.raises(DataError, match="squares of y overflow"):
        assay.MLPRegressor().fit(X, NUMBERS * 1e200)


@both
@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_constant_columns_and_huge_values_do_no_harm(cls, y, solver):
    wide = np.column_stack([X * [1e30, 1.0, 1e-30], np.full(80, 1e30), np.zeros(80), np.full(80, -7.3), 1e12 + X[:, 0]])
    model = cls((8,), solver=solver, max_iter=20).fit(wide, y)
    assert np.isfinite(model.predict(wide) if cls is assay.MLPRegressor else model.predict_proba(wide)).all()
    plain = cls((8,), solver=solver, max_iter=20).fit(np.column_stack([X, np.zeros((80, 3)), X[:, 0]]), y)
    assert model.loss_ == pytest.approx(plain.loss_, rel=1e-3)


@both
def test_a_batch_larger_than_the_table_is_said_and_cut(cls, y):
    with pytest.warns(UserWarning, match="batch_size=500 is more than the 80 rows"):
        large = cls((4,), batch_size=500, max_iter=3).fit(X, y)
    assert np.array_equal(large.weights_, cls((4,), batch_size=80, max_iter=3).fit(X, y).weights_)


@both
@pytest.mark.parametrize(
    "words", [{"learning_rate_init": 1e6, "activation": "identity"}, {"learning_rate_init": 300.0}], ids=str
)
def test_a_fit_that_diverges_backs_off_and_says_so(cls, y, words):
    with pytest.warns(ConvergenceWarning, match="half as long"):
        model = cls((8,), solver="sgd", max_iter=15, **words).fit(X, y)
    assert np.isfinite(model.weights_).all()
    assert np.isfinite(model.loss_curve_).all()
    assert model.loss_ < 1e3 * np.var(y)


@both
def test_what_never_settles_is_refused_and_never_a_model(cls, y):
    huge = X * 1e36
    model = cls((8, 8, 8), activation="identity", standardize=False, solver="sgd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DataError, match=r"beyond all bounds.*standardize=True"):
            model.fit(huge, y)
    assert not hasattr(model, "weights_")


@both
def test_all_rows_at_once_that_lead_nowhere_are_no_model_either(cls, y):
    huge, model = X * 1e20, cls((8,), standardize=False, solver="lbfgs", max_iter=30)
    if cls is assay.MLPClassifier:
        with pytest.raises(DataError, match=r"beyond all bounds.*standardize=True"):
            model.fit(huge, y)
        assert not hasattr(model, "weights_")
    assert cls((8,), solver="lbfgs", max_iter=30).fit(huge, y).loss_ < np.var(y) + 1


def test_pieces_that_diverge_say_so():
    model = assay.MLPClassifier((8,), solver="sgd", learning_rate_init=1e6)
    with pytest.warns(ConvergenceWarning, match="half as long"):
        model.partial_fit(X, Y, classes=[0, 1, 2])
    assert np.isfinite(model.weights_).all()


def test_more_weights_than_memory_are_refused_before_any_is_made():
    for sizes in ((1 << 20, 1 << 20), [1 << 15] * 20):
        with pytest.raises(ParameterError, match=r"3 columns and hidden_layer_sizes=.*weights.*fewer units"):
            assay.MLPClassifier(sizes).fit(X, Y)


@both
def test_what_all_rows_at_once_leave_out_is_said(cls, y):
    with pytest.warns(UserWarning, match=r"dropout and early_stopping are of mini-batches and left out.*solver='adam'"):
        both = cls((4,), solver="lbfgs", dropout=0.5, early_stopping=True, max_iter=5).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", "(?s).*with the loss still falling.*")
        plain = cls((4,), solver="lbfgs", max_iter=5).fit(X, y)
    assert np.array_equal(both.weights_, plain.weights_)


@both
def test_a_warm_start_with_another_shape_is_refused_in_words(cls, y):
    model = cls((8,), max_iter=2, warm_start=True).fit(X, y)
    before = model.weights_.copy()
    with pytest.raises(ParameterError, match=r"goes on with hidden layers \(8,\)"):
        model.set_params(hidden_layer_sizes=(9,)).fit(X, y)
    model.set_params(hidden_layer_sizes=(8,))
    with pytest.raises(DataError, match="weights of 3 columns, and X has 2"):
        model.fit(X[:, :2], y)
    if cls is assay.MLPClassifier:
        with pytest.raises(DataError, match="same classes"):
            model.fit(X, Y + 1)
    assert np.array_equal(model.weights_, before)
    with pytest.raises(ParameterError, match="hidden layers"):
        model.set_params(hidden_layer_sizes=(9,)).partial_fit(X, y)


def test_pieces_need_all_classes_and_no_balance():
    with pytest.raises(DataError, match="classes must be passed"):
        assay.MLPClassifier().partial_fit(X, Y)
    with pytest.raises(ParameterError, match="balanced"):
        assay.MLPClassifier(class_weight="balanced").partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(DataError, match="do not exist in the initial classes"):
        assay.MLPClassifier().partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(AttributeError, match="all rows at once"):
        assay.MLPClassifier(solver="lbfgs").partial_fit(X, Y, classes=[0, 1, 2])


def test_too_few_rows_to_hold_any_out_is_said():
    with pytest.raises(DataError, match="holds out no row"):
        assay.MLPClassifier((3,), early_stopping=True).fit(X[:6], [0, 1, 0, 1, 0, 1])


@both
def test_a_single_row_and_a_single_column_will_do(cls, y):
    assert len(cls((3,), max_iter=2).fit(X[:, :1], y).predict(X[:, :1])) == 80
    if cls is assay.MLPRegressor:
        assert cls((3,), max_iter=300, learning_rate_init=0.05).fit([[1.0]], [2.0]).predict([[5.0]]).shape == (1,)


@pytest.mark.parametrize("text", ["20,10", "20 10", "(20, 10)", "[20,10]", "(20, 10,)"])
def test_sizes_are_read_as_people_write_them(text):
    assert assay.MLPClassifier.params["hidden_layer_sizes"].parse(text) == [20, 10]


@pytest.mark.parametrize("text", ["20,x", "-3", "2.5", "", "20;10"])
def test_what_is_no_list_of_sizes_is_refused_in_words(text):
    sizes = assay.MLPClassifier.params["hidden_layer_sizes"].parse(text)
    with pytest.raises(ParameterError, match=r"hidden_layer_sizes=.*such as \(20, 10\)"):
        assay.MLPClassifier(sizes).fit(X, Y)


def test_text_keeps_it_from_no_table():
    features = TableTraits(1000, 2, False, True, False, 1.0)
    assert assay.MLPClassifier.search_space("classifier", features).unfit is None
    assert assay.MLPClassifier.search_space("classifier", dataclasses.replace(features, text=True)).unfit is None
    assert assay.MLPRegressor.search_space("classifier", features) is None


@both
@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("weights_", lambda a: a[:-1], "not those of its layers"),
        ("weights_", lambda a: np.full_like(a, 1e308), "overflow"),
        ("scale_", lambda a: a * 0, "scale of zero"),
        ("n_iter_", lambda a: a + 1, "epochs"),
        ("best_epoch_", lambda a: 1000, "epochs"),
        ("whole_", lambda a: False, "of a whole fit or of pieces"),
    ],
)
def test_files_whose_parts_do_not_fit_are_refused(cls, y, part, change, words):
    record = cls((4, 5), max_iter=3).fit(X * 1e-3, y).to_record()
    held = record.arrays if part in record.arrays else record.facts
    held[part] = change(held[part])
    with pytest.raises(ModelFileError, match=words):
        cls.from_record(record)


def test_a_file_with_hidden_layers_of_any_size_allocates_nothing():
    record = assay.MLPClassifier((4,), max_iter=1).fit(X, Y).to_record()
    for sizes in ([1 << 20] * 50, [4, 4], [], [10**30], [True], "x", [[4]]):
        record.params["hidden_layer_sizes"] = sizes
        with pytest.raises(ModelFileError):
            assay.MLPClassifier.from_record(record)


def test_a_seed_may_have_more_digits_than_a_word():
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = [assay.MLPRegressor(max_iter=2, random_state=s).fit(X, X[:, 0]).predict(X) for s in (5, 5 + (1 << 70))]
    assert np.array_equal(*found)
