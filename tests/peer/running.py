"""Runs a family of scikit-learn's tests in a process of its own, and judges what came of them by the two lists."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
NOT_OURS, GAPS = HERE / "not_ours.txt", HERE / "gaps.txt"
SECONDS = 60  # of processor time, for one test
MOST_LISTED, LEAST_SHARE = 250, 0.97


def run_family(modules: list[str], *, theirs: bool = False, keyword: str | None = None) -> list[dict[str, Any]]:
    """What came of every test of these modules in which one of our models was made (`theirs`: of every test)."""
    with tempfile.TemporaryDirectory() as folder:
        out, empty = Path(folder) / "results.jsonl", Path(folder) / "pytest.ini"
        empty.write_text("[pytest]\n")
        environment = {
            **os.environ,
            "PEER_OUT": str(out),
            "PEER_THEIRS": str(int(theirs)),
            "PEER_SECONDS": str(SECONDS),
            "PYTHONPATH": os.pathsep.join([str(HERE.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]),
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "pytest", "-p", "peer.substitute", "-p", "no:cacheprovider", "-p", "no:xdist"]
        command += ["-c", str(empty), "-q", "--tb=no", "--disable-warnings", "--pyargs", *modules]
        command += [] if keyword is None else ["-k", keyword]
        ended = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
        lines = out.read_text().splitlines() if out.exists() else []
    if ended.returncode not in (0, 1) or not lines:
        raise SystemExit(f"pytest ended with {ended.returncode}:\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}")
    results = [json.loads(line) for line in lines]
    return [r for r in results if (theirs or r["ours"]) and r["outcome"] not in ("skipped", "expected to fail")]


@dataclass
class Listed:
    """A line of a list: a test, or a pattern in which `*` stands for anything; and the reason."""

    pattern: str
    reason: str
    matches: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        self.matches = re.compile(".*".join(re.escape(part) for part in self.pattern.split("*")))

    def __contains__(self, test: str) -> bool:
        return self.matches.fullmatch(test) is not None


def read_list(path: Path) -> list[Listed]:
    """The lines `test | reason` of a list; `#` begins a comment."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    parted = [line.partition(" | ") for line in lines]
    bare = [pattern for pattern, _, reason in parted if not reason.strip()]
    if bare:
        raise SystemExit(f"{path.name}: {bare[0]!r} has no reason: write `test | reason`.")
    return [Listed(pattern.strip(), reason.strip()) for pattern, _, reason in parted]


