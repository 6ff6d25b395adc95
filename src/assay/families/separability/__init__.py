"""Whether a hyperplane separates the classes of a table, by what margin, and the evidence either way."""
