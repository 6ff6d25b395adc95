"""Compiled inner loops: arrays in, arrays out, nothing else. How they are compiled is said in `assay.compiled`.

Loops are serial and release the interpreter lock; the engine runs them on many blocks at once.
"""
