"""The dual of kernel machines: the problem, the notes' own solver, and the fast one."""
