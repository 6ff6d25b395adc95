"""Loops are saved and loaded by one process at a time, and nobody else's functions are touched."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from assay.compiled.cache import LockedIndex, locked


@pytest.mark.parametrize("alone", [True, False])
def test_nothing_is_saved_while_another_process_reads_or_writes(tmp_path: Path, alone: bool):
    kept = LockedIndex(str(tmp_path), "loop", "stamp")
    with locked(tmp_path, alone):
        saving = threading.Thread(target=kept.save, args=("float64", "code"))
        saving.start()
        saving.join(0.3)
        assert saving.is_alive()
        assert not list(tmp_path.glob("*.nbi"))
    saving.join(30)
    assert not saving.is_alive()
    assert kept.load("float64") == "code"


@pytest.mark.skipif(sys.platform == "win32", reason="readers wait for readers there")
def test_readers_wait_for_a_writer_only(tmp_path: Path):
    kept = LockedIndex(str(tmp_path), "loop", "stamp")
    kept.save("float64", "code")
    with locked(tmp_path, alone=False):
        assert kept.load("float64") == "code"


def test_a_folder_that_cannot_be_locked_is_no_error(tmp_path: Path):
    with locked(tmp_path / "nowhere", alone=True):
        pass


UNTOUCHED = """
import numba.core.caching as caching
import numba.core.dispatcher as dispatcher

def members():
    kinds = [kind for kind in vars(caching).values() if isinstance(kind, type)] + [dispatcher.Dispatcher]
    return {(kind, name): value for kind in kinds for name, value in vars(kind).items() if name != "_abc_impl"}

before = members()
import importlib, pathlib, assay
home = pathlib.Path(assay.__file__).parent
files = list(home.rglob("loops/*.py"))
assert files
for file in files:
    importlib.import_module(".".join(["assay", *file.relative_to(home).with_suffix("").parts]).removesuffix(".__init__"))
after = members()
assert before.keys() == after.keys()
assert all(before[key] is after[key] for key in before)
"""


def test_importing_all_loops_leaves_numba_as_it_was():
    run = subprocess.run([sys.executable, "-c", UNTOUCHED], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


USER = """
from numba import njit
from assay.compiled import inlined, jit

@njit(cache=True)
def theirs(x):
    return x + 1

@inlined
def called(x):
    return x + 2

@jit(error_model="numpy")
def ours(x):
    return called(x)
"""
ASK = """
import sys
sys.path.insert(0, sys.argv[1])
import user
print(user.theirs(1), user.ours(1))
print(type(user.theirs._cache).__module__, type(user.ours._cache).__module__, user.ours.targetoptions["nogil"])
print(*(sum(function.stats.cache_hits.values()) for function in (user.theirs, user.ours)))
"""


def test_a_users_function_keeps_its_own_cache_beside_ours(tmp_path: Path):
    (tmp_path / "user.py").write_text(USER)
    said = []
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", ASK, str(tmp_path)], capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stderr
        said.append(run.stdout.splitlines())
    answers, caches, _ = said[0]
    assert answers == "2 3"
    assert caches == "numba.core.caching assay.compiled.cache True"
    assert [lines[2] for lines in said] == ["0 0", "1 1"]
