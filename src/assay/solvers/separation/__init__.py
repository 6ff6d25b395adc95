"""Whether a hyperplane separates two classes, and the one of greatest margin."""
