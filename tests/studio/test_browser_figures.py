"""In a real browser: figures show shapes and angles as they are, say what their signs mean, and are whole while they play."""

from __future__ import annotations

import pytest
from browsing import open_figure, role, to_the_end, wait, wait_until_done

DRAWN = """() => [...document.querySelectorAll('[data-role="panel-0"] .role-sample')].map(
    (c) => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v > 0))"""


def _only_the_first_two_lines(route):
    """A play that has not got farther yet than its beginning and its first step."""
    answer = route.fetch()
    route.fulfill(response=answer, body="".join(answer.text().splitlines(keepends=True)[:2]))


@pytest.mark.parametrize("name", ["worked-example", "equal-isotropic", "three-or-five", "circles"])
def test_a_circle_and_a_right_angle_are_seen_as_such(opened, name):
    page = opened(name)
    wait_until_done(page)
    kx, ky = page.evaluate("(({kx, ky}) => [kx, ky])(assayStudio.panels[0].plane.scale)")
    assert kx == pytest.approx(ky, rel=0.02)


def test_the_error_surface_is_asked_for_before_the_last_step_is_there(opened):
    page = opened("coins")
    wait_until_done(page)
    page.route("**/api/play", _only_the_first_two_lines)
    open_figure(page, "oaks-descent")
    wait(page, "!document.querySelector('[data-role=\"surface\"]').hidden")
    assert page.evaluate("assayStudio.panels[0].frames") == 1
    page.unroute("**/api/play")
    open_figure(page, "oaks-descent")
    wait_until_done(page)
    wait(page, "!document.querySelector('[data-role=\"surface\"]').hidden")
    assert "mean squared error" in role(page, "surface").inner_text()
    assert role(page, "risk-what").inner_text() == "Mean squared error"


def test_every_switch_of_the_legend_shows_its_sign_in_both_themes(opened):
    page = opened("circles")
    to_the_end(page)
    names = page.locator('[data-role="panel-1"] .role').all_inner_texts()
    assert {"boundary", "margin", "support vectors"} <= {name.strip() for name in names}
    assert len(page.evaluate(DRAWN)) >= 3
    assert all(page.evaluate(DRAWN))
    role(page, "theme").click()
    assert all(page.evaluate(DRAWN))


def test_a_form_says_infinity_and_an_emptied_number_comes_back(opened):
    page = opened("widest-margin")
    wait_until_done(page)
    panel = page.locator('[data-role="panel-0"]')
    panel.locator('[data-role="settings"] summary').click()
    word = panel.locator('select[data-param="C"]')
    assert word.input_value() == "inf"
    word.select_option("number")
    number = panel.locator('input[type="number"][data-param="C"]')
    number.fill("2.5")
    number.press("Tab")
    wait(page, "assayStudio.panels[0].params.C === 2.5")
    number.fill("")
    number.press("Tab")
    assert number.input_value() == "2.5"


def test_the_fitted_network_comes_after_its_last_epoch(opened):
    page = opened("network-ring")
    to_the_end(page)
    where = page.locator("#where").inner_text()
    assert where.startswith("after epoch ")
    assert role(page, "caption").inner_text().startswith(f"{where}: ")
    number = where.removeprefix("after epoch ")
    page.evaluate("document.querySelector('[data-role=\"back\"]').click()")
    wait(page, "assayStudio.position === assayStudio.length - 2")
    assert page.locator("#where").inner_text().endswith(f" of {number}")
