"""Benchmarks: ours and the peers interleaved in one run, as ratios. `make bench` writes bench/results/."""
