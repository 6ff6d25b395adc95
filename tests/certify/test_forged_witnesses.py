"""Whatever stands in the place of a witness, verification ends in a refusal with a sentence: never in an exception, never in a claim that holds."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from cases import CASES
from store.hostile import ONCE, document, every_case, file_of, from_bytes, parts, with_document

import assay
from assay.certify import Certificate, Claim
from assay.certify.registry import check
from assay.errors import ModelFileError

NESTED: object = 0.5
for _ in range(25):
    NESTED = [NESTED]
FORGED = [
    None, True, -1, 10**30, 2**63, 0.5, "x", [], [[]], [1, "a", None], {}, {"a": {"b": []}}, NESTED, {"$": "nan"}, {"$": "inf"},
    {"$": [[0, 1.0]]}, ["x"] * 100,
]  # fmt: skip


def rows_of(model):
    X = np.abs(np.arange(120, dtype=float).reshape(40, 3) % 7)
    return X, model.classes_[np.arange(40) % len(model.classes_)] if hasattr(model, "classes_") else X[:, 0]


@every_case
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_forged_entry_of_a_witness_is_refused_with_a_sentence(case):
    data = file_of(case)
    doc = document(data)
    arrays = [{"array": name} for name in parts(data)[0] if name != "__metadata__"]
    for number, claim in enumerate(doc["claims"]):
        for turn, key in enumerate(claim["witness"]):
            for value in (FORGED[(turn + ONCE.index(case)) % len(FORGED)], arrays[turn % len(arrays)]):
                if value == claim["witness"][key]:
                    continue
                wrong = copy.deepcopy(doc)
                wrong["claims"][number]["witness"][key] = value
                model = from_bytes(with_document(data, wrong))
                verdict = list(model.certificate_.verify(*rows_of(model)))[number]
                assert not verdict.holds, (claim["name"], key, value)
                assert 10 < len(verdict.reason) < 1000


def test_what_is_nested_deeper_than_any_honest_file_is_refused_at_loading():
    data = file_of(CASES[0])
    doc = document(data)
    deep: object = 0
    for _ in range(100):
        deep = {"a": deep}
    for place in ("provenance", "facts", "params"):
        with pytest.raises(ModelFileError, match="nested too deeply"):
            from_bytes(with_document(data, {**doc, place: {**doc[place], "x": deep}}))


def test_a_checker_that_fails_in_any_way_refuses_the_claim():
    for number, error in enumerate(
        (RecursionError("deep"), AssertionError(), StopIteration(), NotImplementedError("no"))
    ):

        def broken(claim, rows, predict, error=error):
            raise error

        check(f"broken {number}")(broken)
        verdicts = Certificate((Claim("c", "s", True, f"broken {number}"),)).verify([[1.0]], [0])
        assert not verdicts.holds
        assert "cannot be checked" in str(verdicts)


def test_a_table_that_cannot_be_read_is_no_refusal_of_the_claim():
    def broken(claim, rows, predict):
        raise OSError(5, "the disk is gone")

    check("unreadable rows")(broken)
    with pytest.raises(OSError, match="the disk is gone"):
        Certificate((Claim("c", "s", True, "unreadable rows"),)).verify([[1.0]], [0])


def test_a_forged_witness_ends_the_command_with_4(tmp_path, capfd):
    from assay.cli import app

    path = tmp_path / "m.assay"
    assert app.run(["train", "coins", "--model", "erm", "--out", str(path)]) == 0
    data = path.read_bytes()
    doc = document(data)
    for number, claim in enumerate(doc["claims"]):
        for key in [k for k, value in claim["witness"].items() if value != {"array": "coef_"}]:
            wrong = copy.deepcopy(doc)
            wrong["claims"][number]["witness"][key] = {"array": "coef_"}
            path.write_bytes(with_document(data, wrong))
            capfd.readouterr()
            assert app.run(["verify", str(path), "coins"]) == 4, (claim["name"], key)
            assert "FAILS" in capfd.readouterr().out


@pytest.mark.parametrize("size", [1e160, 1e300, 1e308])
def test_coefficients_so_large_that_every_limit_overflows_prove_nothing(size):
    rng = np.random.default_rng(0)
    X = 3.0 + rng.normal(size=(30, 3)) ** 2
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=30)
    model = assay.LinearRegression(fit_intercept=False).fit(X, y)
    for wrong in (np.full(3, size), np.array([size, 0.0, 0.0])):
        model.coef_ = wrong
        with np.errstate(all="ignore"):
            claims = tuple(model._own_claims())  # the best forger makes all claims anew
        assert not replace(model.certificate_, claims=claims).verify(X, y).holds


def test_more_draws_than_any_fit_makes_are_refused_without_being_made():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    model = assay.RandomForestClassifier(3, max_depth=3).fit(X, y)
    model.draws_ = 1 << 60
    claims = tuple(model._own_claims())
    verdicts = replace(model.certificate_, claims=claims).verify(X, y)
    assert not verdicts.holds
    assert "cannot have been drawn from 30" in str(verdicts)
