"""A file appears whole or not at all, and what was there before stays until then."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.errors import ModelFileError
from assay.store import disk, write_atomically
from assay.store.disk import read_whole
from assay.store.file import LARGEST_HEADER


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).random((40, 3))
    return assay.GaussianNB().fit(X, X[:, 0] > 0.5)


def test_a_directory_and_a_missing_folder_are_named(model, tmp_path):
    with pytest.raises(ModelFileError, match="is a directory"):
        model.save(tmp_path)
    with pytest.raises(ModelFileError, match=r"folder .* does not exist"):
        model.save(tmp_path / "no" / "m.assay")
    with pytest.raises(ModelFileError, match="is a directory"):
        assay.load(tmp_path)
    with pytest.raises(ModelFileError, match="There is no file"):
        assay.load(tmp_path / "no.assay")
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(ModelFileError):
            model.save(tmp_path / name)
        with pytest.raises(ModelFileError):
            assay.load(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_new_file_replaces_the_old_one_and_keeps_its_mode_and_link(model, tmp_path):
    real, link = tmp_path / "real.assay", tmp_path / "link.assay"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    model.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert np.array_equal(assay.load(real).theta_, model.theta_)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.assay", "real.assay"]


def test_a_new_file_obeys_the_umask(model, tmp_path):
    before = os.umask(0o027)
    try:
        model.save(tmp_path / "m.assay")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "m.assay").stat().st_mode) == 0o640


def test_a_device_or_pipe_is_written_to_and_never_replaced(model, tmp_path):
    model.save("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(assay.load(pipe)))
    reader.start()
    model.save(pipe)
    reader.join(10)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert np.array_equal(found[0].theta_, model.theta_)


def test_an_endless_device_is_not_read_to_its_end():
    start = time.process_time()
    with pytest.raises(ModelFileError):
        read_whole("/dev/urandom", LARGEST_HEADER)
    assert time.process_time() - start < 1
    with pytest.raises(ModelFileError):
        assay.load("/dev/null")


def test_a_large_file_of_something_else_is_refused_by_its_start(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(b"PK\x03\x04not a model")
        file.truncate(8 << 30)  # a sparse file
    start = time.process_time()
    with pytest.raises(ModelFileError, match="length of its header"):
        assay.load(path)
    assert time.process_time() - start < 1
    with path.open("r+b") as file:
        file.truncate(17 << 30)
    with pytest.raises(ModelFileError, match="larger than any model file"):
        assay.load(path)


FULL = """
import resource, signal, sys
from assay.store import write_atomically
from assay.errors import ModelFileError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write_atomically(b"x" * 200_000, sys.argv[1])
except ModelFileError as error:
    print(error)
"""


def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "m.assay"
    path.write_text("old")
    run = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=60)
    assert "could not be written" in run.stdout, run.stderr
    assert "what was there is untouched" in run.stdout
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.assay"]


def test_a_folder_that_cannot_be_written_to_is_a_clear_error(tmp_path, monkeypatch):
    if os.geteuid() == 0:  # root may write anywhere but there
        folder = Path("/proc/self")
    else:
        folder = tmp_path
        folder.chmod(0o500)
    with pytest.raises(ModelFileError, match="could not be written"):
        write_atomically(b"x", folder / "m.assay")


KILLED = """
import sys
from assay.store import write_atomically
print("ready", flush=True)
number = 0
while True:
    number += 1
    write_atomically(bytes([number % 256]) * 3_000_000, sys.argv[1])
"""


def test_a_killed_process_leaves_a_whole_file(tmp_path):
    path = tmp_path / "m.assay"
    for delay in (0.0, 0.011, 0.023, 0.04):
        path.write_bytes(b"\xff" * 3_000_000)
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        data = path.read_bytes()
        assert len(data) == 3_000_000
        assert len(set(data)) == 1


def test_writers_at_the_same_time_do_not_mix(tmp_path):
    path = tmp_path / "m.assay"

    def write(letter):
        for _ in range(20):
            write_atomically(letter * 100_000, path)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(path.read_bytes())) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["m.assay"]


HELD = """
import sys
from pathlib import Path
from assay.store.disk import file_beside
with file_beside(Path(sys.argv[1])) as (file, beside):
    file.write(b"half")
    file.flush()
    print(beside, flush=True)
    sys.stdin.readline()
"""


def begun(path):
    """A process in the middle of a save, and the file beside."""
    process = subprocess.Popen([sys.executable, "-c", HELD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return process, Path(os.fsdecode(process.stdout.readline().rstrip()))


def test_what_a_killed_process_leaves_is_removed_at_the_next_save_and_nothing_else(model, tmp_path):
    path = tmp_path / "m.assay"
    killed, left = begun(path)
    killed.kill()
    killed.communicate()
    assert left.read_bytes() == b"half"
    running, held = begun(path)
    assert not left.exists()
    others = [".assay-notes", ".assay-" + "0" * 17, "assay-" + "0" * 16]
    for name in others:
        (tmp_path / name).write_text("not ours")
    (tmp_path / (".assay-" + "1" * 16)).mkdir()
    (tmp_path / (".assay-" + "2" * 16)).symlink_to(tmp_path / ".assay-notes")
    os.mkfifo(tmp_path / (".assay-" + "3" * 16))
    (tmp_path / (".assay-" + "4" * 16)).write_text("ours")
    there = {p.name for p in tmp_path.iterdir()} - {".assay-" + "4" * 16}
    model.save(path)
    assert {p.name for p in tmp_path.iterdir()} == there | {"m.assay"}
    assert held.exists()
    running.communicate(b"go on\n")
    assert running.returncode == 0
    assert path.read_bytes() == b"half"
    assert not held.exists()


def test_savers_at_the_same_time_leave_each_other_alone(tmp_path):
    script = KILLED.replace("while True:", "while number < 60:").replace("3_000_000", "3_000")
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path / f"{k % 2}.assay")], stdout=subprocess.DEVNULL)
        for k in range(4)
    ]
    assert [process.wait(60) for process in running] == [0] * 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.assay", "1.assay"]


def test_an_interrupt_just_after_the_file_is_there_leaves_none(tmp_path, monkeypatch):
    """Between making it and having it in hand: a signal may come at any moment."""

    def interrupted(handle, mode):
        raise KeyboardInterrupt

    monkeypatch.setattr(disk.os, "fdopen", interrupted)
    with pytest.raises(KeyboardInterrupt), disk.file_beside(tmp_path / "m.assay"):
        pass
    assert list(tmp_path.iterdir()) == []
