"""A studio starts without loading what takes long, and ends with the exit code of what ended it, saying no more than one line."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "assay", "studio", "--no-browser"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_its_own_code(number, code):
    running = subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True)
    assert "http://127.0.0.1:" in running.stderr.readline()
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode == code
    assert "Traceback" not in said


def test_a_table_without_the_target_is_refused_in_one_line():
    ran = subprocess.run([*COMMAND, "coins", "--target", "price"], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 3
    (line,) = ran.stderr.splitlines()
    assert "There is no column 'price'" in line


def test_the_server_loads_nothing_that_takes_long():
    code = "import sys, assay.studio.serving; print([n for n in ('numpy', 'numba', 'pyarrow') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
