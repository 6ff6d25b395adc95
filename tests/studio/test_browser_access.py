"""In a real browser: no serious barrier, all by keyboard, no motion for those who want none, pictures to look at."""

from __future__ import annotations

import pytest
from browsing import open_figure, role, shoot, to_the_end, wait, wait_until_done

SIZES = {"wide": (1440, 900), "middle": (1024, 700), "phone": (390, 844)}
FIGURES = ["worked-example", "three-estimated", "oaks-descent", "forest-votes"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_its_width_and_is_kept_as_a_picture(opened, scheme, size):
    width, height = SIZES[size]
    page = opened(color_scheme=scheme, viewport={"width": width, "height": height}, has_touch=size == "phone")
    for name in FIGURES if (scheme, size) == ("light", "wide") else FIGURES[1 : 3 if scheme == "light" else 2]:
        open_figure(page, name)
        to_the_end(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        shoot(page, f"{name}-{size}-{scheme}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(opened, axe, scheme):
    page = opened("worked-example", color_scheme=scheme)
    to_the_end(page)
    page.evaluate(axe)
    found = []
    for prepare in (None, "open", "tab-table", "tab-draw"):
        if prepare == "open":
            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        elif prepare:
            role(page, prepare).click()
        for violation in page.evaluate("axe.run()")["violations"]:
            if violation["impact"] in ("serious", "critical"):
                found.append((prepare, violation["id"], [node["html"][:120] for node in violation["nodes"]][:3]))
    assert found == []


def test_everything_is_reached_and_used_by_keyboard_alone(opened):
    page = opened("three-or-five")
    wait_until_done(page)
    reached = []
    for _ in range(150):
        page.keyboard.press("Tab")
        now = page.evaluate("document.activeElement.getAttribute('data-role') ?? document.activeElement.id")
        reached.append(now)
        if now == "compare-start":
            break
    wanted = {"tab-figures", "play", "step", "back", "scrub", "speed", "model", "plane", "add-panel", "compare-start"}
    assert wanted <= set(reached)
    assert any(name.startswith("preset-") for name in reached)


def test_keys_play_step_and_jump(opened):
    page = opened("worked-example")
    wait_until_done(page)
    role(page, "to-end").focus()
    position = "assayStudio.position"
    page.keyboard.press("Home")
    assert page.evaluate(position) == 0
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(position) == 2
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(position) == 1
    page.keyboard.press("End")
    assert page.evaluate("assayStudio.position === assayStudio.length - 1")


def test_the_worked_example_shows_the_arithmetic_of_the_notes(opened):
    page = opened("worked-example")
    wait_until_done(page)
    role(page, "to-end").focus()
    page.keyboard.press("Home")
    lines = []
    for _ in range(page.evaluate("assayStudio.length")):
        lines.append(role(page, "arithmetic").inner_text())
        page.keyboard.press("ArrowRight")
    told = " ".join(lines).replace("−", "-")
    for weights in ("(0, -1, 1)", "(1, 1, 0)", "(0, 0, -3)", "(1, 2, -2)"):
        assert weights in told


def test_without_motion_the_finished_model_is_shown_and_nothing_plays(opened):
    page = opened("five-passes", reduced_motion="reduce")
    wait_until_done(page)
    wait(page, "assayStudio.position === assayStudio.length - 1")
    assert not page.evaluate("assayStudio.playing")
    assert page.evaluate("assayStudio.frameTimes.length") == 0


def test_playing_keeps_up_with_the_screen(opened):
    page = opened("five-passes")
    wait_until_done(page)
    role(page, "speed").fill(role(page, "speed").get_attribute("max"))
    role(page, "to-start").click()
    page.evaluate("assayStudio.frameTimes.length = 0")
    if not page.evaluate("assayStudio.playing"):
        role(page, "play").click()
    page.wait_for_timeout(1200)
    times = sorted(page.evaluate("assayStudio.frameTimes"))
    assert times[len(times) // 2] < 50  # ms; a quiet machine has 17, this test may share one
