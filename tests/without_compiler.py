"""What a script prints with the compiler and without it."""

import os
import subprocess
import sys


def printed_by_both(code: str) -> tuple[str, str]:
    """(with, without): what the script prints."""
    return _printed(code), _printed(code, NUMBA_DISABLE_JIT="1")


def _printed(code: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
