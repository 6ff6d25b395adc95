"""A kept loop is compiled anew when the text of what it calls has changed."""

from __future__ import annotations

from pathlib import Path

from assay.loops.compiled_anew import HOME, sources_of, stamp_of

from assay.loops import compiled_anew


def test_the_sources_of_a_loop_are_those_of_all_that_it_calls():
    loops = HOME / "assay" / "loops"
    found = sources_of(loops / "network" / "epoch.py")
    for called in ("network/losses.py", "network/softmax.py", "kernels/vectors.py", "tree/bare.py"):
        assert loops / called in found
    assert loops / "neighbours" / "scan.py" not in found


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
        for known in (compiled_anew._text, compiled_anew._digest, compiled_anew._imported, stamp_of):
            known.cache_clear()
        return stamp_of(loops / "caller.py", tmp_path)

    first = stamp()
    assert stamp(deeper="X = 2\n") != first
    assert stamp(called=texts["called"] + "Z = 1\n") != first
    assert stamp(other="Y = 2\n") == first


def test_the_compiler_asks_for_this_stamp():
    from assay.loops.network.epoch import run_epochs

    file = HOME / "assay" / "loops" / "network" / "epoch.py"
    assert run_epochs._cache._cache_file._source_stamp == stamp_of(file)
