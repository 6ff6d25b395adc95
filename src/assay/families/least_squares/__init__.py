"""Least squares: linear regression and ridge regression. Shape: one fold."""
