"""What the service is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Limits of a request (`max_bytes`, `max_rows`, `timeout` in seconds), of waiting (`queue`), and the secret of callers."""

    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    max_bytes: int = 100_000_000
    max_rows: int = 1_000_000
    timeout: float = 30.0
    queue: int = 16
    threads: int = 2
    max_connections: int = 800  # processes may often have 1024 files open
    access_log: bool = True
