"""What the import contract cannot see: modules that are loaded by name, and private parts that are read from other folders."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay

ROOT = Path(assay.__file__).parent
PRODUCT = ("assess", "cli", "pictures", "plots", "report", "selection", "server", "studio", "tables")
OF_PYTHON = {"_replace", "_asdict", "_fields", "_make", "_exit"}
OF_UVICORN = {"_start_asgi_task", "_unset_keepalive_if_required"}  # inherited by the service's protocol


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.AST]:
    """All modules: read by who runs these tests, not by all who collect them."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}


def folder(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def loaded_by_name(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            yield node


def test_a_module_is_loaded_by_name_only_within_its_own_folder(trees):
    """The front of the package may load all; a table of modules (a variable) is one of the folder's own."""
    for path, tree in trees.items():
        if path.parent == ROOT:
            continue
        for call in loaded_by_name(tree):
            named = [part.value for part in ast.walk(call.args[0]) if isinstance(part, ast.Constant)]
            assert all(str(name).startswith(f"assay.{folder(path)}.") for name in named), f"{path}: {ast.unparse(call)}"


def defined(tree: ast.AST) -> Iterator[str]:
    """Names that a module gives to something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.attr if isinstance(node, ast.Attribute) else node.id


def test_private_parts_are_read_in_their_own_folder_alone(trees):
    names: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees.items():
        names[folder(path)].update(defined(tree))
    foreign = []
    for path, tree in trees.items():
        if folder(path) not in PRODUCT:
            continue
        for node in ast.walk(tree):
            read = [node.attr] if isinstance(node, ast.Attribute) else []
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("assay."):
                read = [alias.name for alias in node.names]
            private = [name for name in read if name.startswith("_") and not name.startswith("__")]
            foreign += [
                f"{path}:{node.lineno}: {name}"
                for name in private
                if name not in names[folder(path)] | OF_PYTHON | OF_UVICORN
            ]
    assert foreign == []
