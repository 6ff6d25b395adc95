"""What is said of the package in several places is the same in all: versions, dependencies, extras."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA = (ROOT / "packaging/conda/meta.yaml").read_text()
OTHER_NAMES = {"duckdb": "python-duckdb"}  # what conda calls it


def test_the_version_is_the_same_everywhere():
    assert f'version = "{assay.__version__}"' in CONDA
    assert f"version: {assay.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_recipe_needs_what_the_package_needs():
    wanted = {_spaced(needed) for needed in PROJECT["dependencies"]}
    listed = CONDA.split("  run:")[1].split("\n\n")[0]
    assert {line.strip("- ").strip() for line in listed.splitlines() if line.strip()} - {"python >=3.11"} == wanted


def _spaced(needed: str) -> str:
    name, limits = re.fullmatch(r"([a-z-]+)(.*)", needed).groups()
    return f"{OTHER_NAMES.get(name, name)} {limits}"


@pytest.mark.parametrize("place", ["README.md", "docs", "src"])
def test_every_extra_that_is_named_is_there(place):
    files = (
        [ROOT / place] if (ROOT / place).is_file() else [*(ROOT / place).rglob("*.md"), *(ROOT / place).rglob("*.py")]
    )
    named = {
        e for f in files for found in re.findall(r"assay-ml\[([a-z, ]+)\]", f.read_text()) for e in found.split(",")
    }
    named |= {e for f in files for e in re.findall(r"\{install\(['\"](\w+)['\"]\)\}", f.read_text())}
    assert named <= set(PROJECT["optional-dependencies"])
    assert named or place == "docs"


def test_the_readme_lists_every_extra():
    rows = re.findall(
        r"^\| (`.*?) \|", (ROOT / "README.md").read_text().split("### Installing it")[1].split("##")[0], re.M
    )
    listed = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    assert listed == {e for e in PROJECT["optional-dependencies"] if not e.startswith("bench-")}


def test_the_image_looks_for_compiled_loops_where_they_were_warmed():
    _, build, image = (ROOT / "Dockerfile").read_text().split("\nFROM ")
    kept = re.findall(r"ASSAY_CACHE=(\S+)", build)
    assert kept == re.findall(r"ASSAY_CACHE=(\S+)", image)
    assert len(kept) == 1
    assert any(kept[0].startswith(f"{folder}/") for folder in re.findall(r"COPY --from=build (\S+)", image))


def test_classifiers_name_no_python_that_the_workflow_does_not_run():
    versions = [
        c.rpartition(" ")[2] for c in PROJECT["classifiers"] if c.startswith("Programming Language :: Python :: 3.")
    ]
    matrix = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/test.yml").read_text()).group(1)
    assert versions
    assert set(versions) <= set(re.findall(r'"([\d.]+)"', matrix))
    assert PROJECT["requires-python"] == f">={min(versions, key=lambda v: int(v[2:]))}"
