"""The law of equal bits between processors: loops compiled for any tier that rounds a product and a sum once give the same model files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.compiled.tiers import TIER, _of_the_machine

#: between them they go through every part of `compiled/simd`; `tools/wheel` asks all models in all ways, by rows of both precisions
MODELS = ("naive-bayes", "lda", "logistic-regression", "knn", "svc", "mlp", "decision-tree", "perceptron")


def marks(tier: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, str(Path(__file__).parents[1] / "tier_marks.py"), "--short", *MODELS],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "ASSAY_TIER": tier},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def test_tiers_give_the_same_bits():
    tiers = [tier for tier in _of_the_machine() if tier.fused and tier != TIER]
    if not tiers or not TIER.fused:
        pytest.skip("this processor runs one tier with products and sums rounded once")
    wanted = marks(TIER.name)
    assert len(wanted) >= len(MODELS)
    assert marks(tiers[-1].name) == wanted
