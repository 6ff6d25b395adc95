"""Compiled loops of kernel machines: values of kernel functions for many pairs of rows, working sets, visits."""
