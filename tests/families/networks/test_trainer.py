"""Back-propagation is the derivative of the definition, and neither threads nor what fills the arrays can be seen in the weights."""

from __future__ import annotations

import numpy as np
import pytest
from other_processes import printed_by_both

from assay.engines.engine import Threads
from assay.families.networks import architecture
from assay.families.networks import training as t
from assay.families.networks.architecture import ACTIVATIONS, LOSSES, Layer, NetworkShape
from assay.families.networks.training import Order, Trainer, UpdateRule
from assay.families.networks.training_data import prepare

CLOSE = {np.float32: 2e-4, np.float64: 2e-8}  # of the gradient's size
N, D = 37, 4
rng = np.random.default_rng(7)
X = rng.normal(size=(N, D))
WEIGHTS = np.where(np.arange(N) % 5 == 0, 0.0, rng.uniform(0.2, 3, N))


def target(loss, outputs):
    rows = np.random.default_rng(3)
    return rows.normal(size=(N, outputs)) if loss == "squared" else rows.integers(max(2, outputs), size=N)


def prepared(shape, loss, dtype, weights=WEIGHTS):
    y = target(loss, shape.widths[-1])
    return prepare(shape, X, *((None, y) if loss == "squared" else (y, None)), weights, dtype)


def direct(shape, layers, loss, weights=WEIGHTS):
    """Σ w·loss by the definition."""
    F = architecture.outputs(layers, shape.activation, X)
    return float(weights @ architecture.losses(loss, F, target(loss, shape.widths[-1])))


def moved(shape, layers, direction, step):
    return [Layer(W + step * U, b + step * v) for (W, b), (U, v) in zip(layers, direction)]


def directions(shape, many=6):
    """Random ones, none of which moves a bias that is not learnt."""
    return [shape.drawn(np.random.default_rng(seed)) for seed in range(many)]


def inner(a, b):
    return sum(float((W * U).sum() + c @ v) for (W, c), (U, v) in zip(a, b))


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("hidden", [(5,), (18, 3)], ids=["one", "two"])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_gradient_is_that_of_finite_differences(activation, loss, outputs, hidden, weights, dtype):
    for bias in (True, False):
        shape = NetworkShape((D, *hidden, outputs), activation, bias)
        layers = shape.layers(shape.flat(shape.drawn(np.random.default_rng(1)), dtype))
        rows = prepared(shape, loss, dtype, weights)
        judged, flat = Trainer(shape, loss, layers, dtype, Threads(1)).gradient(rows)
        w = np.ones(N) if weights is None else weights
        assert judged.loss == pytest.approx(direct(shape, layers, loss, w), rel=1e-12 if dtype == np.float64 else 1e-5)
        G = shape.layers(flat)
        size = np.sqrt(inner(G, G))
        assert size > 0
        assert bias or not G[-1].biases.any()
        for direction in directions(shape):
            step = 1e-6
            up, down = (direct(shape, moved(shape, layers, direction, s), loss, w) for s in (step, -step))
            length = np.sqrt(inner(direction, direction))
            assert abs((up - down) / (2 * step) - inner(G, direction)) <= CLOSE[dtype] * size * length


