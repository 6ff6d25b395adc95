"""Everything else that `import assay` offers: functions, classes that are no models, scores, figures."""

from __future__ import annotations

import inspect
from typing import Any

import assay
from assay import assess, plots
from assay.families import CLASS_NAMES
from reference.markdown import cell, code, fenced, prose, sections, signature, table


def pages() -> dict[str, str]:
    names = [name for name in dir(assay) if name not in CLASS_NAMES and not name.startswith("_")]
    things = {name: getattr(assay, name) for name in names if not inspect.ismodule(getattr(assay, name))}
    return {
        "functions": _page(
            "Functions and classes",
            "What `import assay` offers besides the [models](models/index.md).",
            "assay",
            things,
        ),
        "plots": _page(
            "Figures", inspect.getdoc(plots) or "", "assay.plots", {name: getattr(plots, name) for name in dir(plots)}
        ),
        "assess": _page("Scores", inspect.getdoc(assess) or "", "assay.assess", _public(assess)),
    }


def _public(module: Any) -> dict[str, Any]:
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    found = {name: getattr(module, name) for name in names}
    return {name: thing for name, thing in found.items() if callable(thing) and not inspect.ismodule(thing)}


def _page(title: str, about: str, module: str, things: dict[str, Any]) -> str:
    head = about if about.startswith("What `import") else prose(about)
    return f"# {title}\n\n{head}\n\n" + "\n".join(_entry(module, name, thing) for name, thing in things.items())


def _entry(module: str, name: str, thing: Any) -> str:
    made = [f"## {name}", fenced(signature(f"{module}.{name}", thing), "python"), _doc(thing)]
    if inspect.isclass(thing):
        made.append(_members(thing))
    return "\n\n".join(part for part in made if part) + "\n"


def _doc(thing: Any) -> str:
    parts = sections(inspect.getdoc(thing) or "")
    made = [prose(parts.pop(""))]
    for title, text in parts.items():
        made += [f"**{title}**", prose(text) if ">>>" in text or not text.strip() else _listed(text)]
    return "\n\n".join(made)


def _listed(text: str) -> str:
    """Names with what they are, or words."""
    entries: list[tuple[str, list[str]]] = []
    for line in text.strip("\n").split("\n"):
        if line and not line.startswith(" ") and " : " in line:
            entries.append((line, []))
        elif entries and line.startswith(" "):
            entries[-1][1].append(line.strip())
        elif line.strip():
            return prose(text)
    return table(("name", "what it is"), [(code(head), cell(" ".join(lines))) for head, lines in entries])


def _members(cls: Any) -> str:
    rows = []
    for key in sorted(vars(cls)):
        thing = inspect.getattr_static(cls, key)
        function = getattr(thing, "__func__", getattr(thing, "fget", getattr(thing, "func", thing)))
        if key.startswith("_") or not inspect.isfunction(function):
            continue
        shown = signature(key, function) if inspect.isfunction(getattr(thing, "__func__", thing)) else key
        rows.append((code(shown), cell((inspect.getdoc(function) or "").split("\n\n")[0])))
    return table(("member", "what it is"), rows)
