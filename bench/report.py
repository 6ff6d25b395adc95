"""The results as Markdown."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.harness import Line

PEERS = [
    "numpy",
    "scipy",
    "numba",
    "pyarrow",
    "scikit-learn",
    "scikit-learn-intelex",
    "joblib",
    "pandas",
    "lightgbm",
    "xgboost",
    "catboost",
]


def machine() -> str:
    """The processor and the number of cores that this process may use."""
    import os

    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores, Python {platform.python_version()}"


def versions() -> str:
    """The versions of what was compared."""
    found = []
    for name in PEERS:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} (absent)")
    return ", ".join(found)


def markdown(workload: str, lines: list[Line], notes: list[str]) -> str:
    """A table a race."""
    out = [
        f"# {workload}",
        "",
        f"Written by `python -m bench {workload}`. Ours and the peers take turns in one run; the minimum of several rounds counts. "
        "*Ratio*: the peer's time divided by ours. Agreement is checked in the same run.",
        "",
        f"Machine: {machine()}. {versions()}.",
        "",
    ]
    title = ""
    for line in lines:
        if line.title != title:
            title = line.title
            out += [
                "",
                f"## {title}",
                "",
                "| contender | time | ratio | agreement | wanted | reached |",
                "|---|---|---|---|---|---|",
            ]
        reached = "" if line.reached is None else "yes" if line.reached else "**no**"
        out.append(
            f"| {line.contender} | {_time(line.seconds)} | {line.ratio:.2f}× | {line.agreement} | {line.wanted} | {reached} |"
        )
    for note in notes:
        out += ["", note]
    return "\n".join(out) + "\n"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
