"""Checks of kernel SVMs: values, objectives and probabilities are taken again from the rows."""
