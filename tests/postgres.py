"""A real PostgreSQL server for the tests: a private cluster in a temporary folder, with passwords, gone afterwards."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

TOOL = Path(__file__).resolve().parent.parent / "tools" / "postgres"
USER, PASSWORD = "assay", "s3cr3t/pass@word"
OPTIONS = "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c full_page_writes=off"


class Server(NamedTuple):
    port: int

    def address(self, database: str = "postgres", password: str | None = PASSWORD, user: str = USER) -> str:
        from urllib.parse import quote

        account = user if password is None else f"{user}:{quote(password, safe='')}"
        return f"postgresql://{account}@127.0.0.1:{self.port}/{database}"

    def run(self, *statements: str, rows: object = None, table: str | None = None) -> None:
        """Run statements with the rights of the owner; `rows` (an Arrow table) become the table."""
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(self.address()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            if rows is not None:
                cursor.adbc_ingest(table, rows)
            connection.commit()


def programs() -> Path | None:
    """The folder of initdb and pg_ctl; installed first where that can be done."""
    subprocess.run([str(TOOL)], check=False)
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: float(Path(p).parent.name))
    if found and os.access(f"{found[-1]}/initdb", os.X_OK):
        return Path(found[-1])
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def _unprivileged() -> str | None:
    """Who the server runs as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(bin_folder: Path) -> Iterator[Server]:
    """A server on a free port, for as long as the block lasts. One a process: workers of pytest-xdist do not share."""
    user = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="assay-pg-", dir="/tmp"))
    (folder / "password").write_text(PASSWORD)
    if user is not None:
        for path in (folder, folder / "password"):
            shutil.chown(path, user)

    def run(program: str, *words: str) -> None:
        done = subprocess.run(
            [str(bin_folder / program), "-D", str(folder / "data"), *words],
            user=user, group=pwd.getpwnam(user).pw_gid if user else None, extra_groups=[] if user else None,
            cwd=folder, env={"PATH": os.defpath, "LC_ALL": "C"}, stdin=subprocess.DEVNULL,
            stdout=(log := (folder / "output").open("ab")), stderr=log, timeout=60,
        )  # fmt: skip
        if done.returncode:
            server_log = folder / "log"
            raise RuntimeError(
                f"{program} failed:\n{(folder / 'output').read_text()}{server_log.read_text() if server_log.exists() else ''}"
            )

    started = False
    try:
        run(
            "initdb",
            "-U",
            USER,
            "-A",
            "scram-sha-256",
            f"--pwfile={folder / 'password'}",
            "-E",
            "UTF8",
            "--locale=C",
            "-N",
        )
        for attempt in range(3):  # another process may take the port first
            port = _free_port()
            try:
                run("pg_ctl", "-w", "-t", "30", "-l", str(folder / "log"), "-o", f"-p {port} {OPTIONS}", "start")
                started = True
                break
            except RuntimeError:
                if attempt == 2:
                    raise
        yield Server(port)
    finally:
        if started:
            run("pg_ctl", "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)
