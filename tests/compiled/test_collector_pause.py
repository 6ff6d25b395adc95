"""Python looks for no cycles while a loop is compiled, and goes on as before afterwards, also where that fails."""

from __future__ import annotations

import gc
import threading

import pytest
from numba import config, types
from numba.core.errors import TypingError

from assay.compiled.decorator import PAUSE, inner

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


def test_cycles_are_looked_for_again_after_compiling(monkeypatch):
    seen = []
    monkeypatch.setattr(gc, "enable", lambda on=gc.enable: seen.append(gc.isenabled()) or on())
    inner(lambda x: x + 1).compile((types.int64,))
    assert seen == [False]
    assert gc.isenabled()


def test_cycles_are_looked_for_again_where_compiling_fails():
    with pytest.raises(TypingError):
        inner(lambda x: x.nothing_like_it).compile((types.int64,))
    assert gc.isenabled()


def test_the_last_of_several_threads_ends_the_pause():
    begun, may_end = threading.Event(), threading.Event()

    def other():
        with PAUSE.held():
            begun.set()
            may_end.wait()

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    with PAUSE.held():
        pass
    still = gc.isenabled()
    may_end.set()
    thread.join()
    assert not still
    assert gc.isenabled()


def test_who_has_turned_it_off_keeps_it_off():
    gc.disable()
    try:
        with PAUSE.held():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
