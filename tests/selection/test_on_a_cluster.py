"""Tables with names and text, and models fitted again on all rows, on worker processes of Dask: the bytes of the file in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import assay

ROWS = 240


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """A Parquet file in pieces: a number, a category, strings with many values, and a text."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, ROWS)
    cities = np.array(
        [
            f"{a}{b}"
            for a in ("Bal", "Kor", "Min", "Tul", "Ven", "Mar")
            for b in ("burg", "stadt", "ville", "wick", "au")
        ]
    )
    words = np.array(["refund", "broken", "late", "thanks", "great", "fine", "order", "parcel"])
    said = [" ".join(rng.choice(words[4 * k // 2 :] if k else words[:6], 9)) for k in kind]
    table = pa.table(
        {
            "paid": rng.normal(kind, 1.0),
            "shop": rng.choice(["web", "street"], ROWS),
            "city": rng.choice(cities, ROWS),
            "letter": [f"{text} {i}" for i, text in enumerate(said)],
            "kind": np.where(kind, "praise", "complaint"),
        }
    )
    path = tmp_path_factory.mktemp("letters") / "letters.parquet"
    parquet.write_table(table, path, row_group_size=50)
    return path


KINDS = {"city": "string", "letter": "text"}


@pytest.mark.parametrize("model", [assay.LogisticRegression, assay.DecisionTreeClassifier], ids=["sparse", "dense"])
def test_strings_and_text_are_encoded_alike_on_workers(letters, client, tmp_path, model):
    def file(name: str, *where: object) -> bytes:
        with assay.engine(name, *where):
            assay.train(letters, "kind", model(), kinds=KINDS).save(tmp_path / name)
        return (tmp_path / name).read_bytes()

    assert file("threads") == file("stream") == file("cluster", client)
    loaded = assay.load(tmp_path / "cluster")
    assert {c.kind for c in loaded.schema_.used} == {"number", "category", "string", "text"}


def test_the_model_fitted_again_is_that_of_memory(letters, client, tmp_path):
    def file(name: str, *where: object) -> bytes:
        with assay.engine(name, *where):
            found = assay.compare(
                letters, "kind", models=["logistic-regression"], resampling="holdout", kinds=KINDS, workers=0
            )
        found.model.save(tmp_path / name)
        assert found.recommended in found.refits
        return (tmp_path / name).read_bytes()

    assert file("threads") == file("cluster", client)
    with assay.engine("cluster", client):
        assert assay.load(tmp_path / "cluster").certificate_.verify(letters).holds
