"""A page for every model of the registry: formula, hyper-parameters, what is learnt, certificate, methods, examples, file."""

from __future__ import annotations

import inspect
import re
from typing import Any

from assay.estimator.docstrings import documented
from assay.estimator.layout import Tensor
from assay.estimator.params import option_of
from assay.families import models
from reference.markdown import cell, code, fenced, plain, prose, sections, signature, table

ENTRY = re.compile(r"^(\w+) : (.*)$", re.MULTILINE)


def pages() -> dict[str, str]:
    every = models()
    made = {f"models/{name}": page(name, cls) for name, cls in every.items()}
    made["models/index"] = _index(every)
    return made


def _index(every: dict[str, Any]) -> str:
    made = ["# Models", "Every model of the registry. Beside its name stands what `--model` and `--models` take."]
    for answer in ("a class", "a number"):
        rows = [
            (f"[`{cls.__name__}`]({name}.md) {code(name)}", cell(first_sentence(cls)), _proved(cls))
            for name, cls in every.items()
            if kind(cls) == answer
        ]
        made += [f"## They answer with {answer}", table(("model", "what it is", "what its certificate proves"), rows)]
    toc = "\n".join(every)
    return "\n\n".join(made) + f"\n\n```{{toctree}}\n:hidden:\n\n{toc}\n```\n"


def kind(cls: Any) -> str:
    return "a class" if hasattr(cls, "classes_") or "Classifier" in {c.__name__ for c in cls.__mro__} else "a number"


def first_sentence(cls: Any) -> str:
    return re.split(r"(?<=[.])\s", " ".join(sections(cls.__doc__)[""].split("\n\n")[0].split()))[0]


def _proved(cls: Any) -> str:
    return cell(sections(cls.__doc__).get("Certificate", "").split("\n\n")[0])


def page(name: str, cls: Any) -> str:
    parts = sections(cls.__doc__)
    made = [
        f"# {cls.__name__}",
        f"In Python `assay.{cls.__name__}`, in the shell `--model {name}`.",
        prose(parts[""]),
        "## Hyper-parameters",
        _parameters(cls),
        "## What is learnt",
        _attributes(cls),
        "## Certificate",
        prose(parts.get("Certificate", "No claims.")),
        "## Methods",
        _methods(cls),
    ]
    if "Examples" in parts:
        made += ["## Examples", prose(parts["Examples"])]
    if "See Also" in parts:
        made += ["## See also", _see_also(parts["See Also"])]
    made += ["## In the model file", _layout(cls)]
    return "\n\n".join(made) + "\n"


def _parameters(cls: Any) -> str:
    rows = [
        (f"{code(key)} {code(option_of(key))}", code(repr(p.default)), cell(p.doc), cell(p.describe())) for key, p in cls.params.items()
    ]  # fmt: skip
    call = signature(cls.__name__, cls)
    return (
        fenced(call, "python")
        + "\n"
        + table(("in Python and in the shell", "default", "what it means", "possible"), rows)
    )


def _attributes(cls: Any) -> str:
    return table(
        ("attribute", "type", "what it is"),
        [(code(key), cell(of), cell(doc)) for key, (of, doc) in documented(cls).items()],
    )


def _methods(cls: Any) -> str:
    rows = []
    for key in sorted(dir(cls)):
        thing = inspect.getattr_static(cls, key)
        function = getattr(thing, "__func__", thing)
        if key.startswith("_") or not inspect.isfunction(function):
            continue
        told = inspect.getdoc(getattr(cls, key)) or ""
        rows.append((code(signature(key, function)), cell(told.split("\n\n")[0])))
    return table(("method", "what it does"), rows)


def _see_also(text: str) -> str:
    from assay.families import CLASS_NAMES

    lines = []
    for key, doc in re.findall(r"^(\w+) : (.*)$", text, re.MULTILINE):
        shown = f"[`{key}`]({CLASS_NAMES[key]}.md)" if key in CLASS_NAMES else f"`{key}`"
        lines.append(f"- {shown}: {plain(doc)}")
    return "\n".join(lines)


def _layout(cls: Any) -> str:
    rows = []
    for key, part in cls.layout.items():
        shape = f"({', '.join(map(str, part.dims))})" if isinstance(part, Tensor) else ("list" if part.many else "one")
        of = part.dtype if isinstance(part, Tensor) else part.kind.__name__
        rows.append((code(key), code(of), code(shape), "yes" if part.optional else "", cell(part.doc)))
    return table(("part", "type", "shape", "optional", "what it is"), rows) or "Nothing besides the hyper-parameters."
