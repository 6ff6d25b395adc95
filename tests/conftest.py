"""What all tests share: the folder of real data, a small cluster, a PostgreSQL server, and settings of the property tests."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # so that tests can say `from cases import …`

#: OpenBLAS's threads wait for each other by turning round and round: on tables as small as here that takes ten times what there is to compute.
#: Where it is asked whether threads change a bit, it has two (`blas_of_two`).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background: tests interrupt themselves
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "assay",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
settings.load_profile("assay")
gc.disable()  # until all tests are collected: hardly anything of that is garbage


def pytest_collection_finish(session):
    """Two million objects were collected and stay to the end: the garbage collector need not go through them again each time (1.1 s), nor
    make forked processes copy the memory they lie in."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure(config):
    """What was frozen is let go at the end: libraries that count their objects would tell of a leak."""
    gc.unfreeze()


#: Files that take longest, the longest first. They begin first, so that at the end no worker waits long for another (`make tests`).
LONG = (
    "studio/test_browser_presets.py",
    "laws/test_equal_bits.py",
    "laws/test_equal_bits_of_large_tables.py",
    "report/test_report.py",
    "laws/test_sklearn_protocol.py",
    "laws/test_tiers.py",
    "cli/test_compare.py",
    "selection/test_compare_tables.py",
    "cli/test_as_a_process.py",
    "test_wheel.py",
    "laws/test_steps.py",
    "tables/test_encoding.py",
    "store/test_hostile_documents.py",
    "selection/test_compare_verdict.py",
    "selection/test_table_model_files.py",
    "families/trees/test_tree_laws.py",
    "families/neighbours/test_kdtree.py",
    "families/neighbours/test_brute.py",
    "cli/test_bad_tables.py",
    "store/test_hostile_arrays.py",
    "families/kernel/test_svm_rounding.py",
    "processes/test_without_fork.py",
    "families/trees/test_tree_lists.py",
    "fuzz/test_certificates.py",
    "report/test_on_paper_and_phones.py",
    "selection/test_compare.py",
    "solvers/test_softmax_problem.py",
    "server/test_openapi.py",
    "fuzz/test_kills.py",
)


def pytest_collection_modifyitems(items):
    places = {HERE / name: place for place, name in enumerate(LONG)}
    assert all(file.is_file() for file in places), "a file in LONG is not there"
    items.sort(key=lambda item: places.get(item.path, len(LONG)))
    _tell_lines_of_the_files(items)


def _tell_lines_of_the_files(items):
    """Sections that are written into docstrings move their examples: failures tell the lines of the file all the same."""
    for test in (item.dtest for item in items if isinstance(item, pytest.DoctestItem)):
        cls = test.globs.get(test.name.rpartition(".")[2])
        doc = vars(cls).get("__doc__") if isinstance(cls, type) else None
        if hasattr(doc, "written"):
            whole, written = (text.partition(">>>")[0].count("\n") for text in (test.docstring, doc.written))
            test.docstring = doc.written
            for example in test.examples:
                example.lineno -= whole - written


@pytest.fixture(scope="module")
def blas_of_two():
    """Matrices are multiplied by two threads, unless who multiplies sees to it that one does."""
    import numpy  # noqa: F401 - brings one library
    import scipy.linalg  # noqa: F401 - and the other
    from threadpoolctl import threadpool_info, threadpool_limits

    with threadpool_limits(2, user_api="blas"):
        assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {2}
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data, which is no part of the project."""
    folder = Path(os.environ.get("ASSAY_DATA", HERE.parent.parent / "shared" / "data"))
    if not folder.is_dir():
        message = f"the folder of real data is not there: {folder} (set ASSAY_DATA)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


#: A cluster that has nothing to do does nothing: it is there to the end, and would look after itself for a twelfth of a processor.
STILL = {
    "distributed.worker.daemon": True,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "60s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.client.heartbeat": "60s",
}


@pytest.fixture(scope="session")
def client():
    """A real cluster: a scheduler and two worker processes. No client is left as Dask's default."""
    import dask
    import distributed

    with (
        dask.config.set(STILL),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address=":0", silence_logs=40
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2)
        yield client


@pytest.fixture(scope="session")
def server():
    """A real server with passwords. Where it cannot be had the tests are skipped, in CI they fail."""
    import postgres

    programs = postgres.programs()
    if programs is None:
        message = "PostgreSQL is not installed: run tools/postgres as root, or install it by other means"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with postgres.running(programs) as running:
        yield running


def _children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.fixture
def children_left() -> Callable[[], set[str]]:
    """A function that tells which processes this one has started since the test began and not seen end; browsers of other tests do not count."""
    before = _children()
    return lambda: _children() - before
