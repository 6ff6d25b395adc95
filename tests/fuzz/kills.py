"""Command lines killed at random moments: exit code 130 or 143, no traceback, files old or new, nothing left after the next save.

    python tests/fuzz/kills.py --seed 1 --minutes 10

A case draws a verb, a signal (Ctrl-C, SIGTERM or SIGKILL), whether the terminal sends it to all processes or somebody to one, and a moment
between the start and a little after the end. Ctrl-C before the first line of Assay runs is Python's own: what it writes then is
not counted, nor is it ours to mend.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fuzz.by_minutes import run_cases, run_minutes

LIMIT = 120.0  # seconds in which a process must have ended
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
COMPLAINTS = ("Traceback", "Exception ignored", "Fatal Python error", "unexpected ")
OLD = b"what was there before"


@dataclass(frozen=True)
class KilledVerb:
    """A command line and the file that it writes; one that serves ends only when it is told to."""

    words: tuple[str, ...]
    out: str | None = None
    serves: bool = False


FIT = ("--target", "y", "--quiet", "--jobs", "1")
VERBS = (
    KilledVerb(("train", "rows.csv", *FIT, "--model", "gaussian-nb", "--out", "out.assay"), "out.assay"),
    KilledVerb(("train", "rows.csv", *FIT, "--model", "mlp", "--max-iter", "30", "--out", "net.assay"), "net.assay"),
    KilledVerb(("train", "rows.csv", *FIT, "--model", "logistic-regression-cv", "--out", "cv.assay"), "cv.assay"),
    KilledVerb(("train", "rows.csv", *FIT, "--model", "gradient-boosting", "--out", "boosted.assay"), "boosted.assay"),
    KilledVerb(("compare", "rows.csv", *FIT, "--models", "baseline,gaussian-nb,lda", "--out", "best.assay"), "best.assay"),
    KilledVerb(("predict", "m.assay", "rows.csv", "--out", "answers.csv"), "answers.csv"),
    KilledVerb(("predict", "m.assay", "rows.csv", "--out", "answers.parquet"), "answers.parquet"),
    KilledVerb(("verify", "m.assay", "rows.csv")),
    KilledVerb(("evaluate", "m.assay", "rows.csv")),
    KilledVerb(("inspect", "m.assay")),
    KilledVerb(("schema", "rows.csv", "--target", "y")),
    KilledVerb(("separable", "rows.csv", "--target", "y")),
    KilledVerb(("datasets",)),
    KilledVerb(("serve", "m.assay", "--port", "0", "--quiet"), serves=True),
    KilledVerb(("serve", "m.assay", "--port", "0", "--quiet", "--workers", "2"), serves=True),
    KilledVerb(("studio", "--no-browser"), serves=True),
)  # fmt: skip


@dataclass
class KillingGround:
    """A folder with rows and a model; what each verb writes when nobody disturbs it, and how long it takes."""

    folder: Path
    whole: dict[KilledVerb, bytes] = field(default_factory=dict)
    seconds: dict[KilledVerb, float] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        rng = random.Random(0)
        rows = [(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(300)]
        text = "".join(f"{a},{b},{'yes' if a + b > 0 else 'no'}\n" for a, b in rows)
        (self.folder / "rows.csv").write_text("a,b,y\n" + text)
        model = ("train", "rows.csv", *FIT, "--model", "gaussian-nb", "--out", "m.assay")
        subprocess.run(self.command(model), cwd=self.folder, check=True, capture_output=True, timeout=LIMIT)

    @staticmethod
    def command(words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "assay", *words]

    def learn(self, verb: KilledVerb) -> None:
        """Run the verb to its end once."""
        if verb in self.seconds:
            return
        began = time.monotonic()
        if not verb.serves:
            subprocess.run(self.command(verb.words), cwd=self.folder, capture_output=True, timeout=LIMIT, check=True)
            self.seconds[verb] = time.monotonic() - began
            if verb.out is not None:
                self.whole[verb] = (self.folder / verb.out).read_bytes()
        else:
            self.seconds[verb] = 1.5

    def is_over(self) -> bool:
        """Never: every case has a process of its own."""
        return False

    def case(self, rng: random.Random, verb: KilledVerb | None = None, number: int | None = None) -> list[str]:
        """Kill one run; what is wrong about it."""
        verb, number = verb or rng.choice(VERBS), number or rng.choice(SIGNALS)
        self.learn(verb)
        if verb.out is not None:
            (self.folder / verb.out).write_bytes(OLD)
        together, delay = rng.random() < 0.5, rng.uniform(0, 1.1 * self.seconds[verb])
        code, output, errors = self.killed(verb, number, together, delay)
        wrong = self.judged(verb, number, code, output, errors)
        name = signal.Signals(number).name
        told = f"{' '.join(verb.words)} | {name} to {'all' if together else 'one'} after {delay * 1000:.0f} ms"
        self.counts[f"{name} {verb.words[0]}"] += 1
        return [f"{told}: {what}" for what in wrong]

    def killed(self, verb: KilledVerb, number: int, together: bool, delay: float) -> tuple[int | None, str, str]:
        """(exit code or None where it did not end, standard output, standard error)."""
        process = subprocess.Popen(
            self.command(verb.words), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True, env=_environment(),
            preexec_fn=_hear_ctrl_c,
        )  # fmt: skip
        time.sleep(delay)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number) if together else process.send_signal(number)
        try:
            output, errors = process.communicate(timeout=LIMIT)
            return process.returncode, output, errors
        except subprocess.TimeoutExpired:
            return None, "", ""
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(LIMIT)
            for stream in (process.stdout, process.stderr):
                assert stream is not None
                stream.close()

    def judged(self, verb: KilledVerb, number: int, code: int | None, output: str, errors: str) -> list[str]:
        wrong: list[str] = []
        if code is None:
            return ["it did not end"]
        if number == signal.SIGINT and _before_us(errors):
            self.counts["Ctrl-C before the first line"] += 1
        elif number != signal.SIGKILL:
            over = code == 0 and (not verb.serves or bool(output))  # a service that is stopped has done its work
            if code not in (128 + number, -number) and not over:
                wrong.append(f"exit code {code}: {errors[-500:]}")
            wrong += [
                f"it complains: {errors[-1500:]}" for word in COMPLAINTS[:1] if any(c in errors for c in COMPLAINTS)
            ]
            wrong += [f"it left {name}" for name in self.unfinished()]
        if verb.out is not None and (self.folder / verb.out).read_bytes() not in (OLD, self.whole[verb]):
            wrong += [] if _interrupted_fit(verb, code) else [f"{verb.out} is neither the old file nor the new one"]
        return wrong + self.after_next_save()

    def unfinished(self) -> list[str]:
        return [path.name for path in self.folder.iterdir() if path.name.startswith(".")]

    def after_next_save(self) -> list[str]:
        """What is still there once somebody has saved."""
        from assay.store import write_atomically

        self.counts["files left by a kill"] += len(self.unfinished())
        write_atomically(b"next", self.folder / "next")
        return [f"{name} is there after the next save" for name in self.unfinished()]


def _hear_ctrl_c() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "ASSAY_DEBUG"}


def _before_us(errors: str) -> bool:
    """Whether Python was still starting: no line of the package, and no word of its own, is in what it says."""
    return "KeyboardInterrupt" in errors and f"{os.sep}assay{os.sep}" not in errors and "assay:" not in errors


def _interrupted_fit(verb: KilledVerb, code: int | None) -> bool:
    """A fit that can end early keeps what it has where Ctrl-C ends it, and a comparison what was finished."""
    return verb.words[0] == "compare" or ("mlp" in verb.words and code == 130)


@contextmanager
def laid() -> Iterator[KillingGround]:
    """A folder with rows and models to be killed over."""
    with tempfile.TemporaryDirectory(prefix="assay-kills-") as folder:
        yield KillingGround(Path(folder))


def run(seed: int, cases: int) -> list[str]:
    """So many kills; what was found wrong."""
    return run_cases(laid, seed, cases)


if __name__ == "__main__":
    sys.exit(run_minutes(laid, __doc__, "kills"))
