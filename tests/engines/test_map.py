"""An engine's map: in order, never too far ahead, and an error stops it."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.engines.engine import Stream, Threads
from assay.errors import ParameterError

ENGINES = [Threads(1), Threads(2), Threads(5), Stream(1), Stream(2)]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: f"{e.name}{e.workers}")


@every_engine
@settings(max_examples=20)
@given(items=st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=60))
def test_results_come_in_the_order_of_the_items(engine, items):
    def work(item):
        time.sleep((item or 0) * 1e-5)
        return (item,)

    assert list(engine.map(work, items)) == [(i,) for i in items]


@every_engine
def test_an_error_reaches_the_caller_and_stops_the_work(engine):
    done = []

    def work(i):
        if i == 3:
            raise KeyError("three")
        done.append(i)
        return i

    with pytest.raises(KeyError, match="three"):
        list(engine.map(work, range(10_000)))
    assert len(done) < 200
    count = len(done)
    time.sleep(0.05)
    assert len(done) <= count + engine.workers


@every_engine
def test_an_error_of_the_source_reaches_the_caller(engine):
    def items():
        yield from range(5)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(engine.map(str, items()))


@every_engine
def test_a_map_within_a_map_does_not_wait_for_itself(engine):
    def outer(i):
        return sum(engine.map(lambda j: i * j, range(5)))

    assert list(engine.map(outer, range(20))) == [10 * i for i in range(20)]


@every_engine
def test_work_runs_on_one_blas_thread_and_gives_the_others_back(engine):
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads(_=None):
        return max(i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas" and "numpy" in i["filepath"])

    with threadpool_limits(3, user_api="blas"):
        before = threads()
        assert set(engine.map(threads, range(6))) == {1}
        assert threads() == before
        results = engine.map(threads, range(6))
        next(results)
        del results
        gc.collect()
        assert threads() == before
        with pytest.raises(ZeroDivisionError):
            list(engine.map(lambda i: 1 // i, [1, 0, 1]))
        assert threads() == before


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_stream_keeps_few_blocks_in_flight(workers):
    alive, most = weakref.WeakSet(), 0

    class Piece:
        pass

    def pieces():
        nonlocal most
        for _ in range(60):
            piece = Piece()
            alive.add(piece)
            most = max(most, len(alive))
            yield piece
            del piece

    for _ in Stream(workers).map(lambda piece: time.sleep(0.001), pieces()):
        pass
    assert most <= workers + 2  # those in flight and the one being read


def test_a_stream_reads_while_it_computes():
    seen = []

    def items():
        for i in range(6):
            seen.append(("read", threading.get_ident()))
            yield i

    def work(i):
        seen.append(("work", threading.get_ident()))
        return i

    assert list(Stream(1).map(work, items())) == list(range(6))
    assert {t for what, t in seen if what == "read"}.isdisjoint(t for what, t in seen if what == "work")


def test_maps_of_many_threads_do_not_disturb_each_other():
    X = np.random.default_rng(0).random((4000, 30))
    y = (X[:, 0] > 0.5).astype(int)
    wanted = assay.GaussianNB().fit(X, y).theta_
    found = []
    threads = [threading.Thread(target=lambda: found.append(assay.GaussianNB().fit(X, y).theta_)) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 6
    assert all(np.array_equal(f, wanted) for f in found)


def test_an_unknown_engine_is_named():
    with pytest.raises(ParameterError, match=r"There is no engine 'thread'\. Did you mean 'threads'"):
        assay.engine("thread")
