"""Certificates under fire: cases by seed, each asked all questions, what is found made small and written down.

python tests/fuzz/certificates.py --seed 0 --cases 1000
python tests/fuzz/certificates.py --minutes 10 --model svc
"""

from __future__ import annotations

import argparse
import faulthandler
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.case import Case, draw_case
from fuzz.questions import Finding, Refused, questions
from fuzz.shrink import shrunk

FOLDER = Path(__file__).resolve().parent / "findings"
SLOW = (
    150  # seconds of computing after which a case counts as hanging: loops that are met for the first time are compiled
)
HANGS = 1800  # seconds after which the process is ended: a compiled loop cannot be interrupted
WATCHED = 20  # cases for which one watch is set: setting it costs milliseconds


@contextmanager
def guarded(seconds: float = SLOW) -> Iterator[None]:
    """An error after so many seconds of computing."""

    def ring(signum: int, frame: object) -> None:
        raise TimeoutError(f"longer than {seconds} s of computing")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def asked(case: Case, refused: Counter[str] | None = None) -> list[Finding]:
    """The findings of a case; a refusal is none, and is counted."""
    try:
        with guarded():
            return questions(case)
    except Refused:
        if refused is not None:
            refused[case.name] += 1
        return []


def run(
    seed: int,
    cases: int | None,
    *,
    minutes: float = float("inf"),
    model: str | None = None,
    shrink: bool = True,
    folder: Path = FOLDER,
) -> list[Finding]:
    """The findings of so many cases from a seed on, one a cause, each as small as it can be made."""
    until, found, refused, times = time.monotonic() + 60 * minutes, {}, Counter(), Counter()
    number = 0
    folder.mkdir(parents=True, exist_ok=True)
    while (cases is None or number < cases) and time.monotonic() < until:
        if number % WATCHED == 0:
            faulthandler.dump_traceback_later(HANGS, exit=True)
        case = draw_case(seed + number, model)
        (folder / "running").write_text(f"{seed + number} {case.name}\n")
        for finding in asked(case, refused):
            times[finding.key] += 1
            if finding.key not in found:
                found[finding.key] = shrunk(finding, asked) if shrink else finding
                write_down(found[finding.key], seed + number, folder)
        number += 1
    faulthandler.cancel_dump_traceback_later()
    print(f"certificates: {number} cases from seed {seed}, {sum(refused.values())} refused, {len(found)} findings")
    for key, many in times.most_common():
        print(f"  {many:5} {key}")
    return list(found.values())


def write_down(finding: Finding, seed: int, folder: Path) -> None:
    """Write a finding down: what it is, its seed, and a script that shows it."""
    name = "".join(c if c.isalnum() else "-" for c in finding.key)[:100]
    (folder / f"{name}.py").write_text(
        f'"""{finding.key} (seed {seed})\n\n{finding.text}\n"""\n\n{finding.case.code}\n'
    )
    print(f"FOUND seed {seed} {finding.key}\n      {finding.text[:300]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--model")
    parser.add_argument("--as-drawn", action="store_true", help="do not make findings smaller")
    parser.add_argument("--findings", type=Path, default=FOLDER, help="the folder for them")
    given = parser.parse_args()
    more = {"minutes": given.minutes, "model": given.model, "shrink": not given.as_drawn, "folder": given.findings}
    return bool(run(given.seed, given.cases, **more))


if __name__ == "__main__":
    sys.exit(main())
