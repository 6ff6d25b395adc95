"""Checkers by the name that a claim carries.

A checker registers itself with `@check(name)`. Which modules (or folders of them) hold checkers is told from above, with `checks_in`, and
they are imported when a claim first asks for a name that is not known yet: certificates know no model.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.certify.claim import Claim, Verdict
    from assay.certify.rows import CheckedRows

    Check = Callable[[Claim, CheckedRows, Any], Verdict]

_checks: dict[str, Check] = {}
_modules = ["assay.certify.check_held_out"]


def check(name: str) -> Callable[[Check], Check]:
    """Register a checker of the claims whose `check` is `name`."""

    def register(function: Check) -> Check:
        if name in _checks:
            raise ValueError(f"there are two checkers of {name!r}")
        _checks[name] = function
        return function

    return register


def checks_in(*modules: str) -> None:
    """Say which modules, or folders of them, hold checkers."""
    _modules.extend(module for module in modules if module not in _modules)


def checker(name: str) -> Check | None:
    """The checker of that name, or None."""
    for module in _modules:
        if name in _checks:
            break
        _load(module)
    return _checks.get(name)


def all_checks() -> dict[str, Check]:
    """Every checker there is, by name."""
    for module in _modules:
        _load(module)
    return dict(_checks)


def _load(module: str) -> None:
    """Import a module and, where it is a folder, all that lie in it."""
    for inner in iter_modules(getattr(import_module(module), "__path__", ()), f"{module}."):
        import_module(inner.name)
