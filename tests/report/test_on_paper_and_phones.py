"""A real browser prints the report and shows it on a phone: few sheets, the verdict on the first, no figure wider than the screen.

The browser runs in a process of its own: Playwright allows one loop a process, and that may be another test's.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from assay import compare

LOOK = """
import json, re, sys
from playwright.sync_api import sync_playwright

def sheets(page):
    return len(re.findall(rb"/Type\\s*/Page[^s]", page.pdf(format="A4")))

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
    page = browser.new_page()
    page.goto(sys.argv[2])
    found = {"sheets": sheets(page)}
    page.goto(sys.argv[2] + "#model-baseline")
    found["unfolded by its link"] = page.evaluate("document.querySelector('#model-baseline').closest('details').open")
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    found["sheets of all"] = sheets(page)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 1009})  # A4 within its margins
    found["verdict ends"] = page.evaluate("document.querySelector('#worries').getBoundingClientRect().bottom + scrollY")
    found["too wide for paper"] = page.evaluate("document.documentElement.scrollWidth > 680")
    phone = browser.new_page(viewport={"width": 390, "height": 844}, is_mobile=True)
    phone.goto(sys.argv[2])
    found["phone"] = phone.evaluate(
        "[document.documentElement.scrollWidth, ...[...document.querySelectorAll('figure svg')].map(e => e.clientWidth)]"
    )
    print(json.dumps(found))
"""
MODELS = ("lda", "qda", "gaussian-nb", "perceptron", "linear-svc", "decision-tree", "knn", "baseline")


@pytest.fixture(scope="module")
def chromium() -> str:
    where = shutil.which("chromium") or shutil.which("chromium-browser")
    if where is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("Chromium is not there (tools/chromium installs it)")
    return where


def trees(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, n)
    columns = {name: rng.normal(kind * shift, 1.0).round(2) for name, shift in (("height", 2.0), ("girth", 1.0))}
    soil = rng.choice(["clay", "sand", "loam"], n)
    return pd.DataFrame({**columns, "soil": soil, "tree": np.where(kind == 1, "oak", "elm")})


def test_a_report_prints_the_verdict_on_one_sheet_and_few_in_all_and_fits_a_phone(chromium, tmp_path):
    path = tmp_path / "report.html"
    compare(trees(), "tree", folds=3, models=MODELS).report(path)
    run = [sys.executable, "-c", LOOK, chromium, path.as_uri()]
    found = json.loads(subprocess.run(run, capture_output=True, check=True, text=True, timeout=120).stdout)
    assert found["sheets"] <= 12
    assert found["sheets of all"] > 3 * found["sheets"]  # what is folded is there, but not printed
    assert found["verdict ends"] <= 1009
    assert not found["too wide for paper"]
    assert found["unfolded by its link"]
    page, *figures = found["phone"]
    assert page == 390
    assert figures
    assert max(figures) <= 390
