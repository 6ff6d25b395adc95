"""Compiled loops are saved and loaded by one process at a time."""

from __future__ import annotations

import threading
from pathlib import Path

import assay.loops.compiled_once as compiled_once
import pytest
from numba.core.caching import IndexDataCacheFile

fcntl = pytest.importorskip("fcntl")


@pytest.mark.parametrize("held", ["LOCK_EX", "LOCK_SH"])
def test_nothing_is_saved_while_another_process_reads_or_writes(tmp_path: Path, held: str):
    kept = IndexDataCacheFile(str(tmp_path), "loop", "stamp")
    with (tmp_path / "assay.lock").open("w") as file:
        fcntl.flock(file, getattr(fcntl, held))
        saving = threading.Thread(target=kept.save, args=("float64", "code"))
        saving.start()
        saving.join(0.3)
        assert saving.is_alive()
        assert not list(tmp_path.glob("*.nbi"))
    saving.join(30)
    assert not saving.is_alive()
    assert kept.load("float64") == "code"


def test_readers_wait_for_a_writer_only(tmp_path: Path):
    kept = IndexDataCacheFile(str(tmp_path), "loop", "stamp")
    kept.save("float64", "code")
    with (tmp_path / "assay.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert kept.load("float64") == "code"
    with compiled_once._locked(str(tmp_path / "nowhere"), "LOCK_EX"):
        pass  # a folder that cannot be locked is no error here
