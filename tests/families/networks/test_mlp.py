"""Networks: agreement with scikit-learn step by step, the lecture notes' form, what is kept of each epoch, and going on with learning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from cases import file_bytes
from sklearn import neural_network
from sklearn.datasets import load_breast_cancer, load_digits
from small_blocks import small_blocks

import assay
from assay.families.networks.architecture import Layer, packed

pytestmark = pytest.mark.filterwarnings("ignore:.*with the loss still falling.*", "ignore:.*Maximum iterations.*")
RNG = np.random.default_rng(3)
X3, Y3 = RNG.standard_normal((230, 4)) + 2.0, RNG.integers(0, 3, 230)
NUMBERS = np.sin(X3[:, 0]) + 0.1 * RNG.standard_normal(230)
W = 0.5 + np.arange(230) % 3
RULES = [
    {"solver": "sgd"},
    {"solver": "sgd", "nesterovs_momentum": False, "momentum": 0.5},
    {"solver": "sgd", "learning_rate": "invscaling", "power_t": 0.3},
    {"solver": "adam", "beta_1": 0.8, "beta_2": 0.99},
]


def begun_alike(ours, theirs, y):
    """Both fitted at the same first weights: scikit-learn's, got by steps of no length."""
    words = {"max_iter": 1, "learning_rate_init": 1e-300}
    rate, epochs = ours.learning_rate_init, ours.max_iter
    theirs.set_params(warm_start=True, **words).fit(X3, y)
    ours.set_params(warm_start=True, **words).fit(X3, y)
    ours.weights_ = packed([Layer(*pair) for pair in zip(theirs.coefs_, theirs.intercepts_)])
    for model in (ours, theirs):
        model.set_params(learning_rate_init=rate, max_iter=epochs)
        if hasattr(model, "t_"):
            model.t_ = 0
    theirs._no_improvement_count, theirs.best_loss_, theirs.n_iter_, theirs.loss_curve_ = 0, np.inf, 0, []
    return ours.fit(X3, y), theirs.fit(X3, y)


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_step_is_that_of_scikit_learn(rule, activation):
    words = {"hidden_layer_sizes": (7, 5), "activation": activation, "shuffle": False, "batch_size": 50, "max_iter": 4, "alpha": 0.3, "learning_rate_init": 0.02, "random_state": 1, **rule}  # fmt: skip
    for ours, theirs, y in [
        (assay.MLPClassifier, neural_network.MLPClassifier, Y3),
        (assay.MLPClassifier, neural_network.MLPClassifier, (Y3 > 0).astype(int)),
        (assay.MLPRegressor, neural_network.MLPRegressor, NUMBERS),
    ]:
        a, b = begun_alike(ours(dtype="float64", standardize=False, **words), theirs(**words), y)
        for one, other in zip([*a.coefs_, *a.intercepts_], [*b.coefs_, *b.intercepts_]):
            assert np.allclose(one, other, rtol=1e-9, atol=1e-11)
        assert np.allclose(a.loss_curve_[-4:], b.loss_curve_[-4:], rtol=6e-2)
        assert np.allclose(a.predict(X3) == b.predict(X3), True) or np.allclose(a.predict(X3), b.predict(X3))
        assert a.out_activation_ == b.out_activation_
        assert (a.n_layers_, a.n_outputs_) == (b.n_layers_, b.n_outputs_)


def test_all_rows_at_once_come_as_low_as_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    words = {"hidden_layer_sizes": (10,), "solver": "lbfgs", "alpha": 1.0, "max_iter": 2000, "tol": 1e-5}
    ours = [assay.MLPClassifier(**words, random_state=seed).fit(X, y).loss_curve_[-1] for seed in range(3)]
    theirs = [neural_network.MLPClassifier(**words, random_state=seed).fit(Z, y).loss_ for seed in range(3)]
    assert min(ours) <= 1.03 * min(theirs)


def test_the_network_of_the_lecture_notes():
    """f(x) = Σ αᵢ σ(wᵢ·x + w_{i,0})."""
    model = assay.MLPClassifier((5,), "logistic", output_bias=False, max_iter=30).fit(X3, Y3 > 0)
    (inner, outer), (offset, none) = model.coefs_, model.intercepts_
    assert np.all(none == 0)
    for x in X3[:5]:
        f = sum(outer[i, 0] / (1 + np.exp(-(inner[:, i] @ x + offset[i]))) for i in range(5))
        assert model.decision_function(x[None]) == pytest.approx([f])
        assert model.predict_proba(x[None])[0, 1] == pytest.approx(1 / (1 + np.exp(-f)))


