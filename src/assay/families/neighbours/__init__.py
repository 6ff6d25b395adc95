"""Nearest neighbours: classes, numbers, or neighbours alone. Shape: pairwise blocks."""
