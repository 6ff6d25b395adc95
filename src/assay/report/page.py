"""The page: verdict, ranking and worries on the first sheet, then the table, a page for each finished model that unfolds, and how to get the
same numbers again.

One style sheet, light and dark, on a phone and on paper: what is folded is not printed. No script, nothing from elsewhere.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from assay.engines.engine import worker_count
from assay.families import model_class
from assay.processes.supervisor import Job, Outcome, run_jobs
from assay.report.markup import (
    Html,
    alone,
    anchor,
    el,
    facts,
    file_name,
    folded,
    items,
    join,
    paragraphs,
    part,
    place,
    plain,
    section,
)
from assay.report.model import model_content, model_fold
from assay.report.overview import (
    bracket_section,
    head_lines,
    picture_section,
    ranking_section,
    schema_section,
    worries_section,
)
from assay.selection.candidates import registered
from assay.selection.comparison import Comparison
from assay.selection.details import details
from assay.selection.loading import bundled

CSS = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1c1d;--soft:#565b61;--line:#d5d8dc;--card:#f5f6f8;--link:#0b5cad;
--good:#1a6b37;--bad:#b3261e;--mild:#8a5300;--tint:#e8f0fa}
@media(prefers-color-scheme:dark){:root{--paper:#15171a;--ink:#e8eaed;--soft:#a9b0b8;--line:#3a3f45;--card:#1e2125;--link:#8ab8f5;
--good:#7fd49b;--bad:#ff9a8f;--mild:#f0b766;--tint:#1d2a3a}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;
overflow-wrap:break-word}
header,main,footer{max-width:76rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2rem}
h1{font-size:1.35rem;line-height:1.25;margin:0 0 .25rem}
h2{font-size:1.35rem;line-height:1.25;margin:2.5rem 0 .75rem;padding-top:.75rem;border-top:2px solid var(--line)}
h3{font-size:1.08rem;margin:1.75rem 0 .5rem}
h4{font-size:1rem;margin:1.25rem 0 .5rem}
p,ul,dl{margin:.5rem 0;max-width:48rem}
ul{padding-left:1.25rem}
a{color:var(--link)}
.verdict{font-size:1.3rem;line-height:1.4;font-weight:600;margin:1rem 0;padding:1rem 1.25rem;border-left:5px solid var(--link);
background:var(--tint);border-radius:4px;max-width:none}
.soft,figcaption,caption,summary+p{color:var(--soft)}
.soft,figcaption,caption{font-size:.92rem}
nav ul{list-style:none;padding:0;margin:.25rem 0;display:flex;flex-wrap:wrap;gap:.25rem 1rem;max-width:none}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.2rem 1rem}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto;max-width:100%;margin:.75rem 0}
table{border-collapse:collapse;font-size:.95rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:0 0 .35rem;caption-side:top}caption span{display:block;max-width:calc(100vw - 2.5rem)}
.w{min-width:14rem}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
thead th{border-bottom:2px solid var(--line);white-space:nowrap;font-weight:600}
tbody th{font-weight:600}
.n{text-align:right;white-space:nowrap}
tr:has(.mark){background:var(--tint)}
.pill{display:inline-block;font-size:.82rem;line-height:1.3;padding:.05rem .5rem;border:1px solid currentColor;border-radius:1rem;white-space:nowrap}
.good{color:var(--good)}.bad{color:var(--bad)}.mild{color:var(--mild)}
.worry{border-left:4px solid currentColor;padding:.1rem 0 .1rem .9rem;margin:.9rem 0}
.worry>*{color:var(--ink)}.worry strong{font-weight:600}.worry p{margin:.2rem 0}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1.25rem;align-items:start;margin:.75rem 0}
details.model{border-top:2px solid var(--line);margin:0}details.model>summary{padding:.7rem 0}details.model>div{scroll-margin-top:4rem}
section+details.model{margin-top:2.5rem}details.model>summary>.soft{font-weight:400}
details.model>summary>h2{display:inline;border:0;margin:0;padding:0}details.model[open]{margin-bottom:2rem}
.figures.one{grid-template-columns:minmax(0,1fr)}
@media print,(min-width:64rem){.figures.one>figure,.figures>figure:last-child:nth-child(odd){grid-column:1/-1;display:grid;
grid-template-columns:minmax(14rem,1fr) minmax(0,44rem);gap:1.25rem;align-items:start}}
figure{margin:0;padding:.75rem;background:var(--card);border:1px solid var(--line);border-radius:6px;min-width:0;break-inside:avoid}
figure svg{display:block;margin:.35rem auto 0}
figcaption strong{color:var(--ink);font-size:1rem}
pre{background:var(--card);border:1px solid var(--line);border-radius:4px;padding:.6rem .8rem;white-space:pre-wrap;overflow-wrap:anywhere;
font:.9rem/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;max-width:60rem}
details{margin:.75rem 0}summary{cursor:pointer;font-weight:600;padding:.35rem 0}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.top{font-size:.92rem}
footer{margin-top:3rem;padding-bottom:2rem;color:var(--soft);font-size:.92rem}
@media(max-width:40rem){header,main,footer{padding-left:.9rem;padding-right:.9rem}.verdict{font-size:1.12rem;padding:.75rem .9rem}
dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin-bottom:.4rem}th,td{padding:.3rem .5rem}figure{padding:.4rem .25rem}figcaption{padding:0 .3rem}
tbody th{position:sticky;left:0;background:var(--paper);max-width:40vw}tr:has(.mark) th{background:var(--tint)}}
@media print{:root{color-scheme:light;--paper:#fff;--ink:#000;--soft:#444;--line:#bbb;--card:#fff;--link:#000;--good:#000;--bad:#000;
--mild:#000;--tint:#f1f1f1}@page{margin:1.5cm}html{font-size:9pt}body{line-height:1.4}nav,.top{display:none}header,main,footer{max-width:none;padding:0}
.verdict{margin:.5rem 0;padding:.5rem .8rem}h2{margin:1rem 0 .4rem;padding-top:.4rem}h3{margin:.8rem 0 .3rem}
p,ul,dl{margin:.3rem 0;max-width:none}.worry{margin:.4rem 0}#ranking td,#ranking th{padding:.02rem .4rem}th,td{padding:.12rem .4rem}.w{min-width:0}.s{display:none}.figures .n{white-space:normal}.scroll{overflow:visible;margin:.4rem 0}
details:not([open]),summary>.soft{display:none}summary{list-style:none}details.model{break-before:page;border:0}#risks{break-before:page}
h2,h3,h4,summary{break-after:avoid}tr,figure,.worry,.verdict{break-inside:avoid}.figures{grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:.6rem;margin:.4rem 0}
.figures.one>figure,.figures>figure:last-child:nth-child(odd){grid-template-columns:minmax(0,1fr) minmax(0,1.15fr);gap:.6rem}
figure{padding:.3rem}figcaption{font-size:.88rem;line-height:1.35}table{font-size:.88rem}thead{display:table-header-group}a{text-decoration:none}}
"""
SHELL = {  # how `assay compare` calls what `assay.compare` is given
    "target": "target",
    "task": "task",
    "loss": "loss",
    "resampling": "resampling",
    "folds": "folds",
    "repeats": "repeats",
    "share": "holdout",
    "seed": "seed",
    "weight": "weight",
    "group": "group",
    "time": "time",
    "models": "models",
    "without": "without",
    "features": "features",
    "categories": "categories",
}
LINE = 90  # letters of a command that stays on one line
NOT_ASKED = ("data", "command")
TIME_WAS_UP = "The time was up before this page was made: a greater budget allows for it."
USED_BY = {
    "holdout": ("share",),
    "k-fold": ("folds",),
    "repeated": ("folds", "repeats"),
    "bootstrap": ("repeats",),
    "time": ("folds",),
}
WORDS = {
    "assay": "Assay",
    "python": "Python",
    "numpy": "NumPy",
    "fingerprint": "fingerprint of the rows",
    "seconds": "seconds taken",
}
FIRST = (ranking_section, worries_section, picture_section, bracket_section, schema_section)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(comparison: Comparison, models: str | Sequence[str] | None = None) -> str:
    """The whole report; the pages of `models` are unfolded: the recommended one's, "all", or those of some names."""
    title, shown = _title(comparison), unfolded(comparison, models)
    first = tuple(part(make, comparison) for make in FIRST)  # what draws is then loaded once for all models' pages
    main = el("main", *first, *model_pages(comparison, shown), reproduce_section(comparison))
    body = el(
        "body",
        el("header", el("h1", title), head_lines(comparison), _contents(comparison), id_="top"),
        main,
        el("footer", el("p", "Made by Assay. This file needs no network and runs no script.")),
    )
    return "<!DOCTYPE html>\n" + el("html", _head(f"Assay: {title.rstrip('?')}"), body, lang="en")


