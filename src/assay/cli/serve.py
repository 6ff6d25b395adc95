"""`assay serve`: models behind HTTP."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from assay.cli.options import MEMORY, SECONDS, speaking
from assay.cli.shell import Shell

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command()
@click.argument("models", metavar="MODEL_OR_FOLDER")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: any that is free.")
@click.option(
    "--token", metavar="SECRET", envvar="ASSAY_TOKEN", help="Callers must send it: Authorization: Bearer SECRET."
)
@click.option("--max-bytes", type=MEMORY, default="100M", show_default=True, help="Of a body, unpacked.")
@click.option("--max-rows", type=click.IntRange(min=1), default=1_000_000, show_default=True, help="Of a request.")
@click.option(
    "--timeout", type=SECONDS, default="30", show_default=True, help="For a request to arrive and be answered."
)
@click.option("--queue", type=click.IntRange(min=1), default=16, show_default=True, help="Requests that may wait; beyond, only short waits.")  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Threads for large requests (default: all this process may use)."
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes that answer.")
@click.option("--certfile", type=click.Path(exists=True, dir_okay=False), help="Certificate (PEM): answer over TLS.")
@click.option("--keyfile", type=click.Path(exists=True, dir_okay=False), help="Its key, if not in the same file.")
@speaking("serve")
def command(
    models: str,
    host: str,
    token: str | None,
    certfile: str | None,
    keyfile: str | None,
    jobs: int | None,
    shell: Shell,
    **limits: Any,
) -> None:
    """Answer requests with the model of a file, or with all models (*.assay) of a folder.

    By the Open Inference Protocol V2 (POST /v2/models/NAME/infer) and by plain rows (POST /predict). A replaced file is
    picked up while requests go on; SIGTERM finishes what is under way. The address goes to standard output, a JSON line a
    request to standard error (--quiet: none).

    \b
    assay serve churn.assay --port 8080
    curl localhost:8080/predict -H 'content-type: application/json' -d '[{"age": 41, "plan": "basic"}]'
    """
    from assay.engines.engine import worker_count
    from assay.server.app import ServerSettings
    from assay.server.run import run

    path = Path(models)
    if not path.exists():
        raise click.UsageError(
            f"There is no file or folder {models!r}: give a model file (*.assay) or a folder of them."
        )
    if token == "":
        raise click.UsageError("--token is empty: give a secret, or leave it out.")
    if keyfile is not None and certfile is None:
        raise click.UsageError("--keyfile needs --certfile: give the certificate too.")
    if token is None and host not in LOOPBACK:
        shell.note(f"anyone who reaches {host} can ask: give --token SECRET to let in those who know it")
    settings = ServerSettings(
        host=host,
        token=token,
        threads=jobs or worker_count(),
        access_log=not shell.quiet,
        certfile=certfile,
        keyfile=keyfile,
        **limits,
    )

    def started(url: str, names: list[str]) -> None:
        shell.result({"url": url, "models": names}, f"{url}\n{len(names)} model(s): {', '.join(names)}")
        sys.stdout.flush()

    run(path, settings, started)