def test_columns_in_any_unit_give_the_same_network():
    X, y = load_digits(return_X_y=True)
    unit, far = 10.0 ** RNG.integers(-6, 6, 64), RNG.standard_normal(64) * 1e3
    one = assay.MLPClassifier((20,), max_iter=20, dtype="float64", learning_rate_init=0.02).fit(X, y)
    other = assay.MLPClassifier((20,), max_iter=20, dtype="float64", learning_rate_init=0.02).fit(
        X * unit + far * unit, y
    )
    assert one.score(X, y) > 0.95
    assert np.allclose(one.predict_proba(X), other.predict_proba(X * unit + far * unit), atol=1e-5)


def test_a_number_to_predict_may_be_in_any_unit():
    one, other = (
        assay.MLPRegressor((20,), max_iter=50).fit(X3, unit * NUMBERS + far) for unit, far in ((1, 0), (1e6, 3e7))
    )
    assert np.allclose(one.predict(X3) * 1e6 + 3e7, other.predict(X3), atol=5e3)
    assert other.loss_curve_[-1] == pytest.approx(1e12 * one.loss_curve_[-1], rel=1e-2)
    assert other.loss_ == pytest.approx(0.5 * np.mean((other.predict(X3) - 1e6 * NUMBERS - 3e7) ** 2))


def test_what_is_told_of_the_fit_is_what_the_weights_do():
    model = assay.MLPClassifier((30,), max_iter=25, class_weight={0: 2.0}).fit(X3, Y3, W)
    c = W * np.where(Y3 == 0, 2.0, 1.0)
    p = model.predict_proba(X3)[np.arange(230), Y3]
    assert model.loss_ == pytest.approx(np.average(-np.log(p), weights=c))
    assert model.error_ == pytest.approx(np.average(model.predict(X3) != Y3, weights=c))
    assert len(model.loss_curve_) == len(model.zero_one_curve_) == model.n_iter_ == 25
    assert model.best_epoch_ == model.loss_curve_.argmin() + 1
    assert model.best_loss_ == model.loss_curve_.min()
    assert model.t_ == 25 * 230
    assert np.all((model.zero_one_curve_ >= 0) & (model.zero_one_curve_ <= 1))


@pytest.mark.parametrize("cls", [assay.MLPClassifier, assay.MLPRegressor])
def test_early_stopping_brings_the_best_epoch_back(cls):
    y = Y3 if cls is assay.MLPClassifier else NUMBERS
    model = cls((60,), learning_rate_init=0.03, early_stopping=True, validation_fraction=0.2, n_iter_no_change=5).fit(
        X3, y
    )
    best = model.best_epoch_
    assert best < model.n_iter_
    assert model.validation_scores_.argmax() + 1 == best
    again = cls((60,), learning_rate_init=0.03, early_stopping=True, validation_fraction=0.2, max_iter=best).fit(X3, y)
    assert np.array_equal(model.weights_, again.weights_)


def test_a_rate_that_adapts_falls_and_then_ends_the_fit():
    model = assay.MLPClassifier(
        (5,), solver="sgd", learning_rate="adaptive", n_iter_no_change=2, max_iter=2000, tol=1e-3
    ).fit(X3, Y3)
    assert model.converged_
    assert model.n_iter_ < 2000


def test_pieces_are_gone_through_once_each():
    pieces = assay.MLPClassifier((8,), batch_size=23, shuffle=False, standardize=False, dtype="float64")
    for a in range(0, 230, 46):
        pieces.partial_fit(X3[a : a + 46], Y3[a : a + 46], classes=[0, 1, 2])
    whole = assay.MLPClassifier((8,), batch_size=23, shuffle=False, standardize=False, dtype="float64", max_iter=1).fit(
        X3, Y3
    )
    assert np.allclose(pieces.weights_, whole.weights_, rtol=1e-12)
    assert (pieces.n_iter_, pieces.t_) == (5, 230)
    assert not hasattr(assay.MLPClassifier(solver="lbfgs"), "partial_fit")
    numbers = assay.MLPRegressor((8,)).partial_fit(X3, NUMBERS).partial_fit(X3, NUMBERS)
    assert numbers.n_iter_ == 2


def test_pieces_after_a_file_go_on_as_if_there_were_none(tmp_path):
    for solver in ("adam", "sgd"):
        model = assay.MLPClassifier((8,), solver=solver).partial_fit(X3, Y3, classes=[0, 1, 2])
        model.save(tmp_path / "m.assay")
        again = assay.load(tmp_path / "m.assay")
        assert file_bytes(again.partial_fit(X3, Y3)) == file_bytes(model.partial_fit(X3, Y3))