def _head(title: str) -> Html:
    return el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        Html(f"<style>{CSS}</style>"),
    )


def _title(comparison: Comparison) -> str:
    target, where, only = comparison.schema.target, file_name(comparison.where), alone(comparison)
    name = "" if target is None else target.name
    return f"Which model for {name} of {where}?" if only is None else f"How good is {only.name} for {name} on {where}?"


def _contents(comparison: Comparison) -> Html:
    parts = [
        ("ranking", "Ranking" if alone(comparison) is None else "Scores"),
        ("worries", "What to worry about"),
        ("risks", "Risk of every model"),
        ("bracket", "Best possible"),
        ("table", "The table"),
    ]
    absent = {"bracket"} if comparison.bracket is None else set()
    absent |= set() if comparison.left_out or (comparison.done and alone(comparison) is None) else {"risks"}
    parts = [part for part in parts if part[0] not in absent]
    links = [el("a", word, href=f"#{place}") for place, word in (*parts, ("reproduce", "How to reproduce"))]
    models = [el("a", entry.title, href=f"#{anchor(entry.name)}") for entry in comparison.done]
    return el("nav", items(links), items(models), aria_label="Contents")


def unfolded(comparison: Comparison, models: str | Sequence[str] | None) -> set[str]:
    """The names of the models whose pages are unfolded at first, and so printed; names that no model has are refused."""
    if models is None:
        only = alone(comparison)
        return {name for name in (comparison.recommended, only and only.name) if name}
    if models == "all":
        return {entry.name for entry in comparison.entries}
    return {model_class(registered(name)).name for name in ([models] if isinstance(models, str) else models)}


