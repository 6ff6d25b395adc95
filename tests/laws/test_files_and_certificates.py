"""What a fit leaves behind: a file that says the same for ever, and a certificate that can be refuted."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import CASES, IDS, answers, file_bytes

import assay
from assay.certify import Certificate
from assay.errors import ModelFileError
from assay.estimator.layout import Tensor

pytestmark = pytest.mark.parametrize("case", CASES, ids=IDS)


def test_a_saved_model_answers_alike_and_saves_to_the_same_bytes(case, tmp_path):
    import pandas as pd

    X, y = case.rows()
    frame = pd.DataFrame(X, columns=list("abcde"))
    for rows, target in ((X, y), (frame, np.array(["p", "q", "r"])[y] if case.classifies else y)):
        model = case.model().fit(rows, target)
        model.save(tmp_path / "m.assay")
        again = assay.load(tmp_path / "m.assay")
        assert type(again) is type(model)
        assert np.array_equal(answers(again, rows), answers(model, rows))
        assert np.array_equal(again.predict(rows), model.predict(rows))
        assert again.get_params() == model.get_params()
        again.save(str(tmp_path / "n.assay"))
        assert (tmp_path / "n.assay").read_bytes() == (tmp_path / "m.assay").read_bytes() == file_bytes(model)
        assert str(again.certificate_) == str(model.certificate_)
        assert again.certificate_.verify(rows, target).holds


def test_text_labels_give_the_same_bytes_in_whatever_array_they_come(case):
    if not case.classifies:
        return
    X, y = case.rows()
    X = X.copy()
    X[y == 1, 0] = X[0, 0]  # a variance of zero in one class, and so a warning that names the class
    text = np.array(["a", "bb", "c"])[y]
    wanted = file_bytes(case.model().fit(X, text))
    for labels in (text.astype(object), np.array([np.str_(t) for t in text], dtype=object), list(text)):
        assert file_bytes(case.model().fit(X, labels)) == wanted


def test_a_file_with_warnings_saves_to_the_same_bytes(case, tmp_path):
    X, y = case.rows()
    X = X.copy()
    X[:, 1] = X[0, 1]
    X[y == y[0], 0] = X[0, 0]
    model = case.model().fit(X, y)
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert file_bytes(again) == (tmp_path / "m.assay").read_bytes()
    assert all(isinstance(number, float | None) for c in model.certificate_ for number in (c.value, c.bound))
    assert again.certificate_.verify(X, y).holds


def test_the_fingerprint_tells_whether_the_rows_are_those_of_the_fit(case, tmp_path):
    X, y = case.rows()
    order = np.random.default_rng(0).permutation(len(y))
    w = 1.0 + np.arange(len(y)) % 2
    for weights in (None, w):
        model = case.model().fit(X, y, sample_weight=weights)
        model.save(tmp_path / "m.assay")
        for fitted in (model, assay.load(tmp_path / "m.assay")):
            assert fitted.certificate_.verify(X, y, weights).notes == ()
    fitted = case.model().fit(X, y)
    verdicts = fitted.certificate_.verify(X[order], y[order])
    by_number = any(
        hasattr(fitted, name) for name in ("dual_rows_", "support_", "X_fit_")
    )  # how these witnesses name rows
    if not case.ordered and not by_number:
        assert verdicts.holds, str(verdicts)
    assert "fingerprint differs" in "".join(verdicts.notes)
    assert "note   fingerprint" in str(verdicts)


def test_a_claim_that_says_anything_else_than_what_follows_from_the_model_is_refused(case):
    X, y = case.rows()
    certificate = case.model().fit(X, y).certificate_
    assert certificate.verify(X, y).holds
    for claim in certificate.claims:
        others = {
            "statement": claim.statement + " and more",
            "kind": "proof" if claim.kind == "estimate" else "estimate",
            "holds": not claim.holds,
            "value": 0.5 if claim.value is None else claim.value * 1.1 + (claim.bound or 0.1),
            "bound": 0.5 if claim.bound is None else claim.bound * 1.1,
            "witness": {**claim.witness, "more": 1},
        }
        false = [dataclasses.replace(claim, **{part: other}) for part, other in others.items()]
        for key, entry in claim.witness.items():
            if not isinstance(entry, np.ndarray):
                false.append(dataclasses.replace(claim, witness={**claim.witness, key: _another(entry)}))
        for wrong in false:  # by itself: those beside it hold
            verdict, *_ = dataclasses.replace(certificate, claims=(wrong,)).verify(X, y)
            assert not verdict.holds, wrong


def _another(entry):
    if isinstance(entry, bool):
        return not entry
    if isinstance(entry, list):
        return entry[::-1] if entry[::-1] != entry else [*entry, 1]
    return entry * 1.001 + 0.001 if isinstance(entry, float) else "other"


def test_weights_of_classes_survive_the_file(case, tmp_path):
    if "class_weight" not in case.cls.params:
        return
    X, y = case.rows()
    for target, weights in ((y, {0: 1.0, int(y.max()): 3}), (np.array(["a", "b", "c"])[y], {"b": 2.5})):
        model = case.model(class_weight=weights).fit(X, target)
        model.save(tmp_path / "m.assay")
        again = assay.load(tmp_path / "m.assay")
        assert again.class_weight == weights
        assert file_bytes(again.fit(X, target)) == file_bytes(model)
        if case.one_fold:
            assert file_bytes(again.partial_fit(X, target)) == file_bytes(model.partial_fit(X, target))


def test_a_loaded_model_goes_on_learning_as_if_it_had_never_been_saved(case, tmp_path):
    X, y = case.rows()
    more, target = case.rows(seed=1)
    if not hasattr(case.model(), "partial_fit"):
        assert not case.one_fold
        return
    model = case.model().fit(X, y)
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert file_bytes(again.partial_fit(more, target)) == file_bytes(model.partial_fit(more, target))


def test_every_fit_makes_claims_and_they_hold_on_its_rows(case):
    X, y = case.rows()
    for w in (None, 0.5 + np.arange(len(y)) % 3):
        model = case.model().fit(X, y, sample_weight=w)
        certificate = model.certificate_
        assert certificate.claims
        assert certificate.holds
        verdicts = certificate.verify(X, y, w)
        assert verdicts.holds, str(verdicts)
        assert len(verdicts) == len(certificate.claims)
        assert all(str(c.name) in str(certificate) and c.statement for c in certificate)
        assert "<table>" in certificate._repr_html_()


def test_the_certificate_is_refused_on_other_rows(case):
    X, y = case.rows()
    other, target = case.rows(seed=1)
    certificate = case.model().fit(X, y).certificate_
    assert not certificate.verify(other, target).holds
    w = 1.0 + (np.arange(len(y)) % 7 == 0)
    assert not certificate.verify(X, y, w).holds


def test_a_certificate_with_an_altered_witness_is_refused(case):
    """The checkers alone must see it: `own=None` takes away the comparison with the model's parts."""
    X, y = case.rows()
    certificate = case.model().fit(X, y).certificate_
    arrays = {
        id(v): (key, v)
        for claim in certificate.claims
        if claim.kind == "proof"
        for key, v in claim.witness.items()
        if isinstance(v, np.ndarray) and v.dtype.kind == "f" and v.size
    }
    assert arrays
    for key, array in arrays.values():
        wrong = array.copy()
        # a threshold that moves without meeting a row is as true
        wrong.flat[0] = np.inf if key == "cut" else wrong.flat[0] * 1.013 + 0.0217
        claims = tuple(
            dataclasses.replace(c, witness={k: wrong if v is array else v for k, v in c.witness.items()})
            for c in certificate.claims
        )
        assert not dataclasses.replace(certificate, claims=claims, own=None).verify(X, y).holds, key


def test_a_model_with_an_altered_part_is_refused(case):
    X, y = case.rows()
    for name, field in case.cls.layout.items():
        if not isinstance(field, Tensor) or name.startswith("state."):
            continue
        model = case.model().fit(X, y)
        before = answers(model, X)
        array = getattr(model, name, None)
        if array is None or not np.size(array) or np.asarray(array).dtype.kind != "f":
            continue
        setattr(model, name, array * 0.9 + 0.01)
        try:
            again = type(model).from_record(model.to_record())
        except ModelFileError:
            continue
        if not np.allclose(answers(again, X), before, rtol=1e-6):
            assert not again.certificate_.verify(X, y).holds, name


def test_a_certificate_without_claims_says_so(case):
    X, y = case.rows()
    assert str(Certificate(())) == "no claims"
    assert not Certificate(()).verify(X, y).holds
