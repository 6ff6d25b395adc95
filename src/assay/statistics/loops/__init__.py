"""Compiled loops of statistics: moments and products of columns."""
