"""Machine code is kept under a name of all that it depends on, shipped code comes first, and nobody else's functions are touched."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.compiled import cache
from assay.compiled.cache import DIGEST, UNUSED, LoopCache
from assay.compiled.tiers import TIER

UNTOUCHED = """
import numba.core.caching as caching
import numba.core.codegen as codegen
import numba.core.cpu as cpu
import numba.core.dispatcher as dispatcher
from numba import njit
from numba.core.registry import cpu_target

def members():
    kinds = [kind for part in (caching, codegen, cpu, dispatcher) for kind in vars(part).values() if isinstance(kind, type)]
    return {(kind, name): value for kind in kinds for name, value in vars(kind).items() if name != "_abc_impl"}

before, code = members(), cpu_target.target_context.codegen()
import importlib, pathlib, assay
home = pathlib.Path(assay.__file__).parent
files = [*home.rglob("loops/*.py"), *home.rglob("loops.py")]
assert files
for file in files:
    importlib.import_module(".".join(["assay", *file.relative_to(home).with_suffix("").parts]).removesuffix(".__init__"))
after = members()
assert before.keys() == after.keys()
assert all(before[key] is after[key] for key in before)
assert cpu_target.target_context.codegen() is code
assert type(njit(lambda x: x)).__module__ == "numba.core.registry"
"""


def run(code: str, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


def test_importing_all_loops_leaves_numba_as_it_was():
    done = run(UNTOUCHED)
    assert done.returncode == 0, done.stderr


USER = """
from numba import njit
from assay.compiled import inlined, jit

@njit(cache=True)
def theirs(x):
    return x + 1

@inlined
def called(x):
    return x + 2

@jit(error_model="numpy")
def ours(x):
    return called(x)
"""
ASK = """
import sys
sys.path.insert(0, sys.argv[1])
import user
print(user.theirs(1), user.ours(1))
print(type(user.theirs._cache).__module__, type(user.ours._cache).__module__, user.ours.targetoptions["nogil"])
print(*(sum(function.stats.cache_hits.values()) for function in (user.theirs, user.ours)))
"""


def ask(place: Path, **environment: str) -> list[str]:
    done = run(ASK, str(place), ASSAY_CACHE=str(place / "kept"), **environment)
    assert done.returncode == 0, done.stderr
    return [*done.stdout.splitlines(), done.stderr]


def kept(place: Path) -> list[Path]:
    return sorted((place / "kept" / "loops" / TIER.name).glob("user.ours-*"))


def test_a_users_function_keeps_its_own_cache_beside_ours(tmp_path: Path):
    (tmp_path / "user.py").write_text(USER)
    said = [ask(tmp_path) for _ in range(2)]
    assert said[0][:2] == ["2 3", "numba.core.caching assay.compiled.cache True"]
    assert [lines[2] for lines in said] == ["0 0", "1 1"]
    code = kept(tmp_path)[0]
    code.write_bytes(code.read_bytes()[:-1] + b"?")  # a damaged file is no file
    assert ask(tmp_path)[2] == "1 0"
    assert ask(tmp_path)[2] == "1 1"
    (tmp_path / "user.py").write_text(USER.replace("x + 2", "x + 3"))
    assert ask(tmp_path)[::2][0] == "2 4"
    assert len(kept(tmp_path)) == 2  # of both texts


@pytest.mark.skipif(sys.platform == "win32", reason="a folder is made read-only by other means there")
def test_where_nothing_can_be_kept_it_says_so_once_and_goes_on(tmp_path: Path):
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "kept").write_text("no folder")
    lines = ask(tmp_path)
    assert lines[0] == "2 3"
    assert lines[-1].count("Compiled loops cannot be kept") == 1
    assert "ASSAY_CACHE" in lines[-1]


def test_a_name_tells_apart_all_that_code_depends_on(monkeypatch):
    from assay.compiled.mixing import mix_rows, row_key

    name = LoopCache(mix_rows.py_func).name
    first = name(("int64",))
    assert first == LoopCache(mix_rows.py_func).name(("int64",))
    others = {name(("int32",)), LoopCache(row_key.py_func).name(("int64",))}
    for change in (("VERSIONS", "0"), ("TIER", TIER._replace(name="other")), ("stamp_of", lambda file: b"text")):
        with monkeypatch.context() as patched:
            patched.setattr(cache, *change)
            others.add(name(("int64",)))
    assert len(others - {first}) == 5


def test_what_a_wheel_brings_comes_first_and_is_not_written_to(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(cache, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(cache, "users_folder", lambda: tmp_path / "own")
    monkeypatch.setattr(cache.CompileResult, "_rebuild", lambda context, *payload: payload)
    from assay.compiled.mixing import row_key

    monkeypatch.setattr(cache.rtsys, "initialize", lambda context: None)
    own = SimpleNamespace(consts=[])
    parts = ("own", "about", own, "signature", False, (), "the text with its types", [])
    others = (own, SimpleNamespace(consts=[]), SimpleNamespace(consts=["a constant"]))
    found, context = LoopCache(row_key.py_func), None
    found.save_overload((), SimpleNamespace(_reduce=lambda: (*parts, others)))
    *loaded, text, _, surroundings = found.load_overload((), context)
    assert (loaded[0], text, [each.consts for each in surroundings]) == ("own", "", [[], ["a constant"]])
    cache._write(tmp_path / "shipped" / TIER.name / found.name(()), cache.dumps(("shipped",)))
    assert found.load_overload((), context) == ("shipped",)
    found.disable()
    assert found.load_overload((), context) is None


def test_code_that_nobody_asks_for_any_more_goes(tmp_path: Path):
    old, other, new = (tmp_path / name for name in ("loop-kind-a", "loop-other-a", "loop-kind-b"))
    for file in (old, other):
        cache._write(file, b"code")
        os.utime(file, (time.time() - 2 * UNUSED,) * 2)
    assert cache._read(other) == b"code"  # which keeps it
    cache._write(new, b"code")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["loop-kind-b", "loop-other-a"]
    assert new.stat().st_size == DIGEST + 4


CLOSURE = """
from assay.compiled import jit
def adding(n):
    @jit
    def add(x):
        return x + n
    return add