def test_a_warm_start_goes_on_with_the_weights_of_the_fit_before():
    model = assay.MLPClassifier((8,), solver="sgd", momentum=0, max_iter=3, warm_start=True)
    twice = model.fit(X3, Y3).fit(X3, Y3)
    once = assay.MLPClassifier((8,), solver="sgd", momentum=0, max_iter=6).fit(X3, Y3)
    assert np.array_equal(twice.weights_, once.weights_)
    assert np.array_equal(twice.loss_curve_, once.loss_curve_)
    assert (twice.n_iter_, once.n_iter_) == (3, 6)  # as scikit-learn counts them: the epochs of this fit
    far = model.predict_proba(X3)
    moved = model.set_params(max_iter=1, learning_rate_init=1e-30).fit(
        X3[:100] * 2, Y3[:100]
    )  # other means and deviations
    assert np.allclose(moved.predict_proba(X3), far, atol=1e-5)


def test_a_row_in_a_batch_weighs_what_it_should():
    """A full batch by plain descent: a row of weight w is w rows."""
    words = {
        "solver": "sgd",
        "batch_size": 10_000,
        "max_iter": 20,
        "dtype": "float64",
        "alpha": 0.0,
        "learning_rate_init": 0.1,
    }
    with pytest.warns(UserWarning, match="make one batch"):  # noqa: PT031
        one = assay.MLPClassifier((6,), "tanh", **words).fit(X3, Y3, np.arange(230) % 3)
        many = assay.MLPClassifier((6,), "tanh", **words).fit(
            np.repeat(X3, np.arange(230) % 3, axis=0), np.repeat(Y3, np.arange(230) % 3)
        )
    assert np.allclose(one.predict_proba(X3), many.predict_proba(X3), atol=1e-9)


