"""In a real browser: a table is uploaded, a model saved and reloaded, models compared, the report opened."""

from __future__ import annotations

import numpy as np
import pytest
from browsing import clear_places, colours, panels, role, to_the_end, wait, wait_until_done

import assay
from assay.datasets import dataset


@pytest.fixture
def papayas(tmp_path):
    """A file of the user's own: fewer rows, other names."""
    table = dataset("papayas")
    lines = [f"{a},{b},{c}" for (a, b), c in zip(table.X[:200], table.y[:200])]
    path = tmp_path / "my fruit.csv"
    path.write_text("\n".join(["soft,red,verdict", *lines]), encoding="utf-8")
    return path


def test_an_uploaded_table_is_learnt_from(opened, papayas):
    page = opened()
    role(page, "tab-table").click()
    page.set_input_files('[data-role="table-file"]', papayas)
    wait(page, "assayStudio.data.table !== undefined")
    page.select_option('[data-role="table-target"]', "verdict")
    page.select_option('[data-role="panel-0"] [data-role="model"]', "decision-tree")
    wait(page, "assayStudio.panels[0].model === 'decision-tree' && assayStudio.panels[0].classes?.includes('tasty')")
    to_the_end(page)
    panel = panels(page)[0]
    assert sorted(panel["classes"]) == ["not tasty", "tasty"]
    table = dataset("papayas")
    model = assay.DecisionTreeClassifier().fit(table.X[:200], table.y[:200])
    places, answers = clear_places(model, panel["view"])
    assert np.mean(np.array(panel["classes"])[colours(page, 0, places)] == answers) > 0.98
    assert "verdict" in role(page, "panel-0").locator('[data-role="shell"]').text_content()


def test_a_file_that_is_no_table_is_refused_in_words(opened, tmp_path):
    page = opened()
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    role(page, "tab-table").click()
    page.set_input_files('[data-role="table-file"]', tmp_path / "empty.csv")
    words = page.locator("#own-table [role=alert]")
    words.wait_for(state="visible")
    assert words.inner_text().strip()


def test_a_saved_model_answers_in_python_and_is_shown_again_from_its_file(opened, tmp_path):
    page = opened("circles")
    to_the_end(page)
    with page.expect_download() as download:
        role(page, "panel-1").locator('[data-role="save-model"]').click()
    path = tmp_path / "saved.assay"
    download.value.save_as(path)
    model = assay.load(path)
    page.set_input_files("#model-file", path)
    wait(page, "assayStudio.panels.length === 3")
    to_the_end(page)
    panel = panels(page)[2]
    random = np.random.default_rng(1)
    places = random.uniform(-2, 2, (60, 2))
    places = places[np.abs(np.linalg.norm(places, axis=1) - 1.15) > 0.15]
    answers = model.predict({"x": places[:, 0], "y": places[:, 1]})
    assert [panel["classes"][k] for k in colours(page, 2, places)] == np.asarray(answers).tolist()


def test_compare_fills_its_table_and_the_report_opens(opened):
    page = opened("wide-margin")
    wait_until_done(page)
    page.locator("#compare-seconds").fill("5")
    role(page, "compare-start").click()
    state, done = page.locator("#compare-state"), page.locator('[data-role="open-report"], #compare-state [role=alert]')
    done.wait_for(timeout=150_000)
    assert state.locator("[role=alert]").count() == 0, state.inner_text()
    assert page.locator('[data-role="compare-table"] tbody tr').count() >= 15
    role(page, "open-report").click()
    frame = page.frame_locator('[data-role="report-frame"]')
    frame.locator("h1").first.wait_for()
    assert frame.locator("table").count() >= 1
    page.keyboard.press("Escape")
