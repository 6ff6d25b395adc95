"""The command line as it was typed, so that a report can say how to get it again."""

from __future__ import annotations

import click


def command_line(context: click.Context) -> str:
    """As it can be typed again; a password in an address is not repeated."""
    import shlex

    from assay.tables.sources.addresses import masked

    words = context.find_root().obj or []
    return "assay " + " ".join(shlex.quote(masked(word)) for word in words)
