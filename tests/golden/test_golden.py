"""Files written once must load for ever and answer what they answered then."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from cases import answers

import assay
from assay.families import REGISTRY

HERE = Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("golden_make", HERE / "make.py")
assert spec is not None
assert spec.loader is not None
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_model_has_a_golden_file(name):
    assert (HERE / f"{name}.assay").is_file(), "run tests/golden/make.py"
    assert (HERE / f"{name}.json").is_file()


@pytest.mark.parametrize("path", sorted(HERE.glob("*.assay")), ids=lambda path: path.stem)
def test_a_golden_file_answers_what_it_always_answered(path):
    said = json.loads(path.with_suffix(".json").read_text())
    model = assay.load(path)
    assert type(model).name == path.stem
    found = model.predict(said["rows"])
    if found.dtype.kind == "f":
        assert np.allclose(found, said["predict"], rtol=1e-12, atol=1e-12)
    else:
        assert found.tolist() == said["predict"]
    assert np.allclose(answers(model, said["rows"]), said["answers"], rtol=1e-12, atol=1e-12)
    assert [claim.name for claim in model.certificate_] == said["claims"]


@pytest.mark.parametrize("path", sorted((HERE / "tables").glob("*.assay")), ids=lambda path: path.stem)
def test_a_golden_file_of_a_table_answers_and_verifies_as_it_always_did(path):
    said = json.loads(path.with_suffix(".json").read_text())
    model, table = assay.load(path), make.mixed_table()
    assert model.predict(table).tolist() == said["predict"]
    assert [claim.name for claim in model.certificate_] == said["claims"]
    assert model.certificate_.verify(table).holds


@pytest.mark.parametrize("path", sorted((HERE / "several").glob("*.assay")), ids=lambda path: path.stem)
def test_a_golden_file_of_two_targets_answers_and_verifies_as_it_always_did(path):
    said = json.loads(path.with_suffix(".json").read_text())
    model, (X, Y) = assay.load(path), make.two_targets(path.stem)
    assert model.predict(X[:12]).tolist() == said["predict"]
    assert [claim.name for claim in model.certificate_] == said["claims"]
    assert model.certificate_.verify(X, Y).holds
