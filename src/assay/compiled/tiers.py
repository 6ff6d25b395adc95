"""The processors that loops are compiled for: tiers with names that compilers agree on, not the one processor at hand.

Machine code of a tier runs on every processor of that tier: it can be shipped, and a home that several machines share holds one copy of it.
A loop gives the same bits on all tiers that can multiply and add with one rounding; x86-64-v2 cannot, and to imitate it would be many times slower.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import NamedTuple

from llvmlite import binding  # type: ignore[import-untyped]

from assay.errors import ParameterError


class Tier(NamedTuple):
    """A kind of processor. `needs` are the features that one must have, by LLVM's names, besides those of the tier before."""

    name: str
    needs: tuple[str, ...]
    cpu: str  # LLVM's name
    features: str = ""  # more than that name says
    fused: bool = True  # x·y + z with one rounding
    wide: bool = False  # 32 vector registers of 64 bytes


X86 = (
    Tier("x86-64-v2", ("cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"), "x86-64-v2", fused=False),
    Tier("x86-64-v3", ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"), "x86-64-v3"),
    Tier(
        "x86-64-v4",
        ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
        "x86-64-v4",
        "-prefer-256-bit",
        wide=True,
    ),
)
ARM = (Tier("aarch64", (), "generic", "+neon"),)
SHIPPED = Path(__file__).with_name("shipped")  # code that a wheel brings, a folder a tier


def _host_features() -> dict[str, bool]:
    try:
        return dict(binding.get_host_cpu_features())
    except RuntimeError:  # LLVM cannot tell here
        return {}


def tiers_of(machine: str, features: dict[str, bool]) -> list[Tier]:
    """The tiers whose code runs on a machine, the best last; none for one that no tier is made for.

    >>> tiers_of("x86_64", {})
    []
    """
    if machine.lower() in ("aarch64", "arm64"):
        return list(ARM)
    found: list[Tier] = []
    for tier in X86 if machine.lower() in ("x86_64", "amd64") else ():
        if not all(features.get(need, False) for need in tier.needs):
            break
        found.append(tier)
    return found


def _of_the_machine() -> list[Tier]:
    """The tiers that this machine runs. A processor of none has one of its own: what is compiled for it is of use to no other."""
    features = _host_features()
    name = binding.get_host_cpu_name()
    own = Tier(f"{platform.machine()}-{name}", (), name, fused=features.get("fma", False))
    return tiers_of(platform.machine(), features) or [own]


def _best(here: list[Tier], shipped: Path) -> Tier:
    """The best tier of a machine; where code is shipped, the best of those that it is shipped for."""
    brought = [tier for tier in here if (shipped / tier.name).is_dir()]
    return (brought or here)[-1]


def chosen(asked: str | None, shipped: Path = SHIPPED) -> Tier:
    """The tier to compile for and to load code of, or a lower one that is asked for."""
    here = _of_the_machine()
    best = _best(here, shipped)
    if not asked or asked == best.name:
        return best
    named = {tier.name: tier for tier in here}
    if asked not in named:
        raise ParameterError(f"ASSAY_TIER={asked}: this processor runs {' '.join(named)}. Leave the variable out.")
    return named[asked]


TIER = chosen(os.environ.get("ASSAY_TIER"))
WIDE_REGISTERS = TIER.wide  # a constant that loops can read
