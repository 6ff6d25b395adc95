"""The law of equal bits for files: a model fitted from a file is the model fitted from the same rows in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from small_blocks import small_blocks

import assay
from assay.store import encode

ROWS = 30_000
pytestmark = pytest.mark.usefixtures("blas_of_two")


def file_of(model) -> bytes:
    return encode(model.to_record())


@pytest.fixture(autouse=True, scope="module")
def _small(client):
    with small_blocks(client):
        yield


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    label = rng.integers(0, 3, ROWS)
    columns = {f"x{j}": rng.normal(label, 1 + j) for j in range(5)}
    return pd.DataFrame({**columns, "count": rng.poisson(3, ROWS), "y": np.array(["ash", "birch", "elm"])[label]})


@pytest.fixture(scope="module")
def files(frame, tmp_path_factory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("tables")
    frame.to_parquet(folder / "one.parquet", row_group_size=7401)
    frame.to_csv(folder / "one.csv", index=False)
    frame.to_csv(folder / "one.tsv", index=False, sep="\t")
    (folder / "many").mkdir()
    for i, (a, b) in enumerate([(0, 10_000), (10_000, 10_007), (10_007, ROWS)]):
        frame[a:b].to_parquet(folder / "many" / f"{i}.parquet")
    return {
        "parquet": folder / "one.parquet",
        "csv": folder / "one.csv",
        "tsv": folder / "one.tsv",
        "folder": folder / "many",
        "pattern": str(folder / "many" / "*.parquet"),
        "list": [folder / "many" / f"{i}.parquet" for i in range(3)],
    }


@pytest.fixture(scope="module")
def in_memory(frame) -> bytes:
    return file_of(assay.GaussianNB().fit(frame.drop(columns="y"), frame["y"]))


@pytest.mark.parametrize("form", ["parquet", "csv", "tsv", "folder", "pattern", "list"])
def test_a_fit_from_any_file_is_the_fit_in_memory_byte_for_byte(files, in_memory, form):
    assert file_of(assay.GaussianNB().fit(assay.rows(files[form], target="y"))) == in_memory


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("engine", [("stream", 1), ("stream", 3), ("threads", 1), ("threads", 2)])
def test_engines_and_thread_counts_do_not_change_the_file(files, in_memory, form, engine):
    name, workers = engine
    with assay.engine(name, workers=workers):
        assert file_of(assay.GaussianNB().fit(assay.rows(files[form], target="y"))) == in_memory


@pytest.mark.parametrize("form", ["parquet", "csv", "folder"])
def test_a_cluster_gives_the_same_file(files, in_memory, client, form):
    with assay.engine("cluster", client):
        assert file_of(assay.GaussianNB().fit(assay.rows(files[form], target="y"))) == in_memory


def test_predictions_from_a_file_are_those_in_memory(files, frame):
    model = assay.GaussianNB().fit(frame.drop(columns="y"), frame["y"])
    expected = model.predict(frame.drop(columns="y"))
    for form in ("parquet", "csv", "folder"):
        assert np.array_equal(model.predict(assay.rows(files[form])), expected)


def test_ranges_that_workers_read_hold_the_blocks_of_the_stream_in_any_order(files):
    for form in ("parquet", "folder"):
        rows = assay.rows(files[form], target="y")
        streamed = [part.load() for part in rows.blocks()]
        ranged = list(rows.anywhere().blocks())
        for i in [*range(len(ranged)), *reversed(range(len(ranged)))]:
            block = ranged[i].load()
            assert block.start == streamed[i].start
            assert np.array_equal(block.X, streamed[i].X)
            assert np.array_equal(block.y, streamed[i].y)


def test_weights_of_a_file_are_the_weights_in_memory(tmp_path, frame):
    weighted = frame[:5000].assign(w=np.arange(5000) % 4)
    weighted.to_parquet(tmp_path / "w.parquet")
    weighted.to_csv(tmp_path / "w.csv", index=False)
    expected = file_of(
        assay.GaussianNB().fit(weighted.drop(columns=["y", "w"]), weighted["y"], sample_weight=weighted["w"])
    )
    for name in ("w.parquet", "w.csv"):
        assert file_of(assay.GaussianNB().fit(assay.rows(tmp_path / name, target="y", weight="w"))) == expected


def test_text_columns_are_coded_as_in_memory(tmp_path):
    rng = np.random.default_rng(3)
    n = 3000
    frame = pd.DataFrame(
        {
            "shape": rng.choice(["bell", "cone", "flat", None], n),
            "odour": pd.Categorical(rng.choice(["none", "foul"], n)),
            "size": rng.normal(size=n),
            "y": rng.integers(0, 2, n),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected = file_of(assay.NaiveBayes().fit(frame.drop(columns="y"), frame["y"]))
    for name in ("t.parquet", "t.csv"):
        assert file_of(assay.NaiveBayes().fit(assay.rows(tmp_path / name, target="y"))) == expected


def test_regression_from_a_file_is_regression_in_memory(files, frame):
    numbers = frame.drop(columns=["y", "count"])
    expected = file_of(assay.LinearRegression().fit(numbers, frame["count"]))
    features = list(numbers.columns)
    for form in ("parquet", "csv"):
        rows = assay.rows(files[form], target="count", features=features)
        assert file_of(assay.LinearRegression().fit(rows)) == expected


def test_float32_files_stay_float32(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32), columns=list("abc"))
    frame["y"] = np.arange(500) % 2
    frame.to_parquet(tmp_path / "f.parquet")
    rows = assay.rows(tmp_path / "f.parquet", target="y")
    assert next(rows.blocks()).load().X.dtype == np.float32
    assert file_of(assay.GaussianNB().fit(rows)) == file_of(assay.GaussianNB().fit(frame[list("abc")], frame["y"]))
