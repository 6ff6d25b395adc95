"""How loops are compiled that only other loops call: without the wrappers that Python would call them through.

`inlined`: besides, their text becomes a part of the caller's. A tuple is passed field by field, which for small nodes takes longer than the search.
"""

from __future__ import annotations

from numba import njit

inner = njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
inlined = njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)
