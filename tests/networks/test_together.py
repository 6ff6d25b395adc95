"""Mini-batches that the workers of a cluster share: the bits of one process, whatever the workers, and none is lost with one of them."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from cases import file_bytes
from other_processes import printed_by_both
from small_blocks import small_blocks

import assay
from assay.engines.posted import Place
from assay.engines.threads import Threads
from assay.hypotheses.network import together
from assay.hypotheses.network.together import Together, division
from assay.networks import Shape
from assay.networks.shared import Batch, change, share_of
from assay.networks.training import Rule, Trainer, prepare

pytestmark = pytest.mark.filterwarnings("ignore:.*with the loss still falling.*")
RNG = np.random.default_rng(3)
N = 5003
X = RNG.standard_normal((N, 3)) + 2.0
CODES = RNG.integers(0, 3, N)
NUMBERS = np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(N)
C = 0.5 + np.arange(N) % 3


@pytest.mark.parametrize("rule", [Rule("adam", 0.01), Rule("sgd", 0.01), Rule("sgd", 0.01, nesterov=False)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("team", "cuts"), [(1, [0, 6, 7, 17]), (2, [0, 1, 9]), (4, [0, 2, 5]), (32, [0, 1])], ids=str)
def test_shares_of_a_batch_come_to_the_same_bits_as_the_batch(rule, dtype, team, cuts):
    rule = rule._replace(dropout=0.3 if team == 2 else 0.0, seed=3)
    shape = Shape((3, 30, 10, 3), "tanh")
    rows, layers, order = prepare(shape, X, CODES, None, C, dtype), shape.drawn(RNG), RNG.permutation(N)
    whole, shared = (Trainer(shape, "log", layers, dtype, Threads(2)) for _ in range(2))
    seen = whole.epoch(rows, order, 1700, rule)
    sums = np.zeros((17, 2))
    for start in range(0, N, 1700):
        batch = Batch(rows, order, start, 1700, team)
        shares = [share_of(shared, batch, rule, first, stop) for first, stop in pairwise(cuts)]
        change(shared, rule, shares, batch.many)
        sums += np.concatenate([share.sums for share in shares])
    for one, other in ((whole.P, shared.P), (whole.M, shared.M), (whole.V, shared.V)):
        assert np.array_equal(one, other)
    assert whole.begun == shared.begun == 3
    assert (seen.loss, seen.wrong) == (sums.ravel()[::2].sum(), sums.ravel()[1::2].sum())


@pytest.fixture
def always(monkeypatch):
    """Batches are shared whatever the clock says; what was asked for is counted."""
    asked = []
    real = Together._go_through
    monkeypatch.setattr(together, "WORTH", 0)
    monkeypatch.setattr(Together, "_is_faster", lambda *given: True)
    monkeypatch.setattr(Together, "_go_through", lambda self, *given: asked.append(given[-1]) or real(self, *given))
    return asked


@pytest.mark.parametrize("solver", ["adam", "sgd"])
@pytest.mark.parametrize("y", [CODES, NUMBERS], ids=["classes", "numbers"])
@pytest.mark.parametrize("where", ["here", "dask"])
def test_batches_that_workers_share_give_the_bits_of_one_process(client, y, solver, where, always):
    import dask.array as da

    cls = assay.MLPRegressor if y is NUMBERS else assay.MLPClassifier
    words = {"max_iter": 3, "early_stopping": True, "dropout": 0.1, "batch_size": 1000, "solver": solver}
    with small_blocks(client):
        here = cls((20, 10), **words).fit(X, y, C)
        assert not always
        given = (X, y, C) if where == "here" else (da.from_array(X, (1000, 3)), da.from_array(y, 700), C)
        with assay.engine("cluster", client):
            there = cls((20, 10), **words).fit(*given)
    assert always == [0, 1] * 3  # two blocks an epoch
    assert file_bytes(here) == file_bytes(there)


def test_a_parquet_file_is_shared_too(client, always, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": CODES})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=700)
    rows = assay.rows(tmp_path / "rows.parquet", target="y")
    words = {"max_iter": 2, "batch_size": 1000}
    with small_blocks(client):
        here = assay.MLPClassifier((20,), **words).fit(rows)
        with assay.engine("cluster", client):
            there = assay.MLPClassifier((20,), **words).fit(rows)
    assert always == [0, 1] * 2
    assert file_bytes(here) == file_bytes(there)


def test_small_batches_are_never_sent_round(client, monkeypatch):
    monkeypatch.setattr(Together, "_go_through", None)
    with assay.engine("cluster", client):
        assay.MLPClassifier((20,), max_iter=2).fit(X, CODES)
        assay.MLPClassifier((5,), max_iter=2, batch_size=2000).fit(X, CODES)


def test_copies_that_do_not_fit_are_not_made(client, always, monkeypatch):
    from assay.engines.cluster import Cluster

    small = [Place("a", 1, 1e5), Place("b", 1, 1e9)]
    monkeypatch.setattr(Cluster, "places", lambda self: small)
    with assay.engine("cluster", client):
        assay.MLPClassifier((20,), max_iter=1, batch_size=2000).fit(X, CODES)
    assert not always


def test_the_clock_decides_and_the_bits_do_not_tell(client):
    wide = np.tile(X, (1, 40))
    words = {"max_iter": 2, "batch_size": 2500}
    here = assay.MLPClassifier((128,), **words).fit(wide, CODES)
    with assay.engine("cluster", client):
        there = assay.MLPClassifier((128,), **words).fit(wide, CODES)
    assert together.WORTH <= 2500 * 128 * 120
    assert file_bytes(here) == file_bytes(there)


@pytest.mark.parametrize("threads", [(1, 1), (3, 1), (1, 1, 1), (4, 1, 2)], ids=str)
@pytest.mark.parametrize("size", [50, 200, 300, 1700, 100_000])
def test_every_piece_has_one_place(threads, size):
    team, stretches = division(size, threads)
    teams = [t for first, stop in stretches for t in range(first, stop)]
    assert teams == list(range(len(teams)))
    assert (len(teams) - 1) * team < -(-size // 100) <= len(teams) * team
    assert len(stretches) <= len(threads)
    assert len(teams) <= 8 * sum(threads)


WITHOUT = """
import numpy as np
from assay.engines.threads import Threads
from assay.networks import Shape, shared, training
from assay.networks.shared import Batch, change, share_of
from assay.networks.training import Rule, Trainer, prepare

