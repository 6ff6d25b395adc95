"""Compiled loops that find nearest rows."""
