"""Where neither the home nor the present folder can be written to, all works that was not asked to write there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import assay

NO_HOME = "/dev/null/home"  # not even root can make it


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder that nobody can write to")
def test_a_model_is_trained_saved_and_asked(tmp_path):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
    paths = [str(Path(assay.__file__).parents[1]), *filter(None, [kept.get("PYTHONPATH")])]
    environment = {**kept, "HOME": NO_HOME, "PYTHONPATH": os.pathsep.join(paths)}
    model = str(tmp_path / "model.assay")
    for words in (["train", "papayas", "--model", "lda", "--out", model], ["predict", model, "papayas"]):
        ran = subprocess.run(
            [sys.executable, "-m", "assay.cli", *words],
            env=environment,
            cwd="/proc/self",
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
        named = [line for line in ran.stderr.splitlines() if NO_HOME in line]
        assert len(named) <= 1, ran.stderr
        assert all("Set ASSAY_CACHE" in line for line in named)
    assert ran.stdout.startswith("prediction\n")
