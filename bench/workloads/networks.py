"""Neural networks: equal layers, epochs, mini-batches and rates for all; the mean loss that was reached on the rows is compared.

PyTorch is given our first weights and our mini-batches, in float32 and on two threads; scikit-learn draws its own. PyTorch is no part of the bench extra, for its size: where it is missing
the notes say so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier as Sklearn

import assay
from bench.harness import Contender, Race, Target

CLOSE = 0.02  # share by which losses may differ
ASKED = 1000
TORCH = find_spec("torch") is not None


class Table(NamedTuple):
    X: np.ndarray
    y: np.ndarray


class Work(NamedTuple):
    """What all contenders do."""

    hidden: int
    epochs: int
    solver: str
    rate: float
    batch: int = 200
    alpha: float = 1e-4


@cache
def ten_classes() -> Table:
    X, y = make_classification(
        50_000, 100, n_informative=30, n_redundant=20, n_classes=10, n_clusters_per_class=2, random_state=0
    )
    return _scaled(X, y)


@cache
def digits() -> Table:
    return _scaled(*load_digits(return_X_y=True))


def _scaled(X: np.ndarray, y: np.ndarray) -> Table:
    spread = X.std(axis=0)
    return Table((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), y)


def ours(work: Work, table: Table) -> Callable[[], np.ndarray]:
    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return assay.MLPClassifier(
                (work.hidden,),
                solver=work.solver,
                alpha=work.alpha,
                batch_size=work.batch,
                learning_rate_init=work.rate,
                max_iter=work.epochs,
                n_iter_no_change=work.epochs,
                tol=0.0,
            ).fit(*table)

    return run


def sklearn(work: Work, table: Table, dtype: Any) -> Callable[[], Any]:
    X, y = table.X.astype(dtype), table.y

    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return Sklearn(
                (work.hidden,),
                solver=work.solver,
                alpha=work.alpha,
                batch_size=work.batch,
                learning_rate_init=work.rate,
                max_iter=work.epochs,
                n_iter_no_change=work.epochs,
                tol=0.0,
                random_state=0,
            ).fit(X, y)

    return run


class TorchModel(NamedTuple):
    """Weights that PyTorch found, asked as the others are."""

    parts: list[np.ndarray]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        W, b, V, c = self.parts
        F = np.maximum(X @ W.T + b, 0.0) @ V.T + c
        E = np.exp(F - F.max(axis=1, keepdims=True))
        return E / E.sum(axis=1, keepdims=True)


def _batches(work: Work, table: Table) -> list[np.ndarray]:
    """Our mini-batches of all epochs."""
    from assay.engines import block_rows
    from assay.families.networks.training import Order

    found, step, n = [], block_rows(table.X.shape[1]), len(table.y)
    for epoch in range(1, work.epochs + 1):
        for first in range(0, n, step):
            many = min(step, n - first)
            order = first + Order(np.arange(many), True, 0, epoch, first).drawn().rows
            found += [order[i : i + work.batch] for i in range(0, many, work.batch)]
    return found


def torch(work: Work, table: Table) -> Callable[[], TorchModel]:
    import torch as t

    from assay.families.networks.architecture import NetworkShape
    from assay.families.networks.training_data import FIRST_WEIGHTS

    t.set_num_threads(2)
    K = int(table.y.max()) + 1
    start = NetworkShape((table.X.shape[1], work.hidden, K)).drawn(np.random.default_rng([0, FIRST_WEIGHTS]))
    batches = [t.from_numpy(rows) for rows in _batches(work, table)]

    def run() -> TorchModel:
        X, y = t.from_numpy(table.X.astype(np.float32)), t.from_numpy(table.y.astype(np.int64))
        net = t.nn.Sequential(t.nn.Linear(X.shape[1], work.hidden), t.nn.ReLU(), t.nn.Linear(work.hidden, K))
        with t.no_grad():
            for module, (W, b) in zip((net[0], net[2]), start):
                module.weight.copy_(t.from_numpy(W.T.copy()))
                module.bias.copy_(t.from_numpy(b.copy()))
        decay = work.alpha / work.batch
        groups = [
            {"params": [net[0].weight, net[2].weight], "weight_decay": decay},
            {"params": [net[0].bias, net[2].bias], "weight_decay": 0.0},
        ]
        rule = (
            t.optim.Adam(groups, lr=work.rate)
            if work.solver == "adam"
            else t.optim.SGD(groups, lr=work.rate, momentum=0.9, nesterov=True)
        )
        loss = t.nn.CrossEntropyLoss()
        for rows in batches:
            rule.zero_grad()
            loss(net(X[rows]), y[rows]).backward()
            rule.step()
        return TorchModel([p.detach().numpy().astype(np.float64) for p in net.parameters()])

    return run


def _loss(model: Any, table: Table) -> float:
    own = np.asarray(model.predict_proba(table.X))[np.arange(len(table.y)), table.y]
    return float(-np.log(np.maximum(own, 1e-300)).mean())


def _agree(table: Table) -> Callable[[Any, Any], str]:
    def agree(a: Any, b: Any) -> str:
        first, second = _loss(a, table), _loss(b, table)
        off = (first - second) / second
        return f"loss {first:.4g}, theirs {second:.4g} ({100 * off:+.2f} %)" + (" (DIFFERS)" if off > CLOSE else "")

    return agree


def _fit(title: str, table: Table, work: Work, sklearn_times: float, torch_times: float) -> Race:
    contenders = [
        Contender("assay", ours(work, table)),
        Contender("scikit-learn", sklearn(work, table, np.float64), rounds=3),
        Contender("scikit-learn, float32", sklearn(work, table, np.float32), rounds=3),
    ]
    targets = [Target("scikit-learn", at_least=sklearn_times)]
    if TORCH:
        contenders.append(Contender("PyTorch, 2 threads", torch(work, table), rounds=7))
        targets.append(Target("PyTorch, 2 threads", at_least=torch_times))
    return Race(title, contenders, _agree(table), targets)


def _asked() -> Race:
    table, work = digits(), Work(64, 50, "adam", 1e-3)
    one, theirs = ours(work, table)(), sklearn(work, table, np.float64)()
    row = table.X[:1]

    def ask(model: Any) -> Callable[[], np.ndarray]:
        return lambda: np.array([model.predict(row)[0] for _ in range(ASKED)])

    def alike(a: np.ndarray, b: np.ndarray) -> str:
        return f"{100 * np.mean(a == b):.0f} % of labels alike"

    contenders = [Contender("assay", ask(one)), Contender("scikit-learn", ask(theirs), rounds=3)]
    return Race(f"A single row, {ASKED} times", contenders, alike, [Target("assay", within=ASKED * 40e-6)])


def races() -> list[Race]:
    return [
        _fit(
            "MLP, 50 000×100, 10 classes, 100 units, 5 epochs of SGD",
            ten_classes(),
            Work(100, 5, "sgd", 0.01),
            5,
            1.5,
        ),
        _fit("MLP, digits 1797×64, 64 units, 50 epochs of SGD", digits(), Work(64, 50, "sgd", 0.01), 10, 5),
        _fit("MLP, digits 1797×64, 64 units, 50 epochs of Adam", digits(), Work(64, 50, "adam", 1e-3), 10, 5),
        _asked(),
    ]


def notes() -> list[str]:
    if not TORCH:
        return ["PyTorch is not installed and was not timed: pip install 'assay-ml[bench-torch]'."]
    import torch as t

    return [f"PyTorch {t.__version__}, {t.get_num_threads()} threads, with our first weights and our mini-batches."]
