"""The reference leaves nothing out: it is written from the code, and these ask whether all of the code is in it."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))

from reference import commands, errors, functions, markdown, models, service

import assay
from assay import plots
from assay.families import CLASS_NAMES, REGISTRY, model_class


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_page_of_a_model_has_every_hyper_parameter_and_every_part_of_its_file(name):
    cls = model_class(name)
    page = models.page(name, cls)
    assert [key for key in (*cls.params, *cls.layout) if f"`{key}`" not in page] == []


def test_every_public_name_is_in_the_reference():
    pages = functions.pages()
    named = [name for name in dir(assay) if name not in CLASS_NAMES and not name.startswith("_")]
    folders = {"assess", "plots", "report", "notes"}
    assert [name for name in named if name not in folders and f"## {name}\n" not in pages["functions"]] == []
    assert [name for name in dir(plots) if f"## {name}\n" not in pages["plots"]] == []


def test_every_verb_and_every_option_is_in_the_reference():
    page = commands._commands()
    for name, verb in commands.verbs().items():
        assert f"## assay {name}\n" in page
        for option in verb.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert all(f"`{word}`" in page for word in option.opts)


def test_every_exit_code_of_an_error_is_in_the_reference():
    page = commands._exit_codes()
    assert all(f"`{cls.exit_code}`" in page for cls in errors.every_error() if hasattr(cls, "exit_code"))
    assert "`130`" in page


def test_every_path_of_the_service_is_in_the_reference():
    page = service.pages()["http"]
    assert "POST /predict" in page
    assert "/v2/models/" in page


def test_words_mean_nothing_to_markdown_but_code_does():
    assert markdown.plain("a_b * c < d | `e_f`") == r"a\_b \* c \< d \| `e_f`"
