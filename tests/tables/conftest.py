"""The PostgreSQL server of the tests of databases."""

from __future__ import annotations

import os

import postgres
import pytest


@pytest.fixture(scope="session")
def server():
    """A real server with passwords. Where it cannot be had the tests are skipped, in CI they fail."""
    programs = postgres.programs()
    if programs is None:
        message = "PostgreSQL is not installed: run tools/postgres as root, or install it by other means"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with postgres.running(programs) as running:
        yield running
