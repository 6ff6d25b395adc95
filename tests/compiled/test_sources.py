"""A kept loop is compiled anew when the text of what it calls has changed."""

from __future__ import annotations

from pathlib import Path

from assay.compiled import cache
from assay.compiled.cache import HOME, sources_of, stamp_of


def test_the_sources_of_a_loop_are_those_of_all_that_it_calls():
    families = HOME / "assay" / "families"
    found = sources_of(families / "networks" / "loops" / "epoch.py")
    for called in ("minibatch.py", "backprop.py"):
        assert families / "networks" / "loops" / called in found
    for called in ("decorator.py", "simd/networks.py", "simd/vectors.py", "simd/memory.py"):
        assert HOME / "assay" / "compiled" / called in found
    assert families / "neighbours" / "loops" / "brute.py" not in found


def test_the_stamp_changes_with_the_text_of_what_is_called(tmp_path: Path):
    loops = tmp_path / "assay" / "loops"
    loops.mkdir(parents=True)
    texts = {
        "caller": "from assay.loops.called import (\n    f,\n    g,\n)\n",
        "called": "    from assay.loops import deeper as d\n",
        "deeper": "X = 1\n",
        "other": "Y = 1\n",
    }

    def stamp(**changed: str) -> bytes:
        for name, text in {**texts, **changed}.items():
            (loops / f"{name}.py").write_text(text)
        for known in (cache._text, cache._digest, cache._imported, stamp_of):
            known.cache_clear()
        return stamp_of(loops / "caller.py", tmp_path)

    first = stamp()
    assert stamp(deeper="X = 2\n") != first
    assert stamp(called=texts["called"] + "Z = 1\n") != first
    assert stamp(other="Y = 2\n") == first


def test_what_a_package_offers_is_a_source(tmp_path: Path):
    package = tmp_path / "assay" / "offers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from assay.offers.decorator import jit\n")
    (package / "decorator.py").write_text("jit = None\n")
    loop = tmp_path / "loop.py"
    loop.write_text("from assay.offers import jit\n")
    assert set(sources_of(loop, tmp_path)) == {loop, package / "__init__.py", package / "decorator.py"}
