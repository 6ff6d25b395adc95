"""The HTTP interface, from the OpenAPI document that the service itself hands out."""

from __future__ import annotations

import json
from typing import Any

from assay.server.pages import document
from reference.markdown import cell, code, plain, table


def pages() -> dict[str, str]:
    whole = json.loads(document())
    made = [
        "# HTTP interface",
        f"{plain(whole['info']['description'])} The same document is at `/openapi.json` of a running service, "
        f"as OpenAPI {whole['openapi']}. [The service](../../service.md) explains it.",
    ]
    for path, methods in whole["paths"].items():
        for method, told in methods.items():
            if method in ("get", "post", "put", "delete"):
                made += _operation(path, method, told, methods.get("parameters", []))
    made.append("## Types")
    for name, schema in whole["components"]["schemas"].items():
        made += [f"### {name}", plain(schema.get("description", "")), _fields(schema)]
    return {"http": "\n\n".join(part for part in made if part) + "\n"}


def _operation(path: str, method: str, told: dict[str, Any], shared: list[Any]) -> list[str]:
    made = [
        f"## {method.upper()} {plain(path)}",
        plain(" ".join(filter(None, (told.get("summary"), told.get("description"))))),
    ]
    parameters = [p for p in [*shared, *told.get("parameters", [])] if "name" in p]
    made.append(
        table(
            ("parameter", "in", "type", "what"),
            [
                (code(p["name"]), cell(p["in"]), _kind(p.get("schema", {})), cell(p.get("description", "")))
                for p in parameters
            ],
        )
    )
    body = told.get("requestBody", {}).get("content", {})
    made.append(table(("body", "type"), [(code(form), _kind(of.get("schema", {}))) for form, of in body.items()]))
    rows = []
    for status, answer in told.get("responses", {}).items():
        forms = ", ".join(map(code, answer.get("content", {}))) or " "
        rows.append((code(status), cell(answer.get("description", "")), forms))
    made.append(table(("status", "meaning", "body"), rows))
    return made


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"`{name}`"
    for word in ("oneOf", "anyOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(_kind(each) for each in schema[word]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    kind = schema.get("type") or schema.get("const") or schema.get("enum") or "anything"
    return cell(" or ".join(map(str, kind)) if isinstance(kind, list) else kind)


def _fields(schema: dict[str, Any]) -> str:
    due = schema.get("required", [])
    rows = [
        (code(name), _kind(of), "yes" if name in due else " ", cell(of.get("description", "")))
        for name, of in schema.get("properties", {}).items()
    ]
    return table(("field", "type", "needed", "what"), rows)
