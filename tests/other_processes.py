"""What a script prints in another process: with the compiler and without it, or where memory is other."""

import os
import subprocess
import sys


def printed_by_both(code: str) -> tuple[str, str]:
    """(with, without): what the script prints."""
    return printed(code), printed(code, NUMBA_DISABLE_JIT="1")


def printed(code: str, **environment: str) -> str:
    """What a script prints in a process with these variables."""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, env={**os.environ, **environment}
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
