"""Compiled inner loops (Numba): arrays in, arrays out, nothing else. Only this folder names Numba.

Loops are serial and release the interpreter lock; the engine runs them on many blocks at once.
"""

from assay.loops import compiled_anew as compiled_anew
from assay.loops import compiled_once as compiled_once
