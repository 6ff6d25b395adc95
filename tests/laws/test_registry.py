"""Every model of the registry is there and keeps the shape of the protocol."""

from __future__ import annotations

import inspect

import pytest

import assay
from assay.estimator.estimator import Estimator
from assay.estimator.params import Param, defaults
from assay.families import CLASS_NAMES, REGISTRY, model_class


@pytest.mark.parametrize("name", REGISTRY)
def test_every_registered_model_can_be_imported_and_knows_its_name(name):
    cls = model_class(name)
    assert issubclass(cls, Estimator)
    assert cls.name == name


@pytest.mark.parametrize("name", REGISTRY)
def test_every_hyper_parameter_stands_in_the_table_and_its_default_is_accepted(name):
    cls = model_class(name)
    assert set(cls.params) == set(defaults(cls))
    for parameter, default in defaults(cls).items():
        table = cls.params[parameter]
        assert isinstance(table, Param)
        assert table.doc
        assert table.describe()
        assert default is not inspect.Parameter.empty
        assert table.accepts(default)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_model_has_a_docstring_that_names_its_shape(name):
    doc = inspect.getdoc(model_class(name)) or ""
    assert "Shape:" in doc or "hape: " in (inspect.getdoc(inspect.getmodule(model_class(name))) or "")


@pytest.mark.parametrize("cls", CLASS_NAMES)
def test_every_model_is_found_at_the_top_level(cls):
    assert getattr(assay, cls).__name__ == cls
    assert cls in dir(assay)


def test_models_lists_the_registry_in_order():
    assert list(assay.models()) == list(REGISTRY)
