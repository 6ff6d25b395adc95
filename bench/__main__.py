"""`python -m bench [WORKLOAD …] [--rounds N]`: run the workloads (all by default) and write bench/results.md."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from bench.harness import Line, run_race
from bench.report import markdown

WORKLOADS = ["naive_bayes", "discriminant", "least_squares", "linear_models", "sparse", "cold_start", "stream_memory"]
RESULTS = Path(__file__).with_name("results.md")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS, help=f"of: {', '.join(WORKLOADS)}")
    parser.add_argument("--rounds", type=int, default=15, help="turns a contender (the minimum counts)")
    chosen = parser.parse_args()
    lines: list[Line] = []
    notes: list[str] = []
    for name in chosen.workloads:
        module = import_module(f"bench.workloads.{name}")
        for race in module.races():
            new = run_race(race, chosen.rounds)
            lines += new
            for line in new:
                print(f"{line.title:<48} {line.contender:<28} {line.seconds * 1e3:10.2f} ms {line.ratio:8.2f}x  "
                      f"{line.agreement:<34} {line.wanted} {'' if line.reached is None else line.reached}", flush=True)  # fmt: skip
        for note in module.notes() if hasattr(module, "notes") else []:
            notes.append(note)
            print(note, flush=True)
    if set(chosen.workloads) == set(WORKLOADS):
        RESULTS.write_text(markdown(lines, notes))
        print(f"wrote {RESULTS.name}")


if __name__ == "__main__":
    main()
