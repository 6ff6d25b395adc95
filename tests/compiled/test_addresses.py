"""Addresses of arrays: a loop that takes one of an array of its own keeps the array until it is done with it."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.compiled import jit
from assay.compiled.simd.memory import data_pointer, keep_alive

FOLDER = Path(assay.__file__).parent
FILES = sorted(
    file for file in FOLDER.rglob("*.py") if {"loops", "loops.py", "compiled"} & set(file.relative_to(FOLDER).parts)
)


def _root(node):
    """The name that an expression begins with."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _called(function, name):
    return [n for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name]  # fmt: skip


def _own(function):
    """The names of arrays that a function makes itself: not those that it is given, nor parts of these."""
    given = {argument.arg for argument in function.args.args}
    found = set()
    for assigned in (n for n in ast.walk(function) if isinstance(n, ast.Assign)):
        for target in assigned.targets:
            names, values = [target], [assigned.value]
            if isinstance(target, ast.Tuple):
                names = target.elts
                alone = not isinstance(assigned.value, ast.Tuple)
                values = [assigned.value] * len(names) if alone else assigned.value.elts
            found |= {name.id for name, value in zip(names, values) if isinstance(name, ast.Name) and _root(value) not in given}  # fmt: skip
    return found


def forgotten(text):
    """(function, what) of addresses whose array may be gone before they are used for the last time."""
    found = []
    for function in (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)):
        own, kept = _own(function), {}
        for call in _called(function, "keep_alive"):
            for array in call.args[0].elts:
                kept[array.id] = max(kept.get(array.id, 0), call.lineno)
        for call in _called(function, "data_pointer"):
            name = _root(call.args[0])
            if name is None or (name in own and kept.get(name, 0) <= call.lineno):
                found.append((function.name, ast.unparse(call)))
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_every_array_whose_address_is_taken_is_kept(file):
    assert forgotten(file.read_text()) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("def f(n):\n s = empty(n)\n p = data_pointer(s)\n use(p)", ["data_pointer(s)"]),
        ("def f(n):\n s = empty(n)\n p = data_pointer(s)\n use(p)\n keep_alive((s,))", []),
        ("def f(n):\n s = empty(n)\n keep_alive((s,))\n p = data_pointer(s)", ["data_pointer(s)"]),
        (
            "def f(n):\n s, t = empty(n), empty(n)\n p = data_pointer(s[1:]), data_pointer(t)\n keep_alive((t,))",
            ["data_pointer(s[1:])"],
        ),
        ("def f(n):\n use(data_pointer(empty(n)))", ["data_pointer(empty(n))"]),
        ("def f(a, t):\n part = a[1:]\n use(data_pointer(a), data_pointer(part), data_pointer(t.x))", []),
    ],
)
def test_the_reader_sees_what_is_forgotten(text, wrong):
    assert [what for _, what in forgotten(text)] == wrong


@jit
def _scratch(n):  # type: ignore[no-untyped-def]
    own = np.empty(n)
    address = data_pointer(own)
    for i in range(n):
        address[i] = 1.0
    other = np.full(n, 7.0)  # takes the memory of `own`, were it free
    total = 0.0
    for i in range(n):
        total += address[i]
    keep_alive((own,))
    return total, other[0]


@pytest.mark.parametrize("n", [4, 32, 1000])
def test_an_array_lives_until_it_is_named_for_the_last_time(n):
    assert _scratch(n) == (n, 7.0)
