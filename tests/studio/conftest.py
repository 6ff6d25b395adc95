"""A real studio process and a real browser that looks at it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import wait
from studio_client import Client

SHOTS = Path(__file__).parent / "shots"
AXE = Path(__file__).parents[2] / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
SECONDS = 30_000  # ms: how long the browser waits for anything


def absent(what: str) -> None:
    """Skips, or fails where CI is set."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


@pytest.fixture(scope="session")
def studio_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address, with its token, of an `assay studio` that runs as a process of its own. It must end without a traceback, and what warns
    must be told in the page, not in the terminal."""
    command = [sys.executable, "-m", "assay", "studio", "--no-browser", "--json", "--port", "0"]
    said = tmp_path_factory.mktemp("studio") / "stderr.txt"
    with (
        said.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield json.loads(line)["url"]
        finally:
            process.terminate()
            process.wait(timeout=20)
    words = said.read_text(encoding="utf-8")
    assert "Traceback" not in words
    assert "Warning" not in words


@pytest.fixture(scope="session")
def client(studio_url: str) -> Client:
    """A page without a browser."""
    return Client(studio_url)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Chromium, without a window."""
    where = shutil.which("chromium") or shutil.which("chromium-browser")
    if where is None:
        absent("Chromium is not there (tools/chromium installs it)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=where, args=["--no-sandbox"])
        yield browser
        browser.close()


def _note(complaints: list[str], line: Any) -> None:
    """Keep what a page writes on its console in error. That the server refused a request (4xx) is no error of the page."""
    if line.type == "error" and "status of 4" not in line.text:
        complaints.append(line.text)


@pytest.fixture
def opened(chromium: Any, studio_url: str) -> Iterator[Any]:
    """A function that opens a figure of the studio in a tab of its own. Whatever the page complains of fails the test."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def open_page(preset: str = "three-or-five", **options: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: _note(complaints, line))
        page.on("response", lambda answer: complaints.append(answer.text()) if answer.status >= 500 else None)
        page.goto(f"{studio_url}&preset={preset}")
        wait(page, "window.assayStudio?.ready")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core."""
    if not AXE.is_file():
        absent("axe-core is not there (tools/axe fetches it)")
    return AXE.read_text(encoding="utf-8")
