"""A workload is a small function that makes races: data once, contenders, and what their agreement means."""
