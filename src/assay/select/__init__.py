"""Choosing between hypotheses."""
