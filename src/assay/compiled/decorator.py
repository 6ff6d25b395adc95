"""The decorator of all our loops: Numba's, for a target and with a cache of our own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import config

from assay.compiled.cache import LoopCache
from assay.compiled.target import for_tier


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a loop when it is first called, or load it where that has been done before. Other loops run meanwhile: it holds no lock of the
    interpreter. Options are those of Numba's `njit`."""
    if function is None:
        return partial(jit, **options)
    dispatcher = for_tier(function, nogil=True, **options)
    if not config.DISABLE_JIT and function.__closure__ is None:  # the text says nothing of what a closure holds
        dispatcher._cache = LoopCache(function)
    return dispatcher


inner = partial(jit, no_cpython_wrapper=True, no_cfunc_wrapper=True)
inlined = partial(inner, forceinline=True)
