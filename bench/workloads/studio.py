"""`assay studio`: how long a dragged point waits for each model, frames while playing in Chromium, and how long it takes to start.

There is no peer that does this; what is wanted is an answer within 100 ms, and 60 frames a second.
"""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from bench.harness import Race

POINTS, GRID, ASKS, WARM = 200, [96, 96], 30, 8
MODELS: dict[str, dict[str, Any]] = {
    "perceptron": {},
    "logistic-regression": {},
    "linear-svc": {},
    "svc": {},
    "qda": {},
    "naive-bayes": {},
    "knn": {},
    "decision-tree": {},
    "random-forest": {"n_estimators": 20},
    "kernel-perceptron": {},
    "mlp": {"hidden_layer_sizes": [8], "max_iter": 50},
}
PRESETS = ("five-passes", "tree-growth", "network-ring", "models-and-regions")
WITHIN, FRAME = 100.0, 1000 / 60
LOADING = 15  # seconds in which compiled loops are loaded behind: 0.1 s is a nearest neighbour's answer until then


def races() -> list[Race]:
    return []


def notes() -> list[str]:
    start = time.perf_counter()
    with _studio() as address:
        _page(address)
        started = time.perf_counter() - start
        lines = [f"| the page, from the start of the command | {started:.2f} s | | | |"]
        time.sleep(LOADING)
        lines += [_dragged(address, name, params) for name, params in MODELS.items()]
        lines += _played(address)
    head = [
        "## assay studio",
        "",
        f"A dragged point: {POINTS} points, a picture of {GRID[0]}×{GRID[1]}, {ASKS} asks one after another. Playing: milliseconds between frames in Chromium, "
        "1440×900, drawn without a graphics card.",
        "",
        "| what | median | 95 % | wanted | reached |",
        "|---|---|---|---|---|",
    ]
    return ["\n".join([*head, *lines])]


@contextmanager
def _studio() -> Iterator[str]:
    command = [sys.executable, "-m", "assay", "studio", "--no-browser", "--json", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.wait(30)


def _page(address: str) -> None:
    place = urlsplit(address)
    link = http.client.HTTPConnection(place.hostname or "", place.port)
    link.request("GET", "/")
    assert link.getresponse().status == 200


def _dragged(address: str, name: str, params: dict[str, Any]) -> str:
    """One point goes around, and each place is asked for as the page does it."""
    place = urlsplit(address)
    link = http.client.HTTPConnection(place.hostname or "", place.port)
    headers = {
        "authorization": f"Bearer {place.fragment.removeprefix('token=')}",
        "content-type": "application/json",
    }
    rng = np.random.default_rng(0)
    sides = np.arange(POINTS) % 2
    X = rng.normal(size=(POINTS, 2)) + 2.0 * sides[:, None]
    taken = []
    for turn in range(WARM + ASKS):
        X[0] = np.cos(turn / 5), np.sin(turn / 5)
        points = {"x": X[:, 0].tolist(), "y": X[:, 1].tolist(), "label": ["AB"[k] for k in sides]}
        view = {"x": [-4, 6], "y": [-4, 6]}
        ask = {"data": {"points": points}, "model": name, "params": params, "view": view, "grid": GRID}
        start = time.perf_counter()
        link.request("POST", "/api/fit", json.dumps({**ask, "panel": "a", "quick": True}), headers)
        answer = link.getresponse()
        body = answer.read()
        taken.append(1000 * (time.perf_counter() - start))
        assert answer.status == 200, body
    median, late = np.quantile(taken[WARM:], [0.5, 0.95])
    return f"| a dragged point, {name} | {median:.0f} ms | {late:.0f} ms | ≤ {WITHIN:.0f} ms | {'yes' if median <= WITHIN else 'no'} |"


def _played(address: str) -> list[str]:
    where = shutil.which("chromium") or shutil.which("chromium-browser")
    if where is None:
        return ["| playing | Chromium is not there | | | |"]
    from playwright.sync_api import sync_playwright

    lines = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=where, args=["--no-sandbox"])
        for preset in PRESETS:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{address}&preset={preset}")
            page.wait_for_selector("#app[data-ready]", timeout=60_000)
            page.wait_for_selector("[data-role='panel-0'][data-state='ended']", timeout=60_000)
            page.locator("[data-role='speed']").fill("7")
            page.locator("[data-role='to-start']").click()
            page.evaluate("assayStudio.frameTimes.length = 0")
            page.locator("[data-role='play']").click()
            page.wait_for_timeout(3000)
            times = page.evaluate("assayStudio.frameTimes")
            page.close()
            median, late = np.quantile(times, [0.5, 0.95]) if times else (np.nan, np.nan)
            reached = "yes" if median <= 1.05 * FRAME else "no"
            lines.append(f"| playing {preset} | {median:.1f} ms | {late:.1f} ms | ≤ {FRAME:.1f} ms | {reached} |")
        browser.close()
    return lines