def model_pages(comparison: Comparison, shown: set[str]) -> list[Html]:
    """A page for each finished model, the recommended one first, drawn side by side in processes where there are cores for it."""
    names = [entry.name for entry in comparison.done]
    names.sort(key=lambda name: name != comparison.recommended)
    workers = min(worker_count(), len(names))
    if workers < 2:
        contents = {name: _content(comparison, name) for name in names}
    else:
        jobs = [Job(name, partial(_content, comparison, name), 1) for name in names]
        contents = {outcome.key: _content_of(outcome) for outcome in run_jobs(jobs, workers=workers, keep=True)}
    return [join(model_fold(comparison, comparison[name], contents[name], open_=name in shown)) for name in names]


def _content_of(outcome: Outcome) -> Html | None:
    """What a process made, or why there is nothing: one page is no reason to have no report."""
    if outcome.state == "interrupted":
        raise KeyboardInterrupt
    if outcome.state == "done":
        found: Html | None = outcome.value
        return found
    return el("p", f"This page could not be made: {outcome.message or outcome.state}", class_="soft")


def _content(comparison: Comparison, name: str, _: object = None) -> Html | None:
    """The dear parts (learning curve, bias and variance) are made for the recommended and the best model, where there is time for them; past
    the deadline of a budget there are no pages but theirs."""
    shown = name in (comparison.recommended, comparison.best)
    if comparison.time_is_up and not shown:
        return el("p", TIME_WAS_UP, class_="soft")
    dear = not comparison.time_is_up and shown and any(len(s.train) for s in comparison.splits)
    return part(lambda: model_content(details(comparison, name, dear=dear)))


