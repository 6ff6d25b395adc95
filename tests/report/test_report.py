"""The report: one file, whole, safe and complete, whatever the table."""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from assay.errors import AssayError, MissingExtraError
from assay.report import check_possible, report_html, write_report
from assay.report.markup import anchor
from assay.selection.compare import compare
from assay.selection.comparison import Comparison, Entry

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a & b' $x_1^{ \\frac",
    "</svg></style><b>\x07\u202e]]>",
)
VOID = {"meta", "br", "hr"}


class Page(HTMLParser):
    """Every element of a page, with a stack that must be balanced, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.stack, f"left open: {self.stack}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack[-1:] == [tag], f"</{tag}> closes {self.stack[-3:]}"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def ids(self) -> list[str]:
        return [str(a["id"]) for _, a in self.elements if "id" in a]


def sound(found: Comparison, text: str = "") -> Page:
    """What holds of every report."""
    text = text or report_html(found)
    assert len(text.encode()) < 3_000_000
    assert text.startswith("<!DOCTYPE html>")
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "iframe", "object", "embed", "link", "base", "form", "img", "audio", "video"}
    for tag, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        for name in ("href", "src", "xlink:href", "action", "data"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:image/png;base64,")), (tag, value)
        if tag == "th":
            assert attributes.get("scope") in ("row", "col")
    style = re.search(r"<style>(.*?)</style>", text, re.S)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?\s*(?:https?:)?//""", text)
    ids = page.ids()
    assert len(ids) == len(set(ids))
    links = {str(a["href"])[1:] for t, a in page.elements if t == "a"}
    assert links <= set(ids)
    for entry in found.entries:
        assert (anchor(entry.name) in ids) == entry.done
        assert entry.title in page.text
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        root = ElementTree.fromstring(svg)
        assert root[0].tag.endswith("title")
        assert root[0].text
        assert root[1].tag.endswith("desc")
        assert root[1].text
    assert "could not be drawn" not in text
    levels = [int(t[1]) for t, _ in page.elements if re.fullmatch("h[1-6]", t)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    return page


def two_columns(n: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    height = rng.normal(kind * 2.0, 1.0)
    return pd.DataFrame({"height": height, "girth": rng.normal(kind, 1.0), "tree": np.where(kind == 1, "oak", "elm")})


@pytest.fixture(scope="module")
def trees() -> Comparison:
    return compare(
        two_columns(), "tree", folds=3, models=["lda", "linear-svc", "perceptron", "gaussian-nb", "baseline"]
    )


@pytest.fixture(scope="module")
def trees_html(trees: Comparison) -> str:
    return report_html(trees)


@pytest.fixture(scope="module")
def two_models() -> Comparison:
    """More quickly reported."""
    return compare(two_columns(60), "tree", folds=2, models=["lda", "linear-svc"])


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of a model alone is a word."""
    from assay.report import page

    monkeypatch.setattr(page, "_content", lambda *_: page.el("p", "short"))
    monkeypatch.setattr(page, "worker_count", lambda: 1)


@pytest.fixture(scope="module")
def unfinished(trees: Comparison) -> Comparison:
    """Quickly reported."""
    gone = [Entry(e.name, "interrupted", "stopped") for e in trees.entries]
    return replace(
        trees,
        entries=gone,
        recommended=None,
        best=None,
        bracket=None,
        verdict=["No model was finished."],
        interrupted=True,
    )


def test_the_report_has_the_verdict_first_and_a_section_for_every_finished_model(trees, trees_html):
    page = sound(trees, trees_html)
    assert page.text.index(trees.verdict[0]) < page.text.index("Models ranked: error by 3-fold cross-validation")
    headings = [tag for tag, _ in page.elements if tag == "h2"]
    assert len(headings) == len(trees.done) + 6  # ranking, worries, risks, bracket, table, reproduction
    for words in (
        "Certificate",
        "Validation curve",
        "Decision regions",
        "Confusion",
        "Calibration",
        "ROC",
        "Thresholds",
    ):
        assert words in page.text
    for words in ("Importance of the columns", "Learning curve", "Bias and variance", "Errors to look at"):
        assert words in page.text
    for words in (
        "Margins and support vectors",
        "The way of the perceptron",
        "Class densities",
        "Weights",
        "Loss over two",
    ):
        assert words in page.text


def test_every_number_of_the_ranking_stands_in_the_report(trees, trees_html):
    from assay.report.markup import amount, interval

    page = sound(trees, trees_html)
    for entry in trees.done:
        assert entry.risk is not None
        assert amount(entry.risk, entry.risk.value, trees.loss) in page.text
        assert interval(entry.risk, trees.loss) in page.text


def test_the_same_comparison_gives_the_same_bytes(trees, trees_html):
    assert report_html(trees) == trees_html


def test_it_says_how_to_reproduce_the_numbers(trees, trees_html):
    page = sound(trees, trees_html)
    assert "found = assay.compare(" in page.text
    assert "seed=0" in page.text
    assert str(trees.provenance["assay"]) in page.text
    assert str(trees.provenance["fingerprint"]) in page.text


def test_a_table_in_a_file_is_named_in_the_command(tmp_path, short_pages):
    path = tmp_path / "my trees.csv"
    two_columns(40).to_csv(path, index=False)
    page = sound(compare(str(path), "tree", folds=2, models=["lda", "baseline"]))
    assert f"assay compare '{path}' \\ --target tree" in page.text


def test_hostile_names_and_labels_are_shown_and_harm_nothing():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.normal(size=90) for name in HOSTILE[:2]})
    frame[HOSTILE[2]] = rng.choice([HOSTILE[0], HOSTILE[3], "plain"], 90)
    frame[HOSTILE[3]] = np.where(frame[HOSTILE[0]] > 0, HOSTILE[0], HOSTILE[3])
    found = compare(frame, HOSTILE[3], folds=2, models=["lda", "linear-svc"])
    page = sound(found)
    assert "alert(1)" in page.text  # as words
    assert "\x07" not in page.text
    assert "\u202e" not in page.text


def test_many_classes():
    rng = np.random.default_rng(2)
    codes = np.repeat(np.arange(26), 12)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    frame = pd.DataFrame(
        rng.normal(size=(len(codes), 3)) * 0.3 + np.c_[codes, codes % 5, codes % 7], columns=list("xyz")
    )
    page = sound(compare(frame.assign(letter=letters[codes]), "letter", folds=2, models=["lda"]))
    assert "Each class" in page.text


def test_regression_shows_residuals():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=x @ [1.0, 2.0, 0.0] + 0.1 * rng.normal(size=80))
    found = compare(frame, "y", folds=2, models=["ridge", "linear-regression", "baseline-regressor"])
    page = sound(found)
    assert "Residuals" in page.text
    assert "Predicted against true" in page.text
    assert "Best possible" not in page.text


def test_text_one_column_categories_dates_and_gaps():
    rng = np.random.default_rng(4)
    spam = rng.integers(0, 2, 100)
    frame = pd.DataFrame(
        {
            "message": [
                f"{'win a free prize number' if s else 'see you at home around'} {' '.join(rng.choice(list('abcdefghij'), 5))} {i}"
                for i, s in enumerate(spam)
            ],
            "length": rng.normal(spam, 1.0),
            "spam": np.where(spam == 1, "yes", "no"),
        }
    )
    sound(
        compare(
            frame,
            "spam",
            folds=2,
            models=["logistic-regression", "multinomial-nb", "baseline"],
            kinds={"message": "text"},
        )
    )
    one = sound(compare(two_columns(60)[["height", "tree"]], "tree", folds=2, models=["lda"]))
    assert "Regions need two columns of numbers" in one.text
    mixed = two_columns(150)
    mixed["when"] = pd.date_range("2020-01-01", periods=150)
    mixed["soil"] = rng.choice(["clay", "sand", None], 150)
    mixed["wet"] = rng.random(150) > 0.5
    for name in ("height", "girth"):
        mixed.loc[rng.random(150) < 0.7, name] = np.nan
    sound(compare(mixed, "tree", folds=2, models=["lda", "naive-bayes"]))


def test_models_that_failed_or_were_stopped_are_named_with_the_reason(trees, short_pages):
    stopped = [Entry("erm", "timeout", "took longer than 3 s"), Entry("qda", "failed", "a <b>singular</b> covariance")]
    page = sound(replace(trees, entries=[*trees.entries, *stopped], interrupted=True))
    assert "took longer than 3 s" in page.text
    assert "a <b>singular</b> covariance" in page.text
    assert "was interrupted" in page.text


def test_where_nothing_was_finished_the_report_says_so(unfinished):
    assert "No model was finished." in sound(unfinished).text


@pytest.mark.parametrize(("loss", "model"), [("log", "lda"), ("brier", "gaussian-nb")])
def test_losses_of_probabilities(loss, model):
    sound(compare(two_columns(60), "tree", loss=loss, folds=2, models=[model]))


def test_the_file_is_written_whole_or_not_at_all(unfinished, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    write_report(unfinished, path)
    assert path.read_text(encoding="utf-8") == report_html(unfinished)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AssayError, match="No space left"):
        write_report(unfinished, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(AssayError, match="does not exist"):
        write_report(unfinished, tmp_path / "nowhere" / "report.html")


def test_what_fails_becomes_a_sentence_and_the_rest_is_there(two_models, monkeypatch):
    from assay import plots
    from assay.report import model, page

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("no such <picture>")

    monkeypatch.setattr(plots, "margin_distribution", fails)
    monkeypatch.setattr(model, "SECTIONS", (fails, *model.SECTIONS[1:]))
    monkeypatch.setattr(page, "worker_count", lambda: 1)
    found = Page(report_html(two_models))
    assert "This figure could not be drawn: RuntimeError: no such <picture>" in found.text
    assert found.text.count("This part could not be made: RuntimeError: no such <picture>") == len(two_models.done) == 2
    assert "How to reproduce" in found.text
    monkeypatch.setattr(page, "details", lambda found, name, dear: fails() if name == "lda" else None)
    assert "This part could not be made: RuntimeError: no such <picture>" in Page(report_html(two_models)).text


def test_a_page_whose_process_ended_badly_says_so_and_an_interrupt_ends_the_report():
    from assay.processes.supervisor import Outcome
    from assay.report.page import _content_of

    assert "could not be made: took 3 GB" in str(_content_of(Outcome("lda", "memory", message="took 3 GB")))
    with pytest.raises(KeyboardInterrupt):
        _content_of(Outcome("lda", "interrupted"))


def test_past_the_deadline_of_a_budget_there_are_pages_of_the_recommended_and_the_best_model_alone(trees, monkeypatch):
    from assay.report import page
    from assay.selection.comparison import Comparison

    asked = []
    monkeypatch.setattr(Comparison, "time_is_up", True)
    monkeypatch.setattr(page, "worker_count", lambda: 1)
    monkeypatch.setattr(page, "details", lambda found, name, dear: asked.append((name, dear)))
    text = Page(report_html(trees)).text
    assert {name for name, _ in asked} == {trees.recommended, trees.best}
    assert not any(dear for _, dear in asked)
    assert text.count(page.TIME_WAS_UP) == len(trees.done) - len(asked)


def unfolded(page: Page) -> list[bool]:
    """Of each model's page whether it is open."""
    return [
        "open" in attributes
        for tag, attributes in page.elements
        if (tag, attributes.get("class")) == ("details", "model")
    ]


def test_only_the_recommended_model_is_unfolded_unless_others_are_asked_for(trees, trees_html, short_pages):
    assert unfolded(Page(trees_html)) == [True, False, False, False, False]  # the recommended one comes first
    assert unfolded(Page(report_html(trees, "all"))) == [True] * 5
    assert sum(unfolded(Page(report_html(trees, ["knn", "baseline"])))) == 1  # knn did not take part
    with pytest.raises(AssayError, match="no model 'forrest'"):
        report_html(trees, ["forrest"])


def test_the_title_is_the_name_of_the_file_not_its_path(trees, monkeypatch):
    from assay.report import page

    monkeypatch.setattr(page, "_content", lambda *_: None)
    monkeypatch.setattr(page, "worker_count", lambda: 1)
    text = report_html(replace(trees, where="'/home/me/data/oaks & elms.csv'"))
    assert "<h1>Which model for tree of oaks &amp; elms.csv?</h1>" in text
    assert "<title>Assay: Which model for tree of oaks &amp; elms.csv</title>" in text


def test_margins_beyond_all_numbers_are_said_and_not_drawn():
    """A rectangle that is empty is as far from every row as can be."""
    from assay import plots

    class Far:
        classes_ = np.array([0, 1])

        def decision_function(self, X):
            return np.where(X[:, 0] > 0, 1.0, -np.finfo(float).max)

        def predict(self, X):
            return self.classes_[(X[:, 0] > 0).astype(int)]

    axes = plots.margin_distribution(Far(), np.array([[1.0], [2.0], [-1.0]]), [0, 1, 0])
    assert "1 of 3 rows are beyond all numbers" in " ".join(t.get_text() for t in axes.texts)


def test_without_matplotlib_the_error_says_what_to_install(trees, monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'assay-ml[plot]'")):
        check_possible()
    with pytest.raises(MissingExtraError):
        report_html(trees)


def test_real_tables_stay_below_three_megabytes(data_dir: Path):
    sound(compare(str(data_dir / "heart_cleveland.csv"), "target", folds=2, without=["erm", "logistic-regression"]))


def test_every_colour_of_words_stands_out_from_every_ground_by_the_factor_that_wcag_asks_for():
    from assay.report.page import CSS

    def luminance(colour: str) -> float:
        digits = colour.lstrip("#")
        digits = "".join(d * 2 for d in digits) if len(digits) == 3 else digits
        c = np.array([int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)])
        return float(np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])

    schemes = re.findall(r":root\{(color-scheme[^}]*|--paper[^}]*)\}", CSS)
    assert len(schemes) == 3  # light, dark, paper
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+):(#\w+)", scheme))
        for words in ("ink", "soft", "link", "good", "bad", "mild"):
            for ground in ("paper", "card", "tint"):
                a, b = sorted((luminance(colours[words]), luminance(colours[ground])))
                assert (b + 0.05) / (a + 0.05) >= 4.5, (scheme, words, ground)


def test_a_report_on_one_saved_model_asks_how_good_it_is_and_says_on_which_rows():
    from assay.selection.model_report import comparison_of

    train = two_columns(90)
    model = compare(train, "tree", folds=3, models=["gaussian-nb"])["gaussian-nb"].model
    for table, said in (
        (train, "These are rows that the model was fitted on"),
        (two_columns(80, seed=1), "rows of another table than that of the fit (all 80 of them)"),
    ):
        page = sound(comparison_of(model, table))
        assert "How good is gaussian-nb for tree on" in page.text
        assert said in page.text
        for words in (
            "Which model",
            "Risk of every model",
            "recommended",
            "never saw (",
            "Learning curve Fitted",
            "assay compare",
        ):
            assert words not in page.text
        assert page.text.count("95 % interval interval is better is") == 1


def test_rankings_of_numbers_lead_with_rmse_and_r2_and_a_failure_spans_its_row():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=60)})
    table["price"] = 3 * table["a"] + rng.normal(size=60)
    found = compare(table, "price", resampling="holdout", models=["linear-regression", "baseline"])
    found.entries.append(Entry("knn", "failed", "out of memory"))
    page = sound(found)
    assert "model RMSE 95 % interval MAE R²" in page.text
    spans = [a["colspan"] for tag, a in page.elements if tag == "td" and "colspan" in a]
    assert spans == ["8"]
