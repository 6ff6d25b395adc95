"""Loops of kernel machines: values of kernel functions for many pairs of rows, and the dual problem of a working set."""
