"""One harness: contenders take turns, the minimum of several rounds counts, results must agree, ratios are printed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PAUSE = 0.05  # seconds: threads of the contender before may still be spinning
SHORT, IN_A_ROW = (
    0.5,
    3,
)  # what takes less seconds runs a few times in a row: cores that have slept take tens of milliseconds to be fast again


@dataclass(frozen=True)
class Contender:
    """Something that is timed. `run` returns what `agree` compares; `rounds` caps the turns of a slow one (0: so slow that the first turn counts)."""

    name: str
    run: Callable[[], Any]
    rounds: int = 15


@dataclass(frozen=True)
class Target:
    """ours must be `at_least` times as fast as the contender named, or take `at_most` times its time.

    `within` is for a contender of our own: it must take at most so many seconds.
    """

    against: str
    at_least: float | None = None
    at_most: float | None = None
    within: float | None = None


@dataclass
class Race:
    """A workload: the contenders (ours first), what agreement means, and what is to be reached."""

    title: str
    contenders: list[Contender]
    agree: Callable[[Any, Any], str]
    targets: list[Target] = field(default_factory=list)
    judge: dict[str, Callable[[Any, Any], str]] = field(
        default_factory=dict
    )  # other notions of agreement, by contender


@dataclass(frozen=True)
class Line:
    """One line of the results: a contender's time, our ratio to it, agreement, and the verdict on a target."""

    title: str
    contender: str
    seconds: float
    ratio: float
    agreement: str
    wanted: str
    reached: bool | None


def run_race(race: Race, rounds: int) -> list[Line]:
    """Let all contenders take turns; the first turn warms caches and is not counted."""
    results, best = {}, {}
    for c in race.contenders:
        start = time.perf_counter()
        results[c.name] = c.run()
        best[c.name] = float("inf") if c.rounds else time.perf_counter() - start
    for turn in range(rounds):
        for c in race.contenders:
            if turn >= c.rounds:
                continue
            time.sleep(PAUSE)
            for _ in range(IN_A_ROW):
                start = time.perf_counter()
                results[c.name] = c.run()
                taken = time.perf_counter() - start
                best[c.name] = min(best[c.name], taken)
                if taken > SHORT:
                    break
    ours = race.contenders[0].name
    lines = []
    for c in race.contenders:
        target = next((t for t in race.targets if t.against == c.name), None)
        ratio = best[c.name] / best[ours]
        judge = race.judge.get(c.name, race.agree)
        agreement = "" if c.name == ours else judge(results[ours], results[c.name])
        lines.append(Line(race.title, c.name, best[c.name], ratio, agreement, *_verdict(target, ratio, best[c.name])))
    return lines


def _verdict(target: Target | None, ratio: float, seconds: float) -> tuple[str, bool | None]:
    if target is None:
        return "", None
    if target.within is not None:
        return f"≤ {target.within:g} s", seconds <= target.within
    if target.at_least is not None:
        return f"≥ {target.at_least:g}×", ratio >= target.at_least
    assert target.at_most is not None
    return f"ours ≤ {target.at_most:g}× of it", 1 / ratio <= target.at_most
