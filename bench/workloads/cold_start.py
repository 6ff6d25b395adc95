"""Cold start, each in a process of its own: import, help, predict from the shell; the first fit and answer of every model, the first comparison.

A model's time goes from the start of Python to its first answers. "clone, cold": from the source, with an empty home and nothing compiled yet, as a new user's
first fit; "clone, warm": as every later one; "wheel": what is installed from the newest dist/*.whl (`make wheel`), with an empty home. A peer is scikit-learn's
class of that name or kind. ASSAY_BENCH_MODELS=svc,mlp takes these models alone; all take about 12 minutes on two quiet cores.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import assay
from assay.families import REGISTRY, model_class
from bench import agreement
from bench.data import FOLDER, real_data, two_classes
from bench.harness import Contender, Race, Target

ROOT = Path(__file__).resolve().parents[2]
FIT = """
import numpy as np
from {module} import {name}
X = np.random.default_rng(0).poisson(2.0, (200, 5)).astype(float)
y = X @ np.arange(5.0) if {numbers} else (X[:, 0] > X[:, 1]).astype(int)
{name}({settings}).fit(X, y).predict(X)
"""
SKLEARN = {
    "baseline": "dummy.DummyClassifier",
    "baseline-regressor": "dummy.DummyRegressor",
    "gaussian-nb": "naive_bayes.GaussianNB",
    "bernoulli-nb": "naive_bayes.BernoulliNB",
    "multinomial-nb": "naive_bayes.MultinomialNB",
    "categorical-nb": "naive_bayes.CategoricalNB",
    "qda": "discriminant_analysis.QuadraticDiscriminantAnalysis",
    "lda": "discriminant_analysis.LinearDiscriminantAnalysis",
    "linear-regression": "linear_model.LinearRegression",
    "ridge": "linear_model.Ridge",
    "logistic-regression": "linear_model.LogisticRegression",
    "perceptron": "linear_model.Perceptron",
    "linear-svc": "svm.LinearSVC",
    "erm": "linear_model.SGDClassifier",
    "decision-tree": "tree.DecisionTreeClassifier",
    "tree-regressor": "tree.DecisionTreeRegressor",
    "random-forest": "ensemble.RandomForestClassifier",
    "forest-regressor": "ensemble.RandomForestRegressor",
    "extra-trees": "ensemble.ExtraTreesClassifier",
    "extra-regressor": "ensemble.ExtraTreesRegressor",
    "knn": "neighbors.KNeighborsClassifier",
    "knn-regressor": "neighbors.KNeighborsRegressor",
    "svc": "svm.SVC",
    "svr": "svm.SVR",
    "mlp": "neural_network.MLPClassifier",
    "mlp-regressor": "neural_network.MLPRegressor",
}
TURNS = 2  # of a process: what is short runs a few times in each
LIGHTGBM = {
    "random-forest": "LGBMClassifier",
    "forest-regressor": "LGBMRegressor",
    "gradient-boosting": "LGBMClassifier",
    "boosting-regressor": "LGBMRegressor",
}
DEMO = ["compare", "coins", "--target", "coin", "--out", "coins.assay", "--report", "coins.html"], ["verify", "coins.assay", "coins"]  # fmt: skip


def races() -> list[Race]:
    folder = Path(tempfile.mkdtemp())
    return [_imports(), _shell(folder), *(first_fit(name) for name in _models()), *_comparisons(), _demo()]


def notes() -> list[str]:
    wheels = [_sizes(path) for path in sorted((ROOT / "dist").glob("*.whl"))]
    return wheels or ["No wheel was measured: `make wheel` first."]


def _sizes(wheel: Path) -> str:
    """What a wheel takes, and what each tier's loops take of it."""
    tiers: dict[str, list[int]] = {}
    with ZipFile(wheel) as opened:
        for member in opened.infolist():
            if "/shipped/" in member.filename:
                tiers.setdefault(Path(member.filename).parent.name, []).append(member.compress_size)
    each = "; ".join(f"{tier}: {len(sizes)} loops, {sum(sizes) / 1e6:.1f} MB" for tier, sizes in sorted(tiers.items()))
    return f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB ({each or 'no loops'})."


def _models() -> list[str]:
    asked = os.environ.get("ASSAY_BENCH_MODELS", "")
    return asked.split(",") if asked else list(REGISTRY)


# --- processes ---------------------------------------------------------------------------------------------------------------


def _environment(**more: str) -> dict[str, str]:
    """That of a user: modules are kept as bytecode."""
    return {key: value for key, value in {**os.environ, **more}.items() if key != "PYTHONDONTWRITEBYTECODE"}


def _process(arguments: list[str], **environment: str) -> Callable[[], None]:
    def run() -> None:
        subprocess.run(arguments, check=True, env=_environment(**environment), stdout=subprocess.DEVNULL)

    return run


