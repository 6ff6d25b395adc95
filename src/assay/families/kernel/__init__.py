"""Kernel machines: functions K(x, z) = ⟨φ(x), φ(z)⟩, support vector machines, the kernel perceptron, and approximate features."""
