"""Whoever asks `help` of a model is told everything: each parameter, each learnt attribute, what is proved, and an example."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
import re
import warnings

import pytest
from cases import CASES, IDS

import assay
from assay.estimator.docstrings import documented
from assay.estimator.params import defaults
from assay.families import REGISTRY, model_class

OTHERS = (
    assay.NeighborhoodComponentsAnalysis,
    assay.Nystroem,
    assay.RandomFourier,
    assay.RBFSampler,
    assay.NearestNeighbors,
)
CLASSES = [*(model_class(name) for name in REGISTRY), *OTHERS]
SECTIONS = ["Parameters", "Attributes", "Certificate", "See Also", "Examples"]


def is_sentence(text: str, name: str) -> bool:
    """Whether a text explains something: several words, and more than the name said again."""
    words = re.findall(r"[^\W\d_]+", text)
    said = {word.lower() for word in words} - set(name.strip("_").lower().split("_")) - {"the", "a", "of", "is"}
    return len(words) >= 4 and len(said) >= 2


def section(doc: str, title: str) -> str:
    """The text of a section."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-{{3,}}$|\Z)", doc, re.MULTILINE | re.DOTALL)
    assert found, f"no section {title}"
    return found[1]


def shown(model: object) -> set[str]:
    """The public learnt attributes that a fitted model has."""
    kept = {name for name in vars(model) if name.endswith("_")}
    made = {
        k for base in type(model).__mro__ for k, v in vars(base).items() if isinstance(v, property) and k.endswith("_")
    }
    return {name for name in kept | made if not name.startswith("_")}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_parameter_has_a_sentence(cls):
    told = section(cls.__doc__, "Parameters")
    for name, default in defaults(cls).items():
        assert is_sentence(cls.params[name].doc, name), f"{name}: {cls.params[name].doc!r} explains too little"
        assert re.search(rf"^{name} : .+, default={re.escape(repr(default))}\n    \S", told, re.MULTILINE)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_learnt_attribute_has_a_sentence_and_arrays_a_shape(cls):
    told = section(cls.__doc__, "Attributes")
    public = {n for n in getattr(cls, "layout", {}) if n.endswith("_") and not n.startswith("_")}
    assert public <= set(documented(cls))
    for name, (kind, doc) in documented(cls).items():
        assert is_sentence(doc, name), f"{name}: {doc!r} explains too little"
        if "ndarray" in kind:
            assert re.search(r"\(.+,.*\)", kind + doc), f"{name}: nothing tells its shape"
        assert re.search(rf"^{name} : .+\n    \S", told, re.MULTILINE)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_docstring_has_all_sections_in_the_order_that_people_know(cls):
    doc = inspect.getdoc(cls) or ""
    assert re.findall(r"^(\w[\w ]*)\n-{3,}$", doc, re.MULTILINE) == SECTIONS
    assert re.match(r"[A-Z].+\.", doc.split("\n")[0]), "the first line is no sentence"
    assert ">>> " in section(doc, "Examples")
    assert is_sentence(section(doc, "Certificate"), "certificate")
    for line in section(doc, "See Also").strip().splitlines():
        name, _, why = line.partition(" : ")
        assert hasattr(assay, name), f"there is no assay.{name}"
        assert why


@pytest.mark.parametrize("name", REGISTRY)
def test_the_docstring_of_a_model_has_its_formula(name):
    doc = inspect.getdoc(model_class(name)) or ""
    assert re.search(r"^    \S.*[=≤]|^    min", doc[: doc.index("Parameters\n---")], re.MULTILINE)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_fitted_model_shows_no_attribute_that_is_not_explained(case):
    X, y = case.rows(60, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = case.model().fit(X, y)
        model.certify(X, y)
    assert shown(model) <= set(documented(case.cls))


@pytest.mark.parametrize("cls", OTHERS, ids=lambda cls: cls.__name__)
def test_a_fitted_transformer_shows_no_attribute_that_is_not_explained(cls):
    assert shown(cls().fit([[0.0, 1.0], [1.0, 0.5], [2.0, 3.0], [4.0, 1.0], [5.0, 5.0]], [0, 0, 1, 1, 1])) <= set(
        documented(cls)
    )


def test_the_tree_of_neighbours_explains_its_arguments():
    told = section(inspect.getdoc(assay.KDTree) or "", "Parameters")
    assert all(re.search(rf"^{field.name} : ", told, re.MULTILINE) for field in dataclasses.fields(assay.KDTree))


def test_help_shows_it_all():
    text = pydoc.plain(pydoc.render_doc(assay.SVC))
    assert all(f"{title}\n" in text for title in SECTIONS)
    assert "class SVC" in text
    assert "C: 'float' = 1.0" in text


@pytest.mark.parametrize(
    ("text", "name", "good"),
    [
        ("one over the strength of the penalty", "C", True),
        ("", "C", False),
        ("the gamma", "gamma_", False),
        ("n iter", "n_iter_", False),
        ("the iter of the n", "n_iter_", False),
    ],
)
def test_a_name_said_again_is_no_sentence(text, name, good):
    assert is_sentence(text, name) is good
