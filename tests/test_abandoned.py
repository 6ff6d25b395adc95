"""What a killed process left in the temporary folder is removed at the next start; what a living one uses is not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from assay import abandoned
from assay.abandoned import temporary_file

HOLD = """
import sys
from assay.abandoned import temporary_file, temporary_folder, temporary_path
path, file, folder = temporary_path("rows", ".parquet"), temporary_file("body"), temporary_folder("studio")
print(path, file.name, folder.__enter__(), sep="\\n", flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files are locked by flock")


@pytest.fixture
def held(tmp_path, monkeypatch):
    """A process that has one of each, and their paths."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        yield process, [process.stdout.readline().strip() for _ in range(3)]
        process.kill()


def test_what_is_used_stays_and_what_is_left_goes(held, tmp_path):
    process, paths = held
    abandoned.remove_abandoned(tmp_path, abandoned.FILES, abandoned.FOLDERS)
    assert all(os.path.exists(path) for path in paths)
    process.kill()
    process.wait()
    assert all(os.path.exists(path) for path in paths)
    abandoned.remove_abandoned(tmp_path, abandoned.FILES, abandoned.FOLDERS)
    assert not any(os.path.exists(path) for path in paths)


def test_only_files_of_our_names_are_looked_at(tmp_path):
    for name in ("assay-rows-12345678.csv", "assay-notes-12345678", "assay-studio-1", "rows"):
        (tmp_path / name).touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "assay-studio-abcdefgh").symlink_to(tmp_path / "elsewhere")
    abandoned.remove_abandoned(tmp_path, abandoned.FILES, abandoned.FOLDERS)
    assert len(list(tmp_path.iterdir())) == 6


def test_what_is_released_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = abandoned.temporary_path("rows")
    abandoned.remove_abandoned(tmp_path, abandoned.FILES, abandoned.FOLDERS)
    assert os.path.exists(path)
    abandoned.release(path)
    abandoned.remove_abandoned(tmp_path, abandoned.FILES, abandoned.FOLDERS)
    assert not os.path.exists(path)
    with abandoned.temporary_folder("studio") as folder:
        abandoned.remove_abandoned(tmp_path, abandoned.FILES, abandoned.FOLDERS)
        assert os.path.isdir(folder)
    assert not os.path.exists(folder)


def test_a_temporary_file_is_opened_by_its_path_too_and_goes_where_it_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_file("body") as file:
        assert not isinstance(file, tempfile._TemporaryFileWrapper)  # which Windows opens for nobody else
        file.write(b"rows")
        file.flush()
        assert Path(file.name).read_bytes() == b"rows"
        file.seek(1)
        assert file.read() == b"ows"
    file.close()
    assert not [*tmp_path.iterdir()]
    temporary_file("body")  # nobody has it
    assert not [*tmp_path.iterdir()]


def test_without_locks_a_path_is_not_held_open(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(abandoned, "locks", lambda handle, wait: False)
    before = len(os.listdir("/proc/self/fd"))
    path = abandoned.temporary_path("rows", ".parquet")
    assert Path(path).exists()
    assert len(os.listdir("/proc/self/fd")) == before
