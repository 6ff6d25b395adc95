"""Run scikit-learn's own tests on our classes, family by family, and say how many pass.

    python tests/peer                          all families; writes bench/results/peer.md
    python tests/peer --family Ridge --log ridge.log    one of them, with its failures by error; writes nothing else
    python tests/peer --theirs                 the same tests on scikit-learn's own classes: which fail here whoever is tested

Each family runs in a process of its own. A test counts where one of our models was really made in it. Those in `not_ours.txt` are not ours
to pass, each for a stated reason; of the others, those in `gaps.txt` do not pass yet. The exit code is 1 where any other test
fails, or where one of these lists names a test that passes or is not there: so both lists stay true.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from peer.families import FAMILIES  # noqa: E402
from peer.running import Verdict, by_error, judge, rows_of, run_family, table, write_gaps  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", choices=[*FAMILIES], help="only these families")
    parser.add_argument("--log", type=Path, help="write every failure, ordered by error, into this file")
    parser.add_argument("--theirs", action="store_true", help="replace nothing")
    parser.add_argument(
        "--update-gaps", action="store_true", help="write gaps.txt, and the rows of peer.md, anew for the families run"
    )
    parser.add_argument("--keyword", help="only tests that match this expression of pytest's -k")
    given = parser.parse_args()
    verdicts: dict[str, Verdict] = {}
    for family in given.family or FAMILIES:
        results = run_family(FAMILIES[family], theirs=given.theirs, keyword=given.keyword)
        verdicts[family] = judge(results, FAMILIES[family], whole=given.keyword is None)
        print(f"{family}: {verdicts[family].sentence()}", flush=True)
        if given.log:
            with given.log.open("a") as log:
                print(by_error(family, verdicts[family]), file=log)
        if given.update_gaps:
            write_gaps(verdicts[family], FAMILIES[family])
    if not given.theirs and given.keyword is None and (given.family is None or given.update_gaps):
        page = HERE.parent.parent / "bench" / "results" / "peer.md"
        known = rows_of(page.read_text()) if page.exists() else {}
        found = {**known, **verdicts}
        page.write_text(table({family: found[family] for family in FAMILIES if family in found}))
    wrong = [line for verdict in verdicts.values() for line in verdict.wrong]
    print("".join(f"  {line}\n" for line in wrong), end="")
    return int(bool(wrong) and not given.theirs and not given.update_gaps)


if __name__ == "__main__":
    sys.exit(main())
