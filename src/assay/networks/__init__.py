"""Feed-forward networks: their shape, their definition in NumPy, and training by compiled epochs.

    a_0 = x,   a_l = φ(W_lᵀ a_{l−1} + b_l)  for l < L,   f(x) = W_Lᵀ a_{L−1} + b_L

One hidden layer with φ = logistic and no b_L is the lecture notes' f(x) = Σ_i α_i σ(w_i·x + w_{i,0}).
"""

from assay.networks.shape import ACTIVATIONS, LOSSES, Layer, Shape

__all__ = ["ACTIVATIONS", "LOSSES", "Layer", "Shape"]
