"""Hashed columns of text are called by the words that fall into them, so that weights can be read."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import assay
from assay import compare
from assay.engines import engine_for
from assay.errors import ModelFileError
from assay.store import encode as file_bytes
from assay.tables.encoding import Encoding, EncodingSpec
from assay.tables.encoding.words import BUCKETS, bucket_names, bucket_of
from assay.tables.schema import survey
from assay.tables.schema.schema import Schema, infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import TableRows

GOOD, BAD = ["excellent", "lovely", "great"], ["awful", "boring", "dull"]
PLAIN = ["the", "film", "plot", "Actors", "music", "was", "very", "ending"]


def reviews(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    liked = rng.permutation(np.arange(n) % 2)
    said = [
        " ".join([*rng.choice(PLAIN, 4), rng.choice(GOOD if good else BAD)]) + f" w{i}" for i, good in enumerate(liked)
    ]
    return pd.DataFrame({"review": said, "stars": rng.normal(size=n), "liked": np.where(liked, "yes", "no")})


def learnt(data, sparse: bool = True) -> Encoding:
    source = table_source(data)
    schema = infer(source, features=["review", "stars"], kinds={"review": "text"})
    rows = TableRows(source, schema)
    return Encoding.learn(engine_for(rows), schema, EncodingSpec(sparse=sparse), rows)


def test_a_column_is_called_by_the_word_that_falls_into_it():
    encoding = learnt(reviews())
    assert {f'review: "{word.lower()}"' for word in GOOD + BAD + PLAIN} == set(encoding.names) - {"stars"}
    X = encoding(TableRows(table_source(reviews()), encoding.schema).in_memory().X)
    at = encoding.names.index('review: "awful"')
    has = np.array(["awful" in text for text in reviews().review])
    assert np.array_equal(X.toarray()[:, at] > 0, has)


def test_words_that_share_a_column_are_all_named_the_most_frequent_first():
    clash: dict[int, list[str]] = {}
    for k in range(100_000):
        clash.setdefault(bucket_of(f"w{k}"), []).append(f"w{k}")
    bucket, words = next((b, w[:5]) for b, w in clash.items() if len(w) >= 5)
    text = [" ".join(word for times, word in enumerate(reversed(words), 1) if times > row) for row in range(5)]
    (two, five) = (learnt({"review": t, "stars": [1.0, 2, 3, 4, 5]}) for t in ([" ".join(words[:2])] * 5, text))
    assert two.names[1] == "review: " + ", ".join(f'"{w}"' for w in sorted(words[:2]))
    assert five.names[1] == "review: " + ", ".join(f'"{w}"' for w in words[:3]) + ", …"
    assert bucket_names("review", [], np.array([bucket])) == [f"review#{bucket}"]


def test_models_that_take_dense_rows_alone_have_components_called_by_the_words_that_weigh_most():
    names = learnt(reviews(), sparse=False).names
    assert all(name.startswith(f"review ~ {k}: ") and name.count('"') == 6 for k, name in enumerate(names[1:], 1))
    assert not any('"w7"' in n for n in names)  # of one row: it says nothing of others, and has no part in any


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_the_same_rows_have_the_same_words_whatever_file_they_come_from(kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    write = {"csv": reviews().to_csv, "parquet": reviews().to_parquet}
    if kind == "jsonl":
        reviews().to_json(path, orient="records", lines=True)
    else:
        write[kind](path, index=False)
    assert learnt(path).schema["review"].words == learnt(reviews()).schema["review"].words


def test_time_and_memory_are_bounded_and_what_is_counted_does_not_depend_on_how_rows_come(monkeypatch):
    monkeypatch.setattr(survey, "DISTINCT_WORDS", 40)
    monkeypatch.setattr(survey, "WORD_ROWS", 120)
    found = []
    for at_once in (1, 8, 60, 120):
        monkeypatch.setattr(survey, "WORD_BATCH", at_once)
        found.append(infer(table_source(reviews()), kinds={"review": "text"})["review"].words)
    assert len(set(found)) == 1
    assert len(found[0]) == 40
    monkeypatch.setattr(survey, "MOST_WORDS", 5)
    few = infer(table_source(reviews()), kinds={"review": "text"})["review"].words
    assert few == found[0][:5]


def test_long_words_and_other_kinds_of_columns_name_nothing():
    schema = infer(table_source(reviews().assign(review=lambda t: t.review + " " + "z" * 60)), kinds={"review": "text"})
    assert all(len(word) <= 40 for word in schema["review"].words)
    assert schema["stars"].words is None
    assert "words" not in schema.to_data()["columns"][1]


def test_weights_of_a_saved_model_are_read_by_word(tmp_path):
    model = compare(
        reviews(), "liked", models=["logistic-regression"], kinds={"review": "text"}, folds=3, workers=0
    ).model
    model.save(tmp_path / "m.assay")
    loaded = assay.load(tmp_path / "m.assay")
    weights = dict(zip(loaded.model_.feature_names_in_, loaded.coef_[0]))
    assert min(weights[f'review: "{w}"'] for w in GOOD) > 0 > max(weights[f'review: "{w}"'] for w in BAD)
    assert loaded.certificate_.verify(reviews()).holds


def test_a_schema_without_words_calls_columns_by_number_and_is_read_and_verified_as_ever():
    encoding = learnt(reviews())
    data = encoding.schema.to_data()
    del data["columns"][0]["words"]
    old = replace(encoding, schema=Schema.from_data(json.loads(json.dumps(data))))
    assert all(name == "stars" or name.startswith("review#") for name in old.names)
    assert len(old.names) == len(encoding.names)


def test_words_that_are_not_those_of_the_table_are_found_out():
    model = compare(reviews(), "liked", models=["bernoulli-nb"], kinds={"review": "text"}, folds=3, workers=0).model
    words = model.schema_["review"].words
    assert model.certificate_.verify(reviews()).holds
    swapped = tuple({"awful": "great", "great": "awful"}.get(w, w) for w in words)
    columns = tuple(replace(c, words=swapped) if c.name == "review" else c for c in model.schema_.columns)
    model.encoding_ = replace(model.encoding_, schema=replace(model.schema_, columns=columns))
    model.model_.feature_names_in_ = np.array(model.encoding_.names, dtype=object)
    verdicts = {v.claim: v for v in model.certificate_.verify(reviews())}
    assert not verdicts["encoding"].holds
    assert "words" in verdicts["encoding"].reason


@pytest.mark.parametrize(
    "words",
    [["a b"], ['q"q'], ["x"], ["\ud800\ud800"], ["z" * 41], [7], "words", {"a": 1}, ["same", "same"], ["ab"] * 9999],
)
def test_a_stored_schema_with_words_that_are_none_is_refused(words):
    data = infer(table_source(reviews()), kinds={"review": "text"}).to_data()
    data["columns"][0]["words"] = words
    with pytest.raises(ModelFileError, match="word"):
        Schema.from_data(data)
    data = infer(table_source(reviews())).to_data()
    data["columns"][1]["words"] = ["fine"]
    with pytest.raises(ModelFileError, match="is no text"):
        Schema.from_data(data)


def test_equal_rows_give_equal_files_however_they_are_read(tmp_path):
    reviews().to_csv(tmp_path / "t.csv", index=False)
    options = {"target": "liked", "models": ["multinomial-nb"], "kinds": {"review": "text"}, "features": ["review"]}
    here = compare(tmp_path / "t.csv", folds=3, workers=0, **options).model
    with assay.engine("stream"):
        there = compare(tmp_path / "t.csv", folds=3, workers=0, **options).model
    assert file_bytes(here.to_record()) == file_bytes(there.to_record())
    assert BUCKETS == 1 << 15  # a file's columns are those buckets for ever


def test_to_name_the_buckets_of_another_fit_no_word_is_hashed_again(monkeypatch):
    listed = ("good", "film", "plot")
    places = np.array(sorted(bucket_of(word) for word in listed))
    first = bucket_names("review", listed, places)
    monkeypatch.setattr("assay.tables.encoding.words.bucket_of", None)
    assert bucket_names("review", listed, places[:2]) == first[:2]
