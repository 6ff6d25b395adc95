"""What tests of the studio's page do again and again: open figures, wait, read what is shown."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

SHOTS = Path(__file__).parent / "studio" / "shots"
DONE = "assayStudio.panels.length && assayStudio.panels.every(p => (p.ended && !p.streaming) || p.error)"


def wait(page: Any, condition: str, arg: Any = None, seconds: float = 60) -> None:
    """Until a JavaScript expression (or function of `arg`) is true. The page's policy forbids the browser's own waiting by eval."""
    until = time.monotonic() + seconds
    while not page.evaluate(condition, arg):
        assert time.monotonic() < until, f"waited {seconds} s in vain for {condition}"
        page.wait_for_timeout(50)


def role(page: Any, name: str) -> Any:
    """The first element that has this role for tests."""
    return page.locator(f'[data-role="{name}"]').first


def open_figure(page: Any, name: str) -> None:
    """Press a figure's button in the gallery."""
    role(page, "tab-figures").click()
    role(page, f"preset-{name}").click()
    wait(page, "name => document.querySelector('#look').dataset.of === name", arg=name)


def wait_until_done(page: Any) -> None:
    """Until every panel has its fitted model (or says why not)."""
    wait(page, DONE)


def to_the_end(page: Any) -> None:
    """Show the fitted models."""
    wait_until_done(page)
    role(page, "to-end").click()
    wait(page, "assayStudio.position === assayStudio.length - 1")


def panels(page: Any) -> list[dict[str, Any]]:
    """What each panel says of itself."""
    wanted = "({model, params, frame, frames, ended, streaming, classes, view, error, answered})"
    found: list[dict[str, Any]] = page.evaluate(f"assayStudio.panels.map({wanted} => {wanted})")
    return found


def colours(page: Any, panel: int, places: np.ndarray) -> list[int | None]:
    """The classes whose colours a panel shows at places of its view."""
    script = "([i, places]) => { const p = assayStudio.panels[i]; return places.map(([x, y]) => p.colourAt(x, y)); }"
    found: list[int | None] = page.evaluate(script, [panel, places.tolist()])
    return found


def in_view(values: Any, view: dict[str, list[float]]) -> np.ndarray:
    """Values of a curve where they can be seen, as shares of the view's height."""
    low, high = view["y"]
    return (np.clip(values, low, high) - low) / (high - low)


def clear_places(model: Any, view: dict[str, list[float]], n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Places of a view, and the model's answers there, where all places within two cells of a picture are answered alike."""
    random = np.random.default_rng(seed)
    low, high = (np.array([view["x"][k], view["y"][k]]) for k in (0, 1))
    near = (high - low) * 2 / 128
    places = low + near + (high - low - 2 * near) * random.random((n, 2))
    answers = model.predict(places)
    around = [model.predict(places + near * way) for way in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
    clear = np.all([answers == other for other in around], axis=0)
    return places[clear], answers[clear]


def pixel(page: Any, panel: int, at: Any) -> tuple[float, float]:
    """Where a place of a panel's view lies on the screen."""
    script = "([i, x, y]) => assayStudio.panels[i].pixel(x, y)"
    x, y = page.evaluate(script, [panel, float(at[0]), float(at[1])])
    return x, y


def shoot(page: Any, name: str) -> None:
    """Keep a picture of the page, to be looked at."""
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")
