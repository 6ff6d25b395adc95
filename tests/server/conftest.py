"""Models of several kinds in a folder, and one server for all tests that leave it as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import assay
from assay.cli.app import run
from tests.server.running import Running, serving

COLUMNS = ("age", "income", "member", "plan")


def customers(n: int = 400, seed: int = 0) -> pa.Table:
    """Numbers, truth values and categories, some of them missing, and a target of text."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 90, n).astype(float), rng.lognormal(10, 1, n)
    member, plan = rng.random(n) > 0.5, rng.choice(["basic", "plus", "pro"], n)
    score = (age - 50) / 20 + np.log(income) - 10 + member + (plan == "pro") + rng.normal(size=n)
    age[rng.random(n) < 0.05] = np.nan
    return pa.table(
        {
            "age": pa.array(age, from_pandas=True),
            "income": income,
            "member": member,
            "plan": pa.array(np.where(rng.random(n) < 0.05, None, plan), pa.string()),
            "churn": np.where(score > 0, "stays", "leaves"),
        }
    )


def _train(data: Path, target: str, model: str, out: Path, *more: str) -> None:
    options = ["--target", target, "--model", model, "--out", str(out), "--quiet"]
    assert run(["train", str(data), *options, *more]) == 0


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models of a table (linear, forest, neighbours, a number) and one of bare arrays."""
    import pyarrow.parquet as parquet

    folder = tmp_path_factory.mktemp("models")
    data = tmp_path_factory.mktemp("data")
    table = customers()
    parquet.write_table(table, data / "customers.parquet")
    parquet.write_table(table.drop(["churn", "plan", "member"]), data / "numbers.parquet")
    for name, model in (
        ("linear", "logistic-regression"),
        ("forest", "random-forest"),
        ("near", "knn"),
        ("bayes", "naive-bayes"),
    ):
        _train(data / "customers.parquet", "churn", model, folder / f"{name}.assay")
    _train(data / "numbers.parquet", "income", "ridge", folder / "income.assay")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    assay.GaussianNB().fit(X, (X.sum(axis=1) > 0).astype(int)).save(folder / "bare.assay")
    days = pa.array(np.datetime64("2024-01-01") + np.arange(200))
    words = ["red fox" if i % 2 else "blue sea" for i in range(200)]
    parquet.write_table(pa.table({"day": days, "words": words, "y": np.arange(200) % 2}), data / "dated.parquet")
    _train(data / "dated.parquet", "y", "logistic-regression", folder / "dated.assay", "--kind", "words=text")
    return folder


@pytest.fixture(scope="session")
def server(models: Path) -> Iterator[Running]:
    with serving(models) as running:
        yield running