print(adding(1)(1), adding(2)(1))
"""


def test_a_loop_that_holds_values_of_its_surroundings_is_not_kept(tmp_path: Path):
    (tmp_path / "closure.py").write_text(textwrap.dedent(CLOSURE))
    for _ in range(2):
        done = run(
            "import sys; sys.path.insert(0, sys.argv[1]); import closure", str(tmp_path), ASSAY_CACHE=str(tmp_path)
        )
        assert done.stdout == "2 3\n", done.stderr


def test_a_warning_does_not_come_twice():
    cache._say_once.cache_clear()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            cache._say_once("no room")
    assert len(said) == 1


PARTS = """
from assay.compiled import inner, jit

@inner
def down(n):
    if n < 0:
        raise ValueError("below zero")
    return n if n == 0 else down(n - 1) + 1

@jit
def first(n):
    return down(n)

@jit
def second(n):
    return down(n) + down(n + 1)

import sys
print((first if sys.argv[1] == "first" else second)(3))
try:
    first(-1)
except ValueError as problem:
    print(problem)
print(sum(down.stats.cache_hits.values()), len(down.overloads[down.signatures[0]].library.get_llvm_str()) > 0)
"""


def test_a_part_is_shared_by_the_loops_that_call_it_also_from_files(tmp_path: Path):
    (tmp_path / "parts.py").write_text(PARTS)
    said = []
    for which in ("first", "second"):
        code = "import sys; sys.path.insert(0, sys.argv[2]); import parts"
        done = run(code, which, str(tmp_path), ASSAY_CACHE=str(tmp_path))
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.split("\n"))
    assert said[0][:3] == ["3", "below zero", "0 True"]
    assert said[1][:3] == ["7", "below zero", "1 True"]


def test_a_part_that_python_calls_says_what_to_do():
    from assay.compiled import inner

    with pytest.raises(TypeError, match="declare it with `jit`"):
        inner(lambda x: x)(1)


CALLED = """
from assay.compiled import jit

@jit
def low(x):
    return x + 1

@jit
def high(x):
    return 2 * low(x)
"""
LOADING = """
import sys
sys.path.insert(0, sys.argv[1])
import called
print(called.low(1), sum(called.low.stats.cache_hits.values()), *(name in sys.modules for name in ("numba.np.linalg", "scipy.linalg", "numpy.ma")))
print(called.high(1) if len(sys.argv) > 2 else "")
"""


def test_code_is_loaded_without_the_compilers_definitions_and_serves_loops_that_are_compiled_later(tmp_path: Path):
    (tmp_path / "called.py").write_text(CALLED)
    said = []
    for more in ([], ["and high"]):
        done = run(LOADING, str(tmp_path), *more, ASSAY_CACHE=str(tmp_path))
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.split("\n"))
    assert said[0][0].startswith("2 0 True")
    assert said[1][:2] == ["2 1 False False False", "4"]
