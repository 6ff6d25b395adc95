"""A wheel brings its loops compiled: from it, with an empty cache and no home, nothing is compiled. (`make wheel` asks that of all models.)"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from assay.compiled.cache import users_folder
from assay.compiled.tiers import TIER

ROOT = Path(__file__).parents[1]
MODELS = ["lda", "baseline"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out, cache = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("cache")
    if (users_folder() / TIER.name).is_dir():  # most have been compiled by other tests
        shutil.copytree(users_folder() / TIER.name, cache / "loops" / TIER.name)
    command = [sys.executable, "tools/wheel", "--tiers", TIER.name, "--out", str(out), "--cache", str(cache)]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ASSAY_TIER")}
    run = subprocess.run(
        [*command, "--models", *MODELS], cwd=ROOT, capture_output=True, text=True, timeout=900, env=environment
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return out, run.stdout


def test_nothing_is_compiled_from_a_wheel(made):
    _, said = made
    assert f"from the wheel, {TIER.name}: nothing is compiled (served: 2 models; shown in the studio: 2)" in said


def test_the_wheel_says_what_it_runs_on_and_holds_whole_loops_only(made):
    (wheel,) = made[0].glob("*.whl")
    python, abi, platform = wheel.stem.split("-")[2:]
    assert python == f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert (abi, platform != "any") == ("none", True)
    names = [Path(name).name for name in zipfile.ZipFile(wheel).namelist() if f"/shipped/{TIER.name}/" in name]
    assert any(name.startswith("assay.compiled.mixing.mix_rows-") for name in names)
    assert not any(".simd." in name for name in names)


def test_the_source_distribution_has_no_machine_code(made):
    (sdist,) = made[0].glob("*.tar.gz")
    with tarfile.open(sdist) as opened:
        names = opened.getnames()
    assert any(name.endswith("compiled/tiers.py") for name in names)
    assert not any("shipped" in name for name in names)
