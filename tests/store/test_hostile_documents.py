"""Documents made to do harm, their hash made right again so that the checks behind it are reached: refused, or a model that answers."""

from __future__ import annotations

import copy
import json
import time
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from store.hostile import (
    HOSTILE,
    ONCE,
    altered,
    document,
    every_case,
    file_of,
    from_bytes,
    json_values,
    outcome,
    paths,
    refused,
    with_document,
)

from assay.store import encode

#: hyper-parameters of three models and more
COMMON = {name for name, models in Counter(name for case in ONCE for name in case.cls.params).items() if models > 2}


def hostile_values(path, turn):
    """All values for what one model or two read in their own way; where more read alike, the models take turns with them."""
    if path[:1] == ("facts",) or (path[:1] == ("params",) and not COMMON & {*path[1:2]}):
        return HOSTILE
    claimed = path[:1] == ("claims",) and len(path) > 2
    step = 11 if claimed else 13 if path[:1] == ("sha256",) else 6
    return HOSTILE[turn % step :: step]


@every_case
def test_every_field_of_the_document_with_every_hostile_value(case):
    data = file_of(case)
    doc = document(data)
    places = list(paths(doc))
    assert len(places) > 25
    assert outcome(data) == "loaded"  # what is compiled at the first answer does not count
    start, count, loaded = time.process_time(), 0, 0
    for path in places:
        for value in hostile_values(path, ONCE.index(case)):
            count += 1
            loaded += outcome(with_document(data, altered(doc, path, value))) == "loaded"
    assert count > 300
    assert loaded < count / 2
    assert (time.process_time() - start) / count < 0.05


@every_case
def test_fields_that_are_missing_doubled_or_unknown_are_refused(case):
    data = file_of(case)
    doc = document(data)
    for key in doc:
        refused(with_document(data, {k: v for k, v in doc.items() if k != key}))
    refused(with_document(data, {**doc, "code": "print()"}))
    text = json.dumps(doc)
    refused(with_document(data, None, text[:-1] + ',"model":"qda"}'))
    refused(with_document(data, None, text.replace('"params": {', '"params": {"n_jobs": 2, "n_jobs": 1, ', 1)))
    refused(with_document(data, None, text[:-1] + ',"provenance":' + "[" * 100_000 + "]" * 100_000 + "}"))
    refused(with_document(data, {**doc, "format": 2}))
    refused(with_document(data, {**doc, "params": {**doc["params"], "n_jobs": 10**9}}))
    refused(with_document(data, {**doc, "params": {**doc["params"], "nothing": 1}}))


@every_case
def test_a_file_cannot_name_another_model(case):
    from assay.families import REGISTRY

    data = file_of(case)
    for name in (*REGISTRY, "os.system", "../x", "", "assay.estimator.estimator:Estimator"):
        if name != case.name:
            assert outcome(with_document(data, {**document(data), "model": name})) in ("refused", "loaded")
    refused(with_document(data, {**document(data), "model": "os.system"}))


CLASSES = [
    {"dtype": "str", "values": ["b", "a", "c"]},
    {"dtype": "str", "values": ["a", "a", "c"]},
    {"dtype": "str", "values": ["a", "b"]},
    {"dtype": "str", "values": []},
    {"dtype": "str", "values": ["a", 1, "c"]},
    {"dtype": "str", "values": ["a", "b", None]},
    {"dtype": "object", "values": ["a", "b", "c"]},
    {"dtype": "O", "values": ["a", "b", "c"]},
    {"dtype": "V99999999999", "values": [1, 2, 3]},
    {"dtype": "(1000000000,)f8", "values": [1, 2, 3]},
    {"dtype": "f8,f8", "values": [1, 2, 3]},
    {"dtype": "U999999999", "values": ["a", "b", "c"]},
    {"dtype": "M8[s]", "values": [1, 2, 3]},
    {"dtype": "|u1", "values": [1, 2, 300]},
    {"dtype": "|u1", "values": [-1, 2, 3]},
    {"dtype": "<i8", "values": [1, 2, 10**30]},
    {"dtype": "<i8", "values": [1, 2, 2.5]},
    {"dtype": "<f8", "values": ["1", "2", "3"]},
    {"dtype": "<i8", "values": [3, 2, 1]},
    {"dtype": "(", "values": [1, 2, 3]},
    {"dtype": "<i8 ", "values": [1, 2, 3]},
    {"dtype": "", "values": [1, 2, 3]},
]


@every_case
def test_classes_that_cannot_be_are_refused(case):
    data = file_of(case)
    for classes in CLASSES:
        refused(with_document(data, {**document(data), "classes": classes}))
    refused(
        with_document(
            data, {**document(data), "classes": None if case.classifies else {"dtype": "<i8", "values": [0, 1]}}
        )
    )


@every_case
def test_a_claim_altered_in_the_file_is_refused_by_verification_or_loading(case):
    X, y = case.rows()
    model = case.model().fit(X, y)
    data = encode(model.to_record())
    doc = document(data)
    for number, claim in enumerate(doc["claims"]):
        if claim["kind"] != "proof":
            continue
        wrong = copy.deepcopy(doc)
        wrong["claims"][number]["witness"] = {}
        assert not from_bytes(with_document(data, wrong)).certificate_.verify(X, y).holds, claim["name"]
        wrong = copy.deepcopy(doc)
        wrong["claims"][number]["check"] = "nothing"
        assert not from_bytes(with_document(data, wrong)).certificate_.verify(X, y).holds
    assert not from_bytes(with_document(data, {**doc, "claims": []})).certificate_.verify(X, y).holds


@every_case
@settings(max_examples=30)
@given(data=st.data())
def test_random_alterations_of_the_document_never_escape(case, data):
    original = file_of(case)
    doc = document(original)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(paths(doc))[1:]))
        doc = altered(doc, path, data.draw(json_values))
    outcome(with_document(original, doc))
