"""Cases drawn one after another from one seed, on a ground that is laid once: so many of them, or as many as some minutes hold."""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol


class Ground(Protocol):
    """Where cases happen: what was found wrong in one, how they ended, and whether another is possible."""

    counts: Counter[str]

    def case(self, rng: random.Random) -> list[str]: ...

    def is_over(self) -> bool: ...


Laid = Callable[[], AbstractContextManager[Ground]]


def run_cases(laid: Laid, seed: int, cases: int) -> list[str]:
    """What was found wrong in so many cases."""
    rng = random.Random(seed)
    with laid() as ground:
        return [finding for _ in range(cases) for finding in ground.case(rng)]


def run_minutes(laid: Laid, description: str | None, noun: str) -> int:
    """The command line of a harness: --seed and --minutes or --cases; the exit code says whether anything was found."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--cases", type=int, help="so many instead")
    asked = parser.parse_args()
    rng, until, found, n = random.Random(asked.seed), time.monotonic() + 60 * asked.minutes, 0, 0
    with laid() as ground:
        while (time.monotonic() < until if asked.cases is None else n < asked.cases) and not ground.is_over():
            n += 1
            for finding in ground.case(rng):
                found += 1
                print(f"seed {asked.seed}, case {n}: {finding}", flush=True)
        print(f"seed {asked.seed}: {n} {noun}, {found} findings; {dict(sorted(ground.counts.items()))}")
    return 1 if found else 0
