"""Compiled loops that read numbers from delimited text."""
