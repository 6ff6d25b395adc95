"""Axis-aligned rectangles, the hypothesis class of the papaya example."""