@pytest.mark.parametrize("loss", ["log", "hinge", "signs"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_the_share_of_errors_is_that_of_the_definition(outputs, loss):
    shape = NetworkShape((D, 5, outputs), "tanh")
    layers = shape.drawn(np.random.default_rng(1))
    judged, _ = Trainer(shape, loss, layers, np.float64, Threads(1)).gradient(prepared(shape, loss, np.float64))
    due = WEIGHTS @ architecture.wrong(architecture.outputs(layers, "tanh", X), target(loss, outputs))
    assert judged.wrong == pytest.approx(due)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_outputs_are_those_of_the_definition(activation, dtype):
    shape = NetworkShape((D, 18, 3, 2), activation)
    layers = shape.layers(shape.flat(shape.drawn(np.random.default_rng(1)), dtype))
    many = np.random.default_rng(2).normal(size=(700, D))
    trainer = Trainer(shape, "log", layers, dtype, Threads(1))
    found = trainer.outputs(prepare(shape, many, None, None, None, dtype).X)
    np.testing.assert_allclose(found, architecture.outputs(layers, activation, many), atol=CLOSE[dtype] / 50)


# --- epochs ------------------------------------------------------------------------------------------------------------


def trained(shape, loss, dtype, workers, rule, batch=10, epochs=2, weights=WEIGHTS):
    trainer = Trainer(shape, loss, shape.drawn(np.random.default_rng(1)), dtype, Threads(workers))
    rows = prepared(shape, loss, dtype, weights)
    judged = [trainer.epoch(rows, np.random.default_rng(e).permutation(N), batch, rule) for e in range(epochs)]
    return trainer, judged


def by_hand(shape, loss, rule, batch, epochs):
    """The rules in NumPy, gradients by `Trainer.gradient`."""
    layers = shape.drawn(np.random.default_rng(1))
    trainer = Trainer(shape, loss, layers, np.float64, Threads(1))
    P, y, n_batches = trainer.P, target(loss, shape.widths[-1]), 0
    M, V, decays = np.zeros_like(P), np.zeros_like(P), shape.decays(np.float64)
    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(N)
        for start in range(0, N, batch):
            some = order[start : start + batch]
            rows = prepare(shape, X[some], *((None, y[some]) if loss == "squared" else (y[some], None)), WEIGHTS[some], np.float64)  # fmt: skip
            g = (trainer.gradient(rows)[1] + rule.penalty * decays * P) / len(some)
            n_batches += 1
            if rule.how == "adam":
                M[:] = rule.beta1 * M + (1 - rule.beta1) * g
                V[:] = rule.beta2 * V + (1 - rule.beta2) * g * g
                P -= (rule.rate * (M / (1 - rule.beta1**n_batches)) / (np.sqrt(V / (1 - rule.beta2**n_batches)) + rule.small / np.sqrt(1 - rule.beta2**n_batches)))  # fmt: skip
            else:
                M[:] = rule.momentum * M - rule.rate * g
                P += rule.momentum * M - rule.rate * g if rule.nesterov else M
    return P


RULES = {
    "plain": UpdateRule("sgd", 0.1, 0.5, 0.0, False),
    "momentum": UpdateRule("sgd", 0.05, 0.1, 0.9, False),
    "nesterov": UpdateRule("sgd", 0.05, 0.1, 0.9, True),
    "adam": UpdateRule("adam", 0.02, 0.1),
    "adam without a memory of slopes": UpdateRule("adam", 0.02, 0.1, beta1=0.0),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", RULES)
def test_an_epoch_changes_the_weights_as_its_rule_is_written(name, loss):
    shape = NetworkShape((D, 18, 5, 3), "logistic")
    trainer, _ = trained(shape, loss, np.float64, 1, RULES[name])
    np.testing.assert_allclose(trainer.P, by_hand(shape, loss, RULES[name], 10, 2), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("how", ["sgd", "adam"])
def test_what_fills_the_arrays_stays_zero(how, activation):
    for outputs in (1, 3):
        shape = NetworkShape((D, 5, 18, outputs), activation, output_bias=False)
        trainer, _ = trained(shape, "log", np.float32, 1, UpdateRule(how, 0.1, dropout=0.2))
        assert np.array_equal(trainer.P, shape.flat(trainer.layers, np.float32))
        assert not trainer.layers[-1].biases.any()


def test_the_losses_of_an_epoch_are_those_before_each_change():
    shape = NetworkShape((D, 5, 3), "tanh")
    rows = prepared(shape, "log", np.float64)
    trainer = Trainer(shape, "log", shape.drawn(np.random.default_rng(1)), np.float64, Threads(1))
    due = trainer.gradient(rows)[0]
    judged = trainer.epoch(rows, np.arange(N), N, UpdateRule("sgd", 0.1))
    assert judged == pytest.approx(due)
    assert trainer.gradient(rows)[0].loss < due.loss


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("how", ["sgd", "adam"])
def test_bits_do_not_depend_on_threads(how, dropout, dtype, monkeypatch):
    monkeypatch.setattr(t, "TRIED", 1)  # batches, so that the others are shared
    rows = np.random.default_rng(0)
    A, y = rows.normal(size=(1700, 20)), rows.integers(4, size=1700)
    shape = NetworkShape((20, 50, 30, 4), "gelu")
    ready = prepare(shape, A, y, None, rows.uniform(0, 2, 1700), dtype)
    found = []
    for workers in (1, 2, 5):
        trainer = Trainer(shape, "log", shape.drawn(np.random.default_rng(1)), dtype, Threads(workers))
        assert 300 * len(trainer.P) >= t.WORTH  # so that threads are used at all
        judged = [
            trainer.epoch(
                ready, np.random.default_rng(e).permutation(1700), 300, UpdateRule(how, 0.01, dropout=dropout)
            )
            for e in range(2)
        ]
        passed = trainer.epochs(
            ready, Order(np.arange(1700), True, 1, 1, 0), 4, 300, UpdateRule(how, 0.01, dropout=dropout)
        )
        loss, G = trainer.gradient(ready)
        found.append((trainer.P.tobytes(), judged, passed.states.tobytes(), passed.loss.tobytes(), loss, G.tobytes()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("shuffles", [True, False])
@pytest.mark.parametrize("how", ["sgd", "adam"])
def test_epochs_at_once_are_those_one_after_another(how, shuffles):
    shape, rule = NetworkShape((D, 30, 3), "relu"), UpdateRule(how, 0.05, dropout=0.2, seed=4)
    rows, train = prepared(shape, "log", np.float32), np.flatnonzero(np.arange(N) % 4)
    one, all_ = (Trainer(shape, "log", shape.drawn(np.random.default_rng(1)), np.float32, Threads(2)) for _ in range(2))
    order = Order(train, shuffles, 9, 3, 100)
    passed = all_.epochs(rows, order, 5, 8, rule)
    for e in range(5):
        judged = one.epoch(rows, order._replace(epoch=3 + e).drawn().rows, 8, rule)
        assert judged == (passed.loss[e], passed.wrong[e])
        assert [a.tobytes() for a in (one.P, one.M, one.V)] == [a.tobytes() for a in passed.states[e]]
        assert one.n_batches == passed.n_batches[e]
    assert all_.P.tobytes() == one.P.tobytes()


def test_orders_are_all_drawn_equally_often():
    """Chi squared of the 24 orders of four rows, whose 99.99 % quantile is 58."""
    counts: dict[tuple[int, ...], int] = {}
    for epoch in range(2400):
        order = tuple(Order(np.array([5, 6, 7, 8]), True, 0, epoch, 0).drawn().rows.tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert all(sorted(order) == [5, 6, 7, 8] for order in counts)
    assert sum((n - 100) ** 2 / 100 for n in counts.values()) < 58


def test_orders_differ_by_seed_epoch_and_block():
    rows = np.arange(40)
    orders = {Order(rows, True, *key).drawn().rows.tobytes() for key in ((0, 1, 0), (1, 1, 0), (0, 2, 0), (0, 1, 40))}
    assert len(orders) == 4


@pytest.mark.parametrize("classes", [2, 3, 16, 17, 40])
def test_of_equal_scores_the_first_class_is_the_answer(classes):
    shape = NetworkShape((1, 1, classes), "identity")
    layers = [Layer(np.zeros((1, 1)), np.zeros(1)), Layer(np.zeros((1, classes)), np.zeros(classes))]
    trainer = Trainer(shape, "log", layers, np.float32, Threads(1))
    codes = np.arange(classes)
    judged, _ = trainer.gradient(prepare(shape, np.zeros((classes, 1)), codes, None, None, np.float32))
    assert judged.wrong == classes - 1
    assert judged.loss == pytest.approx(classes * np.log(classes), rel=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_what_is_no_number_is_seen_and_keeps_no_thread_waiting(activation, bad):
    rows = np.random.default_rng(0)
    A, y = rows.normal(size=(900, 20)), rows.integers(3, size=900)
    A[5, 2] = bad
    shape = NetworkShape((20, 60, 30, 3), activation)
    for loss in LOSSES:
        given = (None, rows.normal(size=(900, 3))) if loss == "squared" else (y, None)
        with np.errstate(over="ignore"):
            ready = prepare(shape, A, *given, None, np.float32)
        trainer = Trainer(shape, loss, shape.drawn(rows), np.float32, Threads(2))
        assert 450 * len(trainer.P) >= t.WORTH
        judged = trainer.epoch(ready, np.arange(900), 450, UpdateRule("sgd", 0.1))
        finite = np.isfinite(judged.loss) and np.isfinite(trainer.P).all()
        if np.isnan(bad):
            assert np.isnan(judged.loss)
        assert not finite


# --- dropout -----------------------------------------------------------------------------------------------------------


def mean_of_outputs(share, seeds, activation="relu"):
    """f with dropout: the squared loss against 0 of one output c is c²/2, and a rate of 0 changes no weight."""
    shape = NetworkShape((D, 400, 1), activation)
    layers = [Layer(np.zeros((D, 400)), np.ones(400)), Layer(np.full((400, 1), 1 / 400), np.zeros(1))]
    trainer = Trainer(shape, "squared", layers, np.float64, Threads(1))
    ready = prepare(shape, X[:1], None, np.zeros((1, 1)), None, np.float64)
    judged = [trainer.epoch(ready, np.zeros(1), 1, UpdateRule("sgd", 0.0, 0.0, 0.0, dropout=share, seed=s)) for s in range(seeds)]  # fmt: skip
    return np.sqrt(2 * np.array([j.loss for j in judged]))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_share_that_it_should_and_the_mean(share):
    found = mean_of_outputs(share, 300)
    kept = found * (1 - share)
    np.testing.assert_allclose(kept * 400, np.round(kept * 400), atol=1e-9)  # every unit is there whole, or not at all
    error = np.sqrt(share * (1 - share) / 400 / 300)
    assert abs(kept.mean() - (1 - share)) < 5 * error
    assert abs(kept.std() / np.sqrt(share * (1 - share) / 400) - 1) < 0.25
    assert len(np.unique(kept)) > 10  # other seeds leave out other units


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_gradient_with_dropout_is_that_of_the_network_that_is_left(activation):
    """A step of plain descent along the whole batch shows the gradient; the same key leaves out the same units in finite differences."""
    shape = NetworkShape((D, 18, 5, 2), activation)
    layers, rule = shape.drawn(np.random.default_rng(1)), UpdateRule("sgd", 1.0, 0.0, 0.0, False, dropout=0.3, seed=5)
    rows = prepared(shape, "log", np.float64)

    def run(start, rate):
        trainer = Trainer(shape, "log", start, np.float64, Threads(1))
        judged = trainer.epoch(rows, np.arange(N), N, rule._replace(rate=rate))
        return trainer.layers, judged.loss / N

    after, _ = run(layers, 1.0)
    G = [Layer(W - V, b - c) for (W, b), (V, c) in zip(layers, after)]
    assert np.sqrt(inner(G, G)) > 0
    for direction in directions(shape):
        up, down = (run(moved(shape, layers, direction, s), 0.0)[1] for s in (1e-6, -1e-6))
        assert abs((up - down) / 2e-6 - inner(G, direction)) <= 1e-7


WITHOUT = """
import numpy as np
from assay.engines.engine import Threads
from assay.families.networks.architecture import ACTIVATIONS, LOSSES, NetworkShape
from assay.families.networks.training_data import prepare
from assay.families.networks.training import Trainer, UpdateRule
rng = np.random.default_rng(0)
X, T, codes, w = rng.normal(size=(13, 3)), rng.normal(size=(13, 2)), rng.integers(2, size=13), rng.uniform(0, 2, 13)
for activation in ACTIVATIONS:
    for loss in LOSSES:
        for dtype in (np.float32, np.float64):
            shape = NetworkShape((3, 5, 4, 2), activation)
            rows = prepare(shape, X, codes, T, w, dtype)
            for how in ("sgd", "adam"):
                trainer = Trainer(shape, loss, shape.drawn(np.random.default_rng(1)), dtype, Threads(1))
                judged = trainer.epoch(rows, np.arange(13), 5, UpdateRule(how, 0.01, dropout=0.25, seed=3))
                print(how, np.round(judged, 3).tolist(), np.round(trainer.outputs(rows.X).sum(), 3))
            judged, G = trainer.gradient(rows)
            print(activation, loss, np.round(judged, 3).tolist(), np.round(np.abs(G).sum(), 2))
"""


def test_the_loops_say_the_same_without_the_compiler():
    compiled, architecture = printed_by_both(WITHOUT)
    assert compiled == architecture


@pytest.mark.parametrize("fails", [0, 1])
def test_a_thread_that_fails_ends_the_epoch_for_all(fails, monkeypatch):
    """The others wait for its part of the batch in vain; what it raised reaches the caller, and the weights are those of before."""
    real = t.run_epochs

    def run_epochs(rows, plan, layers, room, weights, rule, team, sums, kept):
        if team.ranks == 2 and team.rank == fails:
            raise MemoryError("of this thread")
        return real(rows, plan, layers, room, weights, rule, team, sums, kept)

    class Shared(t.sharing_of(1).__class__):  # type: ignore[misc]
        def best(self, most):
            return most

    monkeypatch.setattr(t, "run_epochs", run_epochs)
    monkeypatch.setattr(t, "sharing_of", lambda work: Shared())
    A, y = rng.normal(size=(1700, 20)), rng.integers(4, size=1700)
    shape = NetworkShape((20, 50, 30, 4), "relu")
    trainer = Trainer(shape, "log", shape.drawn(np.random.default_rng(1)), np.float32, Threads(2))
    before = trainer.P.tobytes(), trainer.n_batches
    order = Order(np.arange(1700), True, 1, 1, 0)
    with pytest.raises(MemoryError, match="of this thread"):
        trainer.epochs(prepare(shape, A, y, None, None, np.float32), order, 4, 300, UpdateRule("adam"))
    assert (trainer.P.tobytes(), trainer.n_batches) == before
