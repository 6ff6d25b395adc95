"""Checks of neighbours: every row is compared with every query, distances by the formula of the metric, votes counted one by one."""
