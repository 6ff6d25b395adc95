"""The page: verdict, ranking, worries and table first, then a section for each finished model."""

from __future__ import annotations

from functools import partial

from assay.engines.threads import worker_count
from assay.processes.supervisor import Job, run_jobs
from assay.report.look import CSS
from assay.report.markup import Html, anchor, el, items, join
from assay.report.model import model_section
from assay.report.overview import bracket_section, head_lines, ranking_section, schema_section, worries_section
from assay.report.reproduce import reproduce_section
from assay.report.wording import alone, place
from assay.select.comparison import Comparison
from assay.select.details import details

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(comparison: Comparison) -> str:
    """The whole report."""
    title = _title(comparison)
    first = (  # drawn before the models' pages: what draws is then loaded once for all of them
        ranking_section(comparison),
        worries_section(comparison),
        bracket_section(comparison),
        schema_section(comparison),
    )
    main = el("main", *first, *model_pages(comparison), reproduce_section(comparison))
    body = el(
        "body",
        el("header", el("h1", title), head_lines(comparison), _contents(comparison), id_="top"),
        main,
        el("footer", el("p", "Made by Assay. This file needs no network and runs no script.")),
    )
    return "<!DOCTYPE html>\n" + el("html", _head(f"Assay: {title.rstrip('?')}"), body, lang="en")


def _title(comparison: Comparison) -> str:
    target, where, only = comparison.schema.target, place(comparison.where), alone(comparison)
    name = "" if target is None else target.name
    return f"Which model for {name} of {where}?" if only is None else f"How good is {only.name} for {name} on {where}?"


def model_pages(comparison: Comparison) -> list[Html]:
    """A section for each finished model, the recommended one first, drawn side by side in processes where there are cores for it."""
    names = [entry.name for entry in comparison.done]
    names.sort(key=lambda name: name != comparison.recommended)
    workers = min(worker_count(), len(names))
    if workers < 2:
        return [_model_page(comparison, name) for name in names]
    jobs = [Job(name, partial(_model_page, comparison, name), 1) for name in names]
    found = {outcome.key: outcome for outcome in run_jobs(jobs, workers=workers)}
    if any(outcome.state == "interrupted" for outcome in found.values()):
        raise KeyboardInterrupt
    done = {
        name for name in names if found[name].state == "done"
    }  # what failed is tried here, to fail with its own error
    return [found[name].value if name in done else _model_page(comparison, name) for name in names]


def _model_page(comparison: Comparison, name: str, _: object = None) -> Html:
    """The dear parts (learning curve, bias and variance) are made for the recommended and the best model."""
    dear = name in (comparison.recommended, comparison.best) and any(len(s.train) for s in comparison.splits)
    return join(model_section(details(comparison, name, dear=dear)))


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


def _contents(comparison: Comparison) -> Html:
    parts = [
        ("ranking", "Ranking" if alone(comparison) is None else "Scores"),
        ("worries", "What to worry about"),
        ("bracket", "Best possible"),
        ("table", "The table"),
    ]
    if comparison.bracket is None:
        parts = [part for part in parts if part[0] != "bracket"]
    links = [el("a", word, href=f"#{place}") for place, word in (*parts, ("reproduce", "How to reproduce"))]
    models = [el("a", entry.name, href=f"#{anchor(entry.name)}") for entry in comparison.done]
    return el("nav", items(links), items(models), aria_label="Contents")
