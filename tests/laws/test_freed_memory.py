"""No loop uses memory that is free: where the C library spoils it at once and gives it to whoever asks next, all models are the same bytes."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from cases import IDS
from other_processes import printed

SPOILT = "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"
TESTS = Path(__file__).parent.parent
SCRIPT = f"""
import hashlib, sys, warnings
sys.path.insert(0, {str(TESTS)!r})
warnings.simplefilter("ignore")
import numpy as np
import assay
from cases import CASES, IDS, answers, file_bytes

def mark(*parts):
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]

for case, name in zip(CASES, IDS):
    X, y = case.rows(400, 5)
    model = case.model().fit(X, y)
    print(name, mark(file_bytes(model), answers(model, X).tobytes()))

Z = np.random.default_rng(0).normal(size=(3000, 4))
for metric in ("euclidean", "manhattan", "chebyshev", "minkowski"):
    words = {{"metric": metric, **({{"p": 3}} if metric == "minkowski" else {{}})}}
    for algorithm in ("kd_tree", "brute"):
        near = assay.NearestNeighbors(n_neighbors=7, algorithm=algorithm, **words).fit(Z)
        far, rows = near.kneighbors(Z[:500])
        print(metric, algorithm, mark(far.tobytes(), rows.tobytes()))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc spoils what is freed")
def test_models_are_the_same_where_freed_memory_is_spoilt():
    usual, spoilt = (printed(SCRIPT, **words).splitlines() for words in ({}, {"GLIBC_TUNABLES": SPOILT}))
    assert len(usual) == len(IDS) + 8
    assert spoilt == usual
