"""`import assay` costs next to nothing, and prediction needs no compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cases import CASES, IDS

import assay

HEAVY = [
    "numpy",
    "numba",
    "scipy",
    "sklearn",
    "click",
    "pyarrow",
    "narwhals",
    "dask",
    "distributed",
    "rich",
    "msgspec",
    "pandas",
    "polars",
]


def modules_after(code, *args):
    code += "\nimport sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


def test_importing_the_package_imports_nothing_else():
    assert modules_after("import assay").isdisjoint(HEAVY)


def test_listing_the_names_imports_no_numpy():
    assert modules_after("import assay; dir(assay); assay.__version__").isdisjoint(HEAVY)


ANSWER = """
import sys, assay, numpy
for path in sys.argv[1:]:
    model = assay.load(path)
    X = numpy.ones((5000, model.n_features_in_))
    model.predict(X)
    model.predict(X[:3])
    if hasattr(model, "predict_proba"):
        model.predict_proba(X)
    str(model.certificate_)
"""


def test_a_saved_model_answers_without_numba_scipy_or_scikit_learn(tmp_path):
    paths = []
    for case, name in zip(CASES, IDS):
        X, y = case.rows()
        paths.append(str(tmp_path / f"{name}.assay"))
        case.model().fit(X, y).save(paths[-1])
    loaded = modules_after(ANSWER, *paths)
    assert loaded.isdisjoint(
        {"numba", "llvmlite", "scipy", "sklearn", "pyarrow", "dask", "distributed", "click", "rich", "pandas"}
    )


def test_fitting_and_verifying_need_no_scikit_learn_or_dask():
    code = """
import assay
for cls in assay.models().values():
    X = [[i % 4, (i * 7) % 5, i % 3] for i in range(60)]
    y = [1 + i % 2 for i in range(60)]
    model = cls().fit(X, y)
    assert model.certificate_.verify(X, y).holds
"""
    assert modules_after(code).isdisjoint({"sklearn", "dask", "distributed", "pandas", "polars", "click"})


def test_dir_lists_what_is_there():
    for name in dir(assay):
        assert getattr(assay, name) is not None
    assert {"GaussianNB", "engine", "load", "models", "rows", "__version__"} <= set(dir(assay))


@pytest.mark.parametrize("name", ["Gaussian", "_private", "sklearn", "__wrapped__"])
def test_an_unknown_name_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=f"module 'assay' has no attribute '{name}'"):
        getattr(assay, name)
    assert not hasattr(assay, name)