def reproduce_section(found: Comparison) -> Html | None:
    """Everything that decides the numbers."""
    asked = _relevant(found.question)
    saved = "judged_on" in found.question  # a model that was saved, not a comparison
    shell = found.question.get("command") or (None if saved else _command(place(found.where), asked))
    call = _judging(place(found.where)) if saved else _call(place(found.where), asked)
    known = {
        key: value for key, value in found.provenance.items() if key != "notes" and value not in (None, "", [], {})
    }
    pairs = [(WORDS.get(key, key), _shown(value)) for key, value in known.items()]
    notes = found.provenance.get("notes") or []
    return section(
        "How to reproduce",
        join(el("h3", "In the shell"), el("pre", el("code", shell))) if shell else None,
        el("h3", "In Python"),
        el("pre", el("code", call)),
        paragraphs("The same rows, seed and version give the same numbers to the last bit, on any number of threads."),
        facts(pairs if saved else [("seed", plain(found.question.get("seed", found.resampling.seed))), *pairs]),
        folded("Notes on how the table was read", items(str(n) for n in notes)) if notes else None,
        id_="reproduce",
    )


def _relevant(question: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked, without what its way of splitting does not use."""
    kind = str(question.get("resampling", ""))
    idle = {"folds", "repeats", "share"} - set(USED_BY.get(kind, ()))
    return {k: v for k, v in question.items() if k not in NOT_ASKED and k not in idle}


def _command(where: str, asked: Mapping[str, Any]) -> str | None:
    """The command line; None where the table is no file or database that a shell could name."""
    if not _named(where) or asked.get("resampling") == "given":
        return None
    words = [shlex.quote(where)]
    for key, value in asked.items():
        if key in SHELL:
            words.append(_option(SHELL[key], ",".join(map(str, value)) if isinstance(value, list | tuple) else value))
        elif key == "params":
            words += [_option("param", f"{model}.{k}={v}") for model, own in value.items() for k, v in own.items()]
        elif key == "kinds":
            words += [_option("kind", f"{column}={kind}") for column, kind in value.items()]
        else:
            words.append(_option(key.replace("_", "-"), value))
    line = "assay compare " + " ".join(words)
    return line if len(line) <= LINE else "assay compare " + " \\\n    ".join(words)


def _option(name: str, value: Any) -> str:
    return f"--{name} {shlex.quote(str(value))}"


def _named(where: str) -> bool:
    """Whether a table can be opened by what it is called."""
    return "://" in where or os.path.exists(where) or bundled(where)


def _call(where: str, asked: Mapping[str, Any]) -> str:
    table = repr(where) if _named(where) else "data"
    named = "".join(f",\n    {key}={value!r}" for key, value in asked.items())
    note = "" if _named(where) else f"  # {' '.join(where.split())}"
    first = f"    {table},{note}" if named else f"    {table}{note}"
    rest = named.removeprefix(",")
    return f"import assay\n\nfound = assay.compare(\n{first}{rest},\n)\nprint(found)\nfound.report('report.html')"


def _judging(where: str) -> str:
    table = repr(where) if _named(where) else "data"
    return (
        "import assay\nfrom assay.selection.model_report import comparison_of\n\nmodel = assay.load('MODEL')  # the file of the model\n"
        f"found = comparison_of(model, {table})\nprint(found)\nfound.report('report.html')"
    )


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
