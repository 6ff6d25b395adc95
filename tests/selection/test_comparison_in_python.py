"""A comparison in Python and in notebooks: its ranking as a frame, as a figure and as HTML, and the answers of the model that it recommends."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import assay
from assay.errors import ParameterError
from assay.selection.comparison import Comparison, Entry

HOSTILE = "<script>alert(1)</script>"


def table(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, n)
    return pd.DataFrame({"height": rng.normal(kind * 2.0, 1.0), "tree": np.where(kind == 1, "oak", HOSTILE)})


@pytest.fixture(scope="module")
def found() -> Comparison:
    return assay.compare(table(), "tree", models=["lda", "logistic-regression", "baseline"], folds=3, workers=0)


def test_the_table_is_a_frame_of_the_library_that_the_data_came_in(found):
    assert isinstance(found.table, pd.DataFrame)
    polars = assay.compare(pl.from_pandas(table()), "tree", models=["lda"], folds=3, workers=0).table
    assert isinstance(polars, pl.DataFrame)
    assert isinstance(found.to_frame("pyarrow"), pa.Table)


def test_the_table_has_a_row_a_model_with_its_numbers_or_gaps(found):
    lost = replace(found, entries=[*found.entries, Entry("qda", "timeout", "took longer than 3 s")])
    frame = lost.to_frame("polars")
    assert frame["model"].to_list() == [e.name for e in lost.entries]
    assert frame["risk"].to_list()[:-1] == [e.risk.value for e in found.entries]
    assert frame["log loss"].null_count() == 1
    assert frame.row(-1, named=True) | {"risk": None, "p": None, "seconds": 0.0} == frame.row(-1, named=True)
    assert frame.filter("recommended")["model"].to_list() == [found.recommended]


def test_a_library_that_makes_no_frames_is_refused(found):
    with pytest.raises(ParameterError, match="pandas, polars, pyarrow"):
        found.to_frame("numpy")


def test_it_answers_with_the_recommended_model(found):
    assert found.predict(table()).tolist() == found.model.predict(table()).tolist()


def test_it_draws_its_ranking_into_a_figure_that_notebooks_show(found):
    from matplotlib.figure import Figure

    figure = found.plot()
    assert isinstance(figure, Figure)
    assert "<svg" in figure._repr_html_()
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == [e.title for e in found.done]
    mine = Figure().subplots()
    assert found.plot(ax=mine) is mine.figure


class Cells(HTMLParser):
    """The words of each row of a table, and every tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data: str) -> None:
        if self.rows:
            self.rows[-1].append(data)


def test_a_notebook_shows_the_ranking_with_a_bar_for_each_finished_model(found):
    lost = replace(found, entries=[*found.entries, Entry("qda", "failed", HOSTILE)], verdict=[HOSTILE])
    page = Cells(lost._repr_html_())
    assert len(page.rows) == len(lost.entries) + 1
    assert page.tags.count("svg") == len(found.done)
    assert "script" not in page.tags
    assert f"→ {found[found.recommended].called}" in " ".join(
        page.rows[1 + [e.name for e in found.entries].index(found.recommended)]
    )


def test_a_notebook_shows_a_model_with_its_certificate(found):
    shown = found.model._repr_html_()
    assert "columns → tree" in shown
    assert "cross-validated error" in shown
    plain = assay.GaussianNB().fit([[0.0], [1.0]], [0, 1])
    assert all(claim.name in plain._repr_html_() for claim in plain.certificate_)
    assert "Not fitted yet" in assay.SVC(C=2.0)._repr_html_()