def test_a_network_without_hidden_layers_is_logistic_regression():
    model = assay.MLPClassifier((), solver="lbfgs", alpha=1.0, tol=1e-9, max_iter=1000).fit(X3, Y3)
    Z = (X3 - X3.mean(axis=0)) / X3.std(axis=0)
    other = assay.LogisticRegression(C=1.0, tol=1e-12).fit(Z, Y3)
    assert np.allclose(model.predict_proba(X3), other.predict_proba(Z), atol=1e-4)
    straight = assay.MLPRegressor((), solver="lbfgs", alpha=0.0, tol=1e-12, max_iter=1000).fit(X3, NUMBERS)
    assert np.allclose(straight.predict(X3), assay.LinearRegression().fit(X3, NUMBERS).predict(X3), atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*are of mini-batches")
@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_out_of_core_with_rows_held_out_the_bits_are_the_same(solver):
    with small_blocks():
        X, y = np.tile(X3, (40, 1)), np.tile(Y3, 40)
        marks = set()
        for name, workers in (("threads", 1), ("threads", 3), ("stream", 2)):
            with assay.engine(name, workers=workers):
                model = assay.MLPClassifier((20, 10), solver=solver, max_iter=4, early_stopping=True, dropout=0.2).fit(
                    X, y
                )
            marks.add(file_bytes(model))
        assert len(marks) == 1


def test_large_batches_have_the_same_bits_on_any_number_of_threads():
    X, y = np.tile(X3, (20, 30)), np.tile(Y3, 20)
    marks = {
        file_bytes(assay.MLPClassifier((100,), batch_size=1000, max_iter=2, n_jobs=j).fit(X, y)) for j in (1, 2, 5)
    }
    assert len(marks) == 1


@pytest.mark.parametrize("classes", [2, 3])
def test_squares_without_hidden_layers_are_least_squares_of_signs(classes):
    y = np.minimum(Y3, classes - 1)
    model = assay.MLPClassifier((), loss="squared", solver="lbfgs", alpha=0.0, tol=1e-9).fit(X3, y)
    signs = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    due = np.column_stack([assay.LinearRegression().fit(X3, signs[:, k]).predict(X3) for k in range(classes)])
    found = model.decision_function(X3)
    np.testing.assert_allclose(found, due[:, 1] if classes == 2 else due, atol=1e-6)
    assert np.array_equal(model.predict(X3), due.argmax(axis=1))
    assert model.zero_one_curve_[-1] == np.mean(due.argmax(axis=1) != y)


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_other_losses_have_decision_values_and_no_probabilities(loss):
    model = assay.MLPClassifier((20,), loss=loss).fit(X3, Y3)
    assert model.decision_function(X3).shape == (230, 3)
    assert not hasattr(model, "predict_proba")
    assert np.array_equal(model.classes_[model.decision_function(X3).argmax(axis=1)], model.predict(X3))
    with pytest.raises(AttributeError, match="only loss='log' has probabilities"):
        model.predict_proba(X3)


def test_dropout_is_of_the_training_alone():
    model = assay.MLPClassifier((50,), dropout=0.5, max_iter=60, learning_rate_init=0.01).fit(X3, NUMBERS > 0.5)
    assert np.array_equal(model.predict_proba(X3), model.predict_proba(X3))
    assert model.error_ < np.mean(model.zero_one_curve_[-5:])


def test_steps_show_weights_and_losses():
    *steps, last = assay.MLPClassifier((4,), max_iter=6).steps(X3, Y3)
    fitted = assay.MLPClassifier((4,), max_iter=6).fit(X3, Y3)
    assert [step.values["loss"] for step in steps] == fitted.loss_curve_.tolist()
    assert [W.shape for W in steps[0].values["coefs"]] == [(4, 4), (4, 3)]
    assert np.array_equal(steps[-1].values["coefs"][0], fitted.coefs_[0])
    assert np.array_equal(last.values["weights_"], fitted.weights_)
    assert len(list(assay.MLPClassifier((4,), max_iter=6).steps(X3, Y3, every=3))) == 3


def test_complexity_counts_the_free_weights():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert assay.MLPClassifier((6, 5), max_iter=1).fit(X3, Y3).complexity() == 4 * 6 + 6 + 6 * 5 + 5 + 5 * 3 + 3
        assert assay.MLPRegressor((6,), max_iter=1, output_bias=False).fit(X3, NUMBERS).complexity() == 4 * 6 + 6 + 6


@pytest.mark.parametrize("y", [Y3, NUMBERS], ids=["classes", "numbers"])
def test_on_a_cluster_the_weights_travel_and_the_bits_stay(client, y):
    """Rows of a Dask collection stay on the workers; some are held out there."""
    import dask.array as da

    cls = assay.MLPRegressor if y is NUMBERS else assay.MLPClassifier
    X, y = np.tile(X3, (40, 1)), np.tile(y, 40)
    with small_blocks(client):
        words = {"max_iter": 3, "early_stopping": True, "dropout": 0.1}
        here = cls((20, 10), **words).fit(X, y)
        with assay.engine("cluster", client):
            there = cls((20, 10), **words).fit(da.from_array(X, (1000, 4)), da.from_array(y, 700))
    assert here.n_iter_ == 3
    assert file_bytes(here) == file_bytes(there)


def test_on_a_cluster_batches_of_a_parquet_file_run_where_it_is_read(client, tmp_path):
    """Large batches too: no worker waits for another within a block."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = np.tile(X3, (40, 1)), np.tile(Y3, 40)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=700)
    rows = assay.rows(tmp_path / "rows.parquet", target="y")
    words = {"max_iter": 2, "batch_size": 1000, "solver": "sgd"}
    with small_blocks(client):
        here = assay.MLPClassifier((20,), **words).fit(rows)
        with assay.engine("cluster", client):
            there = assay.MLPClassifier((20,), **words).fit(rows)
    assert file_bytes(here) == file_bytes(there)


def test_a_warm_start_forgets_no_better_epoch_of_before(tmp_path):
    model = assay.MLPClassifier((30,), learning_rate_init=0.03, max_iter=40, early_stopping=True, warm_start=True)
    first = model.fit(X3, Y3).weights_
    best, score = model.best_epoch_, model.validation_scores_.max()
    model.set_params(max_iter=2, learning_rate_init=1.0).fit(X3, Y3)  # two leaps, to nowhere
    if model.validation_scores_.max() == score:
        assert model.best_epoch_ == best
        assert np.array_equal(model.weights_, first)
    plain = (
        assay.MLPClassifier((5,), max_iter=3, warm_start=True).fit(X3, Y3).set_params(early_stopping=True).fit(X3, Y3)
    )
    assert plain.best_epoch_ > 3
    for fitted in (model, plain):
        fitted.save(tmp_path / "m.assay")
        assert file_bytes(assay.load(tmp_path / "m.assay")) == file_bytes(fitted)


def test_an_end_that_is_never_reached_and_a_loud_fit(capsys):
    model = assay.MLPClassifier((2,), solver="sgd", tol=1e9, max_iter=30, n_iter_no_change=np.inf, verbose=1)
    with pytest.warns(UserWarning, match="max_iter=30"):
        model.fit(X3, Y3)
    assert model.n_iter_ == 30
    assert not model.converged_


@pytest.mark.parametrize("cls", [assay.MLPClassifier, assay.MLPRegressor])
def test_pieces_cannot_hold_rows_out(cls):
    with pytest.raises(ValueError, match="partial_fit does not support early_stopping=True"):
        cls((2,), early_stopping=True, max_iter=2).fit(X3, Y3).partial_fit(X3, Y3)
