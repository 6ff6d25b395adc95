"""In a real browser: points are dragged, added, removed and kept, by mouse and by keyboard."""

from __future__ import annotations

import numpy as np
from browsing import clear_places, colours, panels, pixel, role, to_the_end, wait, wait_until_done

from assay import KNeighborsClassifier, LogisticRegression

PATIENT = 3000  # ms: what a dragged point may take on a machine that has much else to do; the bench measures what it does take


GOAL = (-1.5, -1.5)


def points_of(page):
    """The drawn points as arrays."""
    points = page.evaluate("assayStudio.points")
    return np.array([(p["x"], p["y"]) for p in points]), np.array([p["label"] for p in points])


def test_a_dragged_point_is_learnt_from_at_once(opened):
    page = opened("one-neighbour")
    to_the_end(page)
    X, y = points_of(page)
    i = int(np.argmax(X[:, 0]))
    x0, y0 = pixel(page, 0, X[i])
    page.mouse.move(x0, y0)
    page.mouse.down()
    page.mouse.move(*pixel(page, 0, GOAL), steps=5)
    wait(page, "assayStudio.panels[0].answered > 0")
    page.mouse.up()
    moved, labels = points_of(page)
    assert np.abs(moved[i] - GOAL).max() < 0.05
    assert (labels == y).all()
    assert np.delete(moved, i, axis=0).tolist() == np.delete(X, i, axis=0).tolist()
    assert panels(page)[0]["answered"] < PATIENT
    page.wait_for_timeout(600)
    to_the_end(page)
    model = KNeighborsClassifier(n_neighbors=1).fit(moved, labels)
    places, answers = clear_places(model, panels(page)[0]["view"])
    assert [panels(page)[0]["classes"][k] for k in colours(page, 0, places)] == answers.tolist()


def test_a_point_is_added_and_removed_by_keyboard_and_both_are_undone(opened):
    page = opened("three-or-five")
    wait_until_done(page)
    before, _ = points_of(page)
    role(page, "plane").focus()
    page.keyboard.press("n")
    page.keyboard.press("Delete")
    without, _ = points_of(page)
    assert without.tolist() == before[1:].tolist()
    for key in ("Escape", "ArrowUp", "ArrowUp", "ArrowRight", "2", "Enter"):
        page.keyboard.press(key)
    added, labels = points_of(page)
    assert len(added) == len(before)
    assert labels[-1] == "B"
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    assert points_of(page)[0].tolist() == before.tolist()


def test_a_point_is_moved_by_keyboard(opened):
    page = opened("three-or-five")
    wait_until_done(page)
    before, _ = points_of(page)
    role(page, "plane").focus()
    for key in ("n", "Enter", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    after, _ = points_of(page)
    assert after[0, 0] > before[0, 0]
    assert after[1:].tolist() == before[1:].tolist()


def test_drawn_points_are_learnt_from_and_survive_a_reload(opened):
    page = opened("three-or-five")
    role(page, "tab-draw").click()
    role(page, "draw-classes").click()
    for label, places in (("0", [(-3, -2), (-2, -3), (-1, -2.5)]), ("1", [(3, 2), (2, 3), (1, 2.5)])):
        role(page, f"class-{label}").check(force=True)
        for at in places:
            page.mouse.click(*pixel(page, 0, at))
    wait(page, "assayStudio.points.length === 6")
    page.wait_for_timeout(600)
    to_the_end(page)
    X, y = points_of(page)
    assert sorted(y) == ["A"] * 3 + ["B"] * 3
    page.select_option('[data-role="panel-0"] [data-role="model"]', "logistic-regression")
    page.wait_for_timeout(600)
    to_the_end(page)
    places, answers = clear_places(LogisticRegression().fit(X, y), panels(page)[0]["view"])
    assert [panels(page)[0]["classes"][k] for k in colours(page, 0, places)] == answers.tolist()
    page.reload()
    wait(page, "window.assayStudio?.ready")
    assert points_of(page)[0].tolist() == X.tolist()


def test_a_refused_setting_says_beside_its_field_what_is_allowed_and_loses_nothing(opened):
    page = opened("three-or-five")
    to_the_end(page)
    role(page, "panel-0").locator('[data-role="settings"] summary').click()
    field = role(page, "panel-0").locator('[data-field="n_neighbors"] input').first
    field.fill("40")
    field.press("Enter")
    wait(page, "assayStudio.panels[0].error !== ''")
    words = role(page, "panel-0").locator("[role=alert]:visible")
    assert "n_neighbors" in words.first.inner_text()
    assert len(points_of(page)[0]) == 14
    field.fill("3")
    field.press("Enter")
    wait(page, "assayStudio.panels[0].error === ''")