def _python(code: str, **environment: str) -> Callable[[], None]:
    return _process([sys.executable, "-c", code], **environment)


def _fresh(*commands: list[str], path: Path | None = None) -> None:
    """One command after another with an empty home and nothing kept by the compiler, in an empty folder, as in a new container."""
    with tempfile.TemporaryDirectory() as home:
        empty = {"HOME": home, "XDG_CACHE_HOME": home, "ASSAY_CACHE": home}
        environment = _environment(**empty, **({} if path is None else {"PYTHONPATH": str(path)}))
        for command in commands:
            subprocess.run(command, check=True, cwd=home, env=environment, capture_output=True)


@cache
def _installed() -> Path | None:
    """A folder with nothing but what the newest wheel holds; None where there is none."""
    wheels = sorted((ROOT / "dist").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        return None
    target = FOLDER / "wheel"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--no-deps", "--target", str(target)]
    subprocess.run([*install, str(wheels[-1])], check=True)
    return target


# --- races -------------------------------------------------------------------------------------------------------------------


def _imports() -> Race:
    return Race(
        "import",
        [
            Contender("import assay", _python("import assay"), 10),
            Contender("import numpy", _python("import numpy"), 10),
            Contender("import sklearn.naive_bayes", _python("import sklearn.naive_bayes"), 5),
        ],
        agreement.nothing,
        [Target("import numpy", at_most=1.3)],
    )


def _shell(folder: Path) -> Race:
    import pandas as pd

    X, y = two_classes(100, 5)
    table, model = folder / "rows.csv", str(folder / "model.assay")
    table.write_text("a,b,c,d,e\n" + "\n".join(",".join(map(str, row)) for row in X) + "\n")
    assay.GaussianNB().fit(pd.DataFrame(X, columns=list("abcde")), y).save(model)
    return Race(
        "from process start",
        [
            Contender("assay --help", _process([*_command(), "--help"]), 10),
            Contender("assay predict, 100 rows", _process([*_command(), "predict", model, str(table)]), 5),
        ],
        agreement.nothing,
        [Target("assay --help", within=0.4), Target("assay predict, 100 rows", within=1.0)],
    )


def _command() -> list[str]:
    return [sys.executable, "-m", "assay"]


def first_fit(name: str) -> Race:
    """A model's first fit and answers, warm, cold and from a wheel."""
    code = _code("assay", model_class(name).__name__, name)
    found = [Contender("clone, warm", _python(code), TURNS)]
    if (path := _installed()) is not None:
        found.append(Contender("wheel, empty home", partial(_fresh, [sys.executable, "-c", code], path=path), TURNS))
    found += _peers(name)
    found.append(Contender("clone, cold", partial(_fresh, [sys.executable, "-c", code]), 1))
    ours = found[1].name if path is not None else found[0].name
    return Race(f"first fit and answers: {name}", found, agreement.nothing, [Target(ours, within=1.2)])


def _peers(name: str) -> list[Contender]:
    found = []
    if where := SKLEARN.get(name) or _of_the_same_name(model_class(name).__name__):
        module, _, cls = f"sklearn.{where}".rpartition(".")
        found.append(Contender("scikit-learn", _python(_code(module, cls, name)), TURNS))
    if name in LIGHTGBM and find_spec("lightgbm") is not None:
        found.append(Contender("LightGBM", _python(_code("lightgbm", LIGHTGBM[name], name, "verbose=-1")), TURNS))
    return found


def _of_the_same_name(cls: str) -> str | None:
    """Where scikit-learn has a class of this name."""
    from sklearn.utils import all_estimators

    kind = dict(all_estimators()).get(cls)
    return kind and f"{kind.__module__.split('.')[1]}.{cls}"


def _code(module: str, cls: str, name: str, settings: str = "") -> str:
    numbers = model_class(name).kind_of({}) == "regressor"
    return FIT.format(module=module, name=cls, numbers=numbers, settings=settings)


def _comparisons() -> list[Race]:
    """`assay compare` of the penguins, start to end."""
    folder = real_data()
    if folder is None or not (folder / "penguins.csv").exists():
        return []
    words = [*_command(), "compare", str(folder / "penguins.csv"), "--target", "target"]
    found = [Contender("clone, warm", _process(words), 3), Contender("clone, cold", partial(_fresh, words), 1)]
    if (path := _installed()) is not None:
        found.insert(1, Contender("wheel, empty home", partial(_fresh, words, path=path), 3))
    return [Race("assay compare penguins", found, agreement.nothing)]


def _demo() -> Race:
    """What `make demo` does once its environment is there."""
    commands = [[*_command(), *words] for words in DEMO]
    found = [Contender("clone, cold", partial(_fresh, *commands), 1)]
    return Race("make demo", found, agreement.nothing, [Target("clone, cold", within=60.0)])
