"""Code for vectors by hand: LLVM instructions (llvmlite) with vector types spelt out, where LLVM does not find them by itself.

Each name exists twice: generated in place for compiled loops, and in plain Python for a run without the compiler. No loop here is compiled by
itself: `assay.loops` calls these names.
"""
