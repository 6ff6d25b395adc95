"""Approximate kernel features: transformers, and linear models in them."""
