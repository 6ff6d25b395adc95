"""An SVG of a figure is well-formed, the same every time, self-contained, and shares a page with others."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import assay
from assay import plots
from assay.errors import ParameterError


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = np.array(["no", "yes"])[(X[:, 0] + 0.3 * rng.normal(size=2000) > 0).astype(int)]
    return assay.LogisticRegression().fit(X, y), X, y


def figures(fitted):
    model, X, y = fitted
    return {
        "regions": plots.decision_regions(model, X, y),
        "bars": plots.bias_variance([0.1, 0.2], [0.1, 0.1], [0.05, 0.05], names=["a & b", "c < d"]),
        "confusion": plots.confusion([[3, 1], [2, 4]], ["no", "yes"]),
        "calibration": plots.calibration([0.1, 0.9], [0.2, 0.8], counts=[10, 20]),
    }


def test_it_is_well_formed_and_has_title_and_description(fitted):
    for name, ax in figures(fitted).items():
        text = plots.svg(ax, title=f"Figure <{name}>", description="What & why")
        root = ET.fromstring(text)
        space = "{http://www.w3.org/2000/svg}"
        assert root[0].tag == space + "title"
        assert root[0].text == f"Figure <{name}>"
        assert root[1].tag == space + "desc"
        assert root[1].text == "What & why"
        assert root.get("role") == "img"
        assert root.get("aria-labelledby").split() == [root[0].get("id"), root[1].get("id")]
        assert len(text) < 60_000, name


def test_it_is_the_same_bytes_every_time(fitted):
    first = {k: plots.svg(ax, title=k, description="") for k, ax in figures(fitted).items()}
    again = {k: plots.svg(ax, title=k, description="") for k, ax in figures(fitted).items()}
    assert first == again


def test_nothing_outside_is_referred_to(fitted):
    for ax in figures(fitted).values():
        text = plots.svg(ax, title="t", description="d").replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text
        assert "<style" not in text
        assert "<!DOCTYPE" not in text
        for target in re.findall(r'href="([^"]*)"', text):
            assert target.startswith(("#", "data:image/png;base64,"))


def test_ids_on_a_page_are_unique_and_every_reference_is_met(fitted):
    page = [plots.svg(ax, title=k, description="") for k, ax in figures(fitted).items()]
    page.append(plots.svg(plots.confusion([[3, 1], [2, 4]], ["no", "yes"]), title="confusion", description="", key="2"))
    ids = [i for text in page for i in re.findall(r'\bid="([^"]*)"', text)]
    assert len(ids) == len(set(ids))
    for text in page:
        own = set(re.findall(r'\bid="([^"]*)"', text))
        assert set(re.findall(r"url\(#([^)]*)\)", text)) <= own
        assert set(re.findall(r'href="#([^"]*)"', text)) <= own


def test_ink_is_the_pages_own_colour_and_text_stays_text(fitted):
    text = plots.svg(plots.confusion([[3, 1], [2, 4]], ["no", "yes"]), title="t", description="d")
    assert "currentColor" in text
    assert plots.canvas.INK not in text
    assert "#000000" not in text
    assert "#ffffff" not in text
    assert "DejaVu" not in text
    assert ">yes</text>" in text


def test_odd_names_are_shown_as_they_are():
    text = plots.svg(
        plots.ranking(["a $b$ c", "tab\tor\x01 x", "日本", "_d"], [1, 2, 3, 4]), title="t\x02", description="d"
    )
    shown = "".join(ET.fromstring(text).itertext())
    assert "a $b$ c" in shown
    assert "日本" in shown


def test_only_figures_are_taken():
    with pytest.raises(ParameterError, match="Figure or Axes"):
        plots.svg("picture.png", title="t", description="d")
    with pytest.raises(ParameterError, match="title is empty"):
        plots.svg(plots.confusion([[1]]), title=" ", description="d")
