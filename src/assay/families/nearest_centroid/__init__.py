"""The nearest centroid: a point for each class. Shape: one fold."""
