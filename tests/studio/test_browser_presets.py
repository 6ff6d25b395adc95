"""In a real browser: every figure plays to its end, and the canvas shows what the library's own models answer."""

from __future__ import annotations

import numpy as np
import pytest
from browsing import clear_places, colours, in_view, open_figure, panels, role, wait, wait_until_done
from figures import fitted

from assay.studio.presets import PRESETS

LAST = 6  # frames that are watched


@pytest.fixture(scope="module")
def page(chromium, studio_url):
    """One tab for all figures."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(studio_url)
    wait(page, "window.assayStudio?.ready")
    yield page
    context.close()


def play_to_the_end(page):
    """Let the player run over the last frames by itself, as fast as it goes."""
    role(page, "speed").fill(role(page, "speed").get_attribute("max"))
    page.evaluate(f"""() => {{
        const scrub = document.querySelector('[data-role="scrub"]');
        scrub.value = Math.max(0, assayStudio.length - {LAST});
        scrub.dispatchEvent(new Event("input"));
    }}""")
    if not page.evaluate("assayStudio.playing"):
        role(page, "play").click()
    wait(page, "!assayStudio.playing && assayStudio.position === assayStudio.length - 1")


@pytest.mark.parametrize("name", list(PRESETS))
def test_a_preset_plays_to_its_end_and_shows_what_its_models_answer(page, name):
    preset = PRESETS[name]()
    open_figure(page, name)
    assert preset["look"][0] in page.locator("#look").inner_text()
    wait_until_done(page)
    play_to_the_end(page)
    shown = panels(page)
    assert [(p["model"], p["error"]) for p in shown] == [(p["model"], "") for p in preset["panels"]]
    for i, model in enumerate(fitted(name)[0]):
        if preset["task"] == "classes":
            places, answers = clear_places(model, shown[i]["view"])
            seen = [shown[i]["classes"][k] for k in colours(page, i, places)]
            assert np.sum(np.array(seen) != answers) <= max(1, 0.02 * len(answers))  # one may lie on the edge of a cell
        else:
            curve = page.evaluate("i => assayStudio.panels[i].plane.picture.curve", i)
            answers = model.predict(np.array(curve["x"])[:, None])
            assert np.abs(in_view(curve["y"], preset["view"]) - in_view(answers, preset["view"])).max() < 1e-3


@pytest.mark.parametrize("name", ["circles", "kernel-reach"])
def test_the_screen_itself_has_one_colour_a_class(page, name):
    open_figure(page, name)
    wait_until_done(page)
    role(page, "to-end").click()
    (model, *_), X, _ = fitted(name)
    places, answers = clear_places(model, panels(page)[0]["view"], n=200)
    far = np.array([np.abs(X - at).max(axis=1).min() > 0.25 for at in places])
    colour = page.evaluate(
        """places => {
            const {plane} = assayStudio.panels[0], {canvas} = plane, box = canvas.getBoundingClientRect();
            const ratio = canvas.width / box.width, context = canvas.getContext("2d");
            return places.map(([x, y]) => [...context.getImageData(plane.scale.x(x) * ratio, plane.scale.y(y) * ratio, 1, 1).data].slice(0, 3));
        }""",
        places[far].tolist(),
    )
    colour, answers = np.array(colour, dtype=float), answers[far]
    means = {label: np.median(colour[answers == label], axis=0) for label in set(answers)}
    nearest = [min(means, key=lambda label: np.linalg.norm(means[label] - c)) for c in colour]
    assert len(means) == 2
    assert np.mean(np.array(nearest) == answers) > 0.9
