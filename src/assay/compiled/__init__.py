"""How loops are compiled: a decorator with a cache of its own, what the processor offers, and code for vectors by hand (`simd`).

jit       a loop that Python calls; its machine code is kept in files
inner     a loop that only other loops call: without the wrappers that Python would call it through
inlined   besides, its text becomes a part of the caller's: a tuple is passed field by field, which takes longer than a small loop
"""

from assay.compiled.decorator import inlined as inlined
from assay.compiled.decorator import inner as inner
from assay.compiled.decorator import jit as jit
