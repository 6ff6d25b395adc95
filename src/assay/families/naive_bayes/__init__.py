"""Naive Bayes: a density for each column, under the names that people know. Shape: one fold."""
