"""`python -m bench [WORKLOAD …] [--rounds N]`: run the workloads (all by default) and write bench/results/WORKLOAD.md.

ASSAY_DATA names the folder with the real tables, which `tables` and the first table of `compare` need. ASSAY_BENCH_SCALE=0.01 makes the tables
of compare, csv_encode and predict_files smaller (4: larger; a CSV of 1 GB); no results are written then. ASSAY_BENCH_MODELS=svc,mlp has cold_start
take these models alone. `before_after`, which runs only when it is named, races an older version: ASSAY_BENCH_BEFORE is its `src` folder.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from bench.data import SCALE
from bench.harness import Line, run_race
from bench.report import markdown

WORKLOADS = [
    "naive_bayes",
    "discriminant",
    "lasso",
    "errors",
    "least_squares",
    "linear_models",
    "trees",
    "boosting",
    "explain",
    "neighbours",
    "kernel_machines",
    "networks",
    "sparse",
    "cold_start",
    "small_compare",
    "stream_memory",
    "csv_encode",
    "predict_files",
    "service",
    "studio",
    "compare",
    "tables",
    "coverage",
    "with_best",
]
ROUNDS = 15
RESULTS = Path(__file__).with_name("results")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS, help=f"of: {', '.join(WORKLOADS)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns a contender (the minimum counts)")
    chosen = parser.parse_args()
    for name in chosen.workloads:
        module = import_module(f"bench.workloads.{name}")
        lines = [line for race in module.races() for line in _shown(run_race(race, chosen.rounds))]
        notes = list(module.notes()) if hasattr(module, "notes") else []
        for note in notes:
            print(note, flush=True)
        if SCALE == 1 and chosen.rounds == ROUNDS:
            (RESULTS / f"{name}.md").write_text(markdown(name, lines, notes))


def _shown(lines: list[Line]) -> list[Line]:
    for line in lines:
        print(f"{line.title:<48} {line.contender:<28} {line.seconds * 1e3:10.2f} ms {line.ratio:8.2f}x  "
              f"{line.agreement:<34} {line.wanted} {'' if line.reached is None else line.reached}", flush=True)  # fmt: skip
    return lines


if __name__ == "__main__":
    main()