training.PIECE = shared.PIECE = 4
rng = np.random.default_rng(0)
shape, X, y, order = Shape((3, 5, 1), "tanh"), rng.normal(size=(50, 3)), rng.integers(0, 2, 50), rng.permutation(50)
rows, layers = prepare(shape, X, y, None, None, np.float64), shape.drawn(rng)
for rule in (Rule("adam", 0.01), Rule("sgd", 0.01), Rule("sgd", 0.01, nesterov=False)):
    whole, parts = (Trainer(shape, "log", layers, np.float64, Threads(1)) for _ in range(2))
    whole.epoch(rows, order, 26, rule)
    for start in (0, 26):
        batch = Batch(rows, order, start, 26, 2)
        change(parts, rule, [share_of(parts, batch, rule, 0, 1), share_of(parts, batch, rule, 1, 4)], batch.many)
    print(np.array_equal(whole.P, parts.P), np.round(parts.P, 7).tolist())
"""


def test_shares_are_the_same_without_the_compiler():
    compiled, plain = printed_by_both(WITHOUT)
    assert compiled == plain
    assert compiled.count("True") == 3


WORKER_DIES = """
import os, signal, sys, warnings
import numpy as np
import distributed
import assay
from assay.hypotheses.network import together
from assay.hypotheses.network.together import Together

warnings.simplefilter("ignore")
together.WORTH = 0
Together._is_faster = lambda *given: True
real, asked = Together._go_through, []

def go_through(self, trainer, step, block):
    asked.append(block)
    if len(asked) == 2:
        os.kill(next(iter(self.engine.client.run(os.getpid).values())), signal.SIGKILL)
    return real(self, trainer, step, block)

Together._go_through = go_through

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5003, 3)), rng.integers(0, 3, 5003)
    words = {"max_iter": 5, "batch_size": 2000}
    here = assay.MLPClassifier((20,), **words).fit(X, y)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        with distributed.Client(cluster) as client, assay.engine("cluster", client):
            there = assay.MLPClassifier((20,), **words).fit(X, y)
            print(np.array_equal(here.weights_, there.weights_), np.array_equal(here.loss_curve_, there.loss_curve_), len(asked))
            sys.stdout.flush()
"""


def test_a_worker_that_dies_costs_time_only(tmp_path):
    script = tmp_path / "dies.py"
    script.write_text(WORKER_DIES)
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "True True 2", run.stdout + run.stderr
