"""What the processor offers that loops are compiled for, read once."""

from __future__ import annotations

from llvmlite import binding  # type: ignore[import-untyped]

AVX512 = bool(binding.get_host_cpu_features().get("avx512f", False))  # 32 vector registers of 64 bytes
