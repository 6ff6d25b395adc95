"""Compiled loops of solvers: one pass over a block of rows at given weights."""
