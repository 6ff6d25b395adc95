"""A loop that only other loops call is a part of theirs, not compiled by itself for nothing; and only what loops call is shipped with its bitcode."""

from __future__ import annotations

import re
from pathlib import Path

from assay.compiled.cache import DIGEST, LoopCache, _read, users_folder
from assay.compiled.mixing import mix_rows
from assay.compiled.shipping import PACKAGE, called_by, loops, names_of, ship
from assay.compiled.tiers import TIER
from assay.engines.fingerprint import column_hashes


def called_by_loops():
    return [loop for caller in loops() for loop in called_by(caller) if not loop.part]


def test_what_only_loops_call_has_no_machine_code_of_its_own():
    elsewhere = [
        f for f in PACKAGE.rglob("*.py") if "loops" not in f.with_suffix("").parts and "compiled" not in f.parts
    ]
    text = "\n".join(f.read_text() for f in (*elsewhere, *Path(__file__).parents[1].rglob("test_*.py")))
    by_loops = {loop.py_func.__qualname__ for loop in called_by_loops()} - {"<lambda>"}
    assert len(by_loops) > 3
    assert {name for name in by_loops if not re.search(rf"\b{name}\b", text)} == set()


def test_bitcode_is_shipped_where_another_loop_may_want_it_and_nowhere_else(tmp_path):
    from assay.statistics.loops import add_moments

    assert names_of([mix_rows]) < names_of(called_by_loops())
    assert not names_of([add_moments]) & names_of(called_by_loops())
    _a_fit()
    kept = users_folder() / TIER.name
    both = [kept / LoopCache(loop.py_func).name(loop.signatures[0]) for loop in (mix_rows, add_moments)]
    ship(both, tmp_path / "shipped")
    whole, bare = (tmp_path / "shipped" / file.name for file in both)
    assert whole.read_bytes() == both[0].read_bytes()
    assert DIGEST < bare.stat().st_size < 0.6 * both[1].stat().st_size
    assert _read(bare) is not None


def _a_fit():
    import numpy as np

    from assay import GaussianNB

    X = np.arange(240.0).reshape(-1, 3)
    column_hashes(X)
    GaussianNB().fit(X, np.arange(80) % 2)