@dataclass
class Verdict:
    """A family: tests that touch our classes, those that are not ours to pass, those that pass; and what breaks the law."""

    touch: int = 0
    listed: int = 0
    passed: int = 0
    failed: list[dict[str, Any]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def ours(self) -> int:
        return self.touch - self.listed

    def sentence(self) -> str:
        share = f" ({self.passed / self.ours:.1%})" if self.ours else ""
        return f"{self.touch} tests touch our classes, {self.listed} are not ours to pass, {self.passed} of {self.ours} pass{share}"


def judge(results: list[dict[str, Any]], modules: list[str], *, whole: bool) -> Verdict:
    """Count; a failure on neither list is wrong, and (where all tests of the modules ran) a line that fits no failure."""
    verdict, prefixes = Verdict(touch=len(results)), tuple(f"{short(m)}::" for m in modules)
    lists = [[line for line in read_list(path) if line.pattern.startswith(prefixes)] for path in (NOT_OURS, GAPS)]
    used = set()
    for result in results:
        test, failed = result["id"], result["outcome"] == "failed"
        found = next(((i, line.pattern) for i, lines in enumerate(lists) for line in lines if test in line), None)
        if found is not None and failed:
            used.add(found)
        if found is not None and found[0] == 0 and failed:
            verdict.listed += 1
        elif failed:
            verdict.failed.append(result)
            if found is None:
                verdict.wrong.append(f"{test} fails: {result.get('error', '')[:150]}")
        else:
            verdict.passed += 1
            if found is not None and found[0] == 1 and "*" not in found[1]:
                verdict.wrong.append(f"{test} is in gaps.txt and passes: take it out")
    unused = [(i, line.pattern) for i, lines in enumerate(lists) for line in lines if (i, line.pattern) not in used]
    if whole:
        verdict.wrong += [
            f"{(NOT_OURS, GAPS)[i].name}: no test fails of {pattern!r}: take it out" for i, pattern in unused
        ]
    return verdict


def short(module: str) -> str:
    """`linear_model/test_ridge` of `sklearn.linear_model.tests.test_ridge`."""
    return "/".join(part for part in module.split(".")[1:] if part != "tests")


def write_gaps(verdict: Verdict, modules: list[str]) -> None:
    """Put a family's failures into gaps.txt in the place of what it says of these modules; a test function that fails whole is one line."""
    prefixes = tuple(f"{short(m)}::" for m in modules)
    kept = [line for line in GAPS.read_text().splitlines() if not line.startswith(prefixes)] if GAPS.exists() else []
    new = {f"{r['id']} | {first_line(r)}" for r in verdict.failed}
    GAPS.write_text("\n".join([*kept, *sorted(new)]) + "\n")


def first_line(result: dict[str, Any]) -> str:
    """The first line of what went wrong, in short, without what differs from run to run."""
    line = re.sub(r"0x[0-9a-f]+", "0x…", (result.get("error") or "no message").splitlines()[0])
    return line[:100].replace(" | ", " / ")


def by_error(family: str, verdict: Verdict) -> str:
    """The failures of a family, most frequent error first."""
    errors: dict[str, list[str]] = defaultdict(list)
    for result in verdict.failed:
        errors[re.sub(r"[\d.]+(e-?\d+)?", "#", first_line(result)[:80])].append(
            f"{result['id']}  [{result.get('at')}]  {result.get('error', '')[:300]!r}"
        )
    lines = [f"== {family}: {verdict.sentence()}"]
    for error, tests in sorted(errors.items(), key=lambda item: -len(item[1])):
        lines += [f"{len(tests):4} × {error}", *(f"       {test}" for test in tests)]
    return "\n".join(lines)


def rows_of(page: str) -> dict[str, Verdict]:
    """The counts that peer.md has of each family."""
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")
    ]
    rows = [cells for cells in lines if len(cells) > 4 and cells[1].isdecimal() and not cells[0].startswith("*")]
    return {cells[0]: Verdict(int(cells[1]), int(cells[2]), int(cells[4])) for cells in rows}


def table(verdicts: dict[str, Verdict]) -> str:
    """bench/results/peer.md."""
    import sklearn

    total = Verdict(*(sum(getattr(v, name) for v in verdicts.values()) for name in ("touch", "listed", "passed")))
    reached = total.listed <= MOST_LISTED and total.passed >= LEAST_SHARE * total.ours
    lines = [
        "# scikit-learn's own tests on our classes",
        "",
        f"Written by `make peer` (tests/peer) with scikit-learn {sklearn.__version__}. *touch*: tests in which one of our models was made, without those skipped; "
        "*listed*: not ours to pass, for the reason in tests/peer/not_ours.txt; *ours*: the others.",
        "",
        "| family | touch | listed | ours | pass | share |",
        "|---|---|---|---|---|---|",
    ]
    for family, v in [*verdicts.items(), ("**all**", total)]:
        share = f"{v.passed / v.ours:.1%}" if v.ours else ""
        lines.append(f"| {family} | {v.touch} | {v.listed} | {v.ours} | {v.passed} | {share} |")
    lines += [
        "",
        f"Wanted: at least {LEAST_SHARE:.0%} of ours, at most {MOST_LISTED} listed: {'reached' if reached else 'not reached'}.",
        "",
    ]
    reasons = Counter(line.reason.split(":")[0] for line in read_list(NOT_OURS))
    lines += (
        [
            "Reasons of the list, by lines: " + ", ".join(f"{reason} {n}" for reason, n in reasons.most_common()) + ".",
            "",
        ]
        if reasons
        else []
    )
    return "\n".join(lines)
