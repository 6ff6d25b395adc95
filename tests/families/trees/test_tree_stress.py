"""The loops of trees use bare addresses: here every index is checked, and every memory is dirty."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import answers, file_bytes
from tree_tables import random_setup

from assay.families.trees.nodes import split_trees

TESTS = Path(__file__).resolve().parents[2]
CHECKED = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
np.seterr(all="ignore")
import assay.compiled.simd.memory as memory


class Checked:
    made = 0

    def __init__(self, array):
        Checked.made += 1
        self.flat = array.reshape(-1)

    def __getitem__(self, i):
        assert 0 <= i < len(self.flat), f"read {i} of {len(self.flat)}"
        return self.flat[i]

    def __setitem__(self, i, value):
        assert 0 <= i < len(self.flat), f"write {i} of {len(self.flat)}"
        self.flat[i] = value


memory.data_pointer = Checked
"""
FITS = """
import hashlib, sys
sys.path.insert(0, {tests!r})
from cases import answers
from tree_tables import random_setup
for seed in {seeds}:
    model, X, y, w = random_setup(seed, {rows})
    model.fit(X, y, w)
    said = hashlib.sha256(model.feature_.tobytes() + model.cut_.tobytes() + answers(model, X).tobytes()).hexdigest()
    print(seed, said, flush=True)
"""


def output(seeds, rows, before="", **environment):
    code = before + FITS.format(tests=str(TESTS), seeds=list(seeds), rows=rows)
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_no_index_leaves_its_array():
    code = CHECKED + "import atexit\natexit.register(lambda: print(Checked.made))\n"
    lines = output(range(60), 40, code, NUMBA_DISABLE_JIT="1").splitlines()
    assert len(lines) == 61
    assert int(lines[-1]) > 60 * 30


def test_fits_are_the_same_without_the_compiler():
    seeds = range(100, 124)
    assert output(seeds, 24) == output(seeds, 24, NUMBA_DISABLE_JIT="1")


def test_fits_do_not_depend_on_what_memory_held_before():
    seeds = range(200, 300)
    assert output(seeds, 150, MALLOC_PERTURB_="165") == output(seeds, 150, MALLOC_PERTURB_="90")


@pytest.mark.parametrize("seed", range(150))
def test_trees_of_any_settings_keep_their_promises(seed):
    """Limits are kept, answers are those of the rows in the leaves, and fitting again changes nothing."""
    model, X, y, w = random_setup(seed + 1000)
    model.fit(X, y, w)
    first = file_bytes(model)
    said = answers(model, X)
    assert np.isfinite(said).all()
    assert file_bytes(model.fit(X, y, w)) == first
    params = model.get_params()
    trees = split_trees(model._trees)
    for tree in trees:
        leaves = int((tree.feature == -1).sum())
        assert params["max_leaf_nodes"] is None or leaves <= params["max_leaf_nodes"]
        assert len(tree.feature) == 2 * leaves - 1
    assert params["max_depth"] is None or model.get_depth() <= params["max_depth"]
    if type(model).__name__.startswith("DecisionTree") and params["monotonic_cst"] is None:
        leaf, weight = model.apply(X), np.ones(len(y)) if w is None else w
        least = (
            params["min_samples_leaf"]
            if isinstance(params["min_samples_leaf"], int)
            else int(np.ceil(params["min_samples_leaf"] * len(y)))
        )
        for k in np.unique(leaf[weight > 0]):
            there = (leaf == k) & (weight > 0)
            assert there.sum() >= least or len(trees[0].feature) == 1
            if params["criterion"] in ("gini", "entropy"):
                share = np.bincount(y[there], weights=weight[there], minlength=said.shape[1]) / weight[there].sum()
                assert np.allclose(said[there], share, rtol=0, atol=1e-9)
            elif params["criterion"] != "absolute_error":
                assert np.allclose(said[there], np.average(y[there], weights=weight[there]), rtol=0, atol=1e-9)
            else:
                cost = lambda m, there=there: np.average(np.abs(y[there] - m), weights=weight[there])  # noqa: E731
                assert cost(said[there][0]) <= min(cost(m) for m in np.unique(y[there])) + 1e-12
