"""All harnesses by turns, until the time is over; the exit code says whether anything was found.

    python tests/fuzz --minutes 60 --seed 0

Each turn goes on from the seeds of the last one. What is found stands in tests/fuzz/findings.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

#: a harness is a module of this folder with `run(seed, cases)`, which returns its findings; with the cases of one turn
TURNS = {"certificates": 310, "files": 300, "http_bodies": 200, "kills": 5}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    until, found, turn = time.monotonic() + 60 * given.minutes, 0, 0
    while turn == 0 or time.monotonic() < until:
        for name, cases in TURNS.items():
            if (HERE / f"{name}.py").exists() and (turn == 0 or time.monotonic() < until):
                seed = given.seed + turn * cases
                findings = importlib.import_module(f"fuzz.{name}").run(seed, cases)
                print(f"{name}: {cases} cases from seed {seed}: {len(findings)} findings", flush=True)
                print("".join(f"  {str(finding)[:300]}\n" for finding in findings), end="", flush=True)
                found += len(findings)
        turn += 1
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
