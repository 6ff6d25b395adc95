"""Parts of loops have no code that Python could call: whatever Python calls is declared with `jit`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import assay

SOURCE = Path(assay.__file__).parent
COMPILED = ("jit", "inner", "inlined")


def decorators(node: ast.FunctionDef) -> set[str]:
    return {ast.unparse(d).split("(")[0] for d in node.decorator_list}


def parts(tree: ast.Module) -> set[str]:
    return {n.name for n in tree.body if isinstance(n, ast.FunctionDef) and decorators(n) & {"inner", "inlined"}}


def calls_of_python(node: ast.AST) -> Iterator[ast.Call]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and decorators(child) & set(COMPILED):
            continue
        if isinstance(child, ast.Call):
            yield child
        yield from calls_of_python(child)


def test_python_calls_no_part_of_other_loops():
    trees = {path: ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
    of_module = {
        ".".join(("assay", *path.relative_to(SOURCE).with_suffix("").parts)): parts(t) for path, t in trees.items()
    }
    assert sum(map(len, of_module.values())) > 100
    wrong = []
    for path, tree in trees.items():
        imported = {
            alias.asname or alias.name
            for n in ast.walk(tree)
            if isinstance(n, ast.ImportFrom) and n.module in of_module
            for alias in n.names
            if alias.name in of_module[n.module]
        } | parts(tree)
        family = ".".join(("assay", *path.relative_to(SOURCE).parts[:-1]))
        near = {name for module, names in of_module.items() if module.startswith(family) for name in names}
        for call in calls_of_python(tree):
            f = call.func
            plain = isinstance(f, ast.Name) and f.id in imported
            dotted = isinstance(f, ast.Attribute) and f.attr in near and "loops" in ast.unparse(f.value)
            if plain or dotted:
                wrong.append(f"{path.relative_to(SOURCE)}:{call.lineno} {ast.unparse(f)}")
    assert not wrong, wrong
