"""How many threads: what is asked, what the environment says, what the machine allows."""

from __future__ import annotations

import os

import pytest

from assay.engines.engine import Threads, _available, _cgroup_quota, worker_count
from assay.errors import ParameterError


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch):
    monkeypatch.delenv("ASSAY_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def test_what_is_asked_is_done(monkeypatch):
    monkeypatch.setenv("ASSAY_THREADS", "3")
    assert worker_count(7) == 7
    assert Threads(workers=7).workers == 7


def test_minus_one_is_all_that_the_process_may_use():
    assert worker_count(-1) == worker_count() == _available()
    assert _available() <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize("asked", [0, -2])
def test_impossible_numbers_are_refused(asked):
    with pytest.raises(ParameterError, match="threads are not possible"):
        worker_count(asked)


def test_our_variable_goes_before_that_of_openmp(monkeypatch):
    monkeypatch.setenv("ASSAY_THREADS", "9")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert worker_count() == 9


@pytest.mark.parametrize("text", ["0", "many", "-1", "2.5"])
def test_a_bad_value_of_our_variable_is_refused(monkeypatch, text):
    monkeypatch.setenv("ASSAY_THREADS", text)
    with pytest.raises(ParameterError, match="ASSAY_THREADS="):
        worker_count()


@pytest.mark.parametrize(
    ("text", "wanted"), [("1", 1), ("1,4", 1), ("9999", None), ("", None), ("x", None), ("0", None)]
)
def test_openmp_can_only_make_it_fewer(monkeypatch, text, wanted):
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert worker_count() == (wanted or _available())


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, float("inf")),
        ({"cpu.max": "50000 100000"}, 0.5),
        ({"cpu.max": "nonsense"}, float("inf")),
        ({"cpu.max": "100 0"}, float("inf")),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, float("inf")),
        ({"cpu/cpu.cfs_quota_us": "5"}, float("inf")),
        ({}, float("inf")),
    ],
)
def test_the_quota_of_a_container_is_read(tmp_path, files, wanted):
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert _cgroup_quota(tmp_path) == wanted
