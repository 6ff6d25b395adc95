"""A cluster: what goes wrong there is said in words."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import numpy as np
import pytest

import assay
from assay.engines import ArrayRows
from assay.engines import cluster as cluster_engine
from assay.engines.cluster import Cluster
from assay.errors import DataTypeError, EngineError, ParameterError


def test_without_a_client_the_message_says_how_to_give_one():
    with pytest.raises(EngineError, match=r"No Dask client is connected.*assay\.engine\('cluster', client\)"):
        assay.engine("cluster")


def test_a_scheduler_that_does_not_answer_is_named():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{s.getsockname()[1]}"
    with pytest.raises(EngineError, match=f"No Dask scheduler answers at '{address}'"):
        assay.engine("cluster", address, timeout="1s")


def test_something_else_than_a_client_is_refused():
    with pytest.raises(ParameterError, match="Client or a scheduler address, not int"):
        assay.engine("cluster", 8786)


def test_an_error_on_a_worker_is_the_error_of_the_fit(client):
    X = np.ones((4000, 600))
    X[3999, 7] = np.inf
    with assay.engine("cluster", client), pytest.raises(ValueError, match="row 3999, column 7"):
        assay.GaussianNB().fit(X, np.arange(4000) % 2)


def test_results_come_in_order_and_errors_stop_the_work(client):
    engine = Cluster(client)
    assert list(engine.map(lambda i: i * i, range(30))) == [i * i for i in range(30)]
    with pytest.raises(ZeroDivisionError):
        list(engine.map(lambda i: 1 // (5 - i), range(1000)))


def test_tuples_and_other_items_are_handed_over_as_they_are(client):
    engine = Cluster(client)
    items = [(1, 2), (), None, "text", [3], {"a": 1}, (np.arange(3), None)]
    assert [repr(r) for r in engine.map(repr, items)] == [repr(repr(i)) for i in items]


def test_dask_collections_that_hold_no_numbers_are_refused(client):
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd

    with pytest.raises(DataTypeError, match="needs 2"):
        assay.GaussianNB().fit(da.ones((10,), chunks=5), np.arange(10) % 2)
    text = dd.from_pandas(pd.DataFrame({"a": ["x", "y"] * 5}), npartitions=1)
    with pytest.raises(DataTypeError, match="not numbers"):
        assay.GaussianNB().fit(text, np.arange(10) % 2)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        assay.GaussianNB().fit(da.ones((10, 2), chunks=5), np.arange(9) % 2)


def test_bad_weights_of_a_dask_collection_are_refused():
    import dask.array as da

    X, y = da.random.random((40, 2), chunks=10), np.arange(40) % 2
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        assay.GaussianNB().fit(X, y, sample_weight=-np.ones(40))
    with pytest.raises(ValueError, match="zero"):
        assay.GaussianNB().fit(X, y, sample_weight=np.zeros(40))


def test_dask_collections_run_where_their_client_is():
    import dask.array as da

    assert assay.engines.engine_for(assay.inputs.as_rows(da.ones((4, 2)))).name == "stream"


WORKER_DIES = """
import os, sys
import numpy as np
import dask, distributed
import assay
from assay.errors import EngineError

def die(i):
    os._exit(1)

if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 1, "distributed.comm.timeouts.connect": "3s"})
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        with distributed.Client(cluster) as client, assay.engine("cluster", client) as engine:
            try:
                list(engine.map(die, range(3)))
            except EngineError as error:
                print("EngineError:", error)
            except BaseException as error:
                print("other:", type(error), error)
            sys.stdout.flush()
"""


ONE_WORKER_DIES = """
import os, sys
from pathlib import Path
import numpy as np
import distributed
import assay
from assay.engines import ArrayRows, block_rows

def work(part):
    if part.start == block_rows(5000) and not Path(sys.argv[1]).exists():
        Path(sys.argv[1]).touch()
        os._exit(1)
    return float(part.load().X.sum())

if __name__ == "__main__":
    rows = ArrayRows(np.arange(2560.0 * 5000).reshape(2560, 5000))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        with distributed.Client(cluster) as client, assay.engine("cluster", client) as engine:
            print(list(engine.map(work, rows.blocks())) == [float(p.X.sum()) for p in rows.blocks()])
            sys.stdout.flush()
"""


def test_a_worker_that_dies_once_costs_time_only(tmp_path):
    script = tmp_path / "dies_once.py"
    script.write_text(ONE_WORKER_DIES)
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "flag")], capture_output=True, text=True, timeout=120
    )
    assert run.stdout.strip() == "True", run.stdout + run.stderr
    assert (tmp_path / "flag").exists()


def _sum(part):
    return float(part.load().X.sum()) if hasattr(part, "load") else float(part.X.sum())


def _sum_of_both(shared, item):
    return float(shared.sum()) + item


@pytest.mark.parametrize("failures", [1, 3, 4])
def test_a_connection_lost_while_rows_are_sent_is_tried_again(client, monkeypatch, failures):
    from distributed.comm import CommClosedError

    scatter, tried = client.scatter, []

    def interrupted(*args, **words):
        tried.append(1)
        if len(tried) <= failures:
            raise CommClosedError("Stream is closed")
        return scatter(*args, **words)

    monkeypatch.setattr(client, "scatter", interrupted)
    monkeypatch.setattr(cluster_engine, "PAUSE", 0.01)
    rows = ArrayRows(np.ones((10, 2)))
    with assay.engine("cluster", client) as engine:
        for sums in (
            lambda: list(engine.map(_sum, rows.blocks())),
            lambda: list(engine.map(_sum, engine.keep(rows).blocks())),
            lambda: list(engine.map_with(_sum_of_both, np.ones(20), [0])),
        ):
            tried.clear()
            if failures < cluster_engine.ATTEMPTS:
                assert sums() == [20.0]
            else:
                with pytest.raises(EngineError, match="Stream is closed"):
                    sums()


def test_workers_that_die_are_an_engine_error(tmp_path):
    script = tmp_path / "dies.py"
    script.write_text(WORKER_DIES)
    run = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert run.stdout.startswith("EngineError: A worker of the cluster died"), run.stdout + run.stderr
