"""Loops that find nearest rows."""
