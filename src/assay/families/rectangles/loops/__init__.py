"""Compiled loops of rectangles: boxes of rows, and the search for better boxes."""
