"""Nearest rows, exactly: geometry, k-d tree, brute force, and what is merged from blocks.

The reduced distance of a row x and a query q is r = Σ_j (x_j − q_j)² (norm 2), Σ_j |x_j − q_j| (norm 1), max_j |x_j − q_j|
(norm ∞), Σ_j |x_j − q_j|^p (norm p) or the number of columns that differ (Hamming), in float64, **added in the order of the columns**. The
neighbours of a query are the rows least in (r, row number), in that order. Every path gives these rows and these bits.
"""
