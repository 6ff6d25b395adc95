"""What can be asked without a body: health, metadata, models, certificate, metrics, the OpenAPI document.

The document (OpenAPI 3.1) is made of the types that read the requests and write the answers.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from assay._version import __version__
from assay.http.replies import Reply
from assay.server import schemas
from assay.server.predict import FORMS
from assay.server.request import Request
from assay.server.schemas import ListedModel, Live, ModelReady, Models, Ready, ServerMetadata

if TYPE_CHECKING:
    from assay.server.app import Service

EXTENSIONS = ["binary_tensor_data"]
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_encode = msgspec.json.Encoder().encode

REF = "#/components/schemas/{name}"
TYPES = (
    schemas.InferRequest, schemas.InferAnswer, schemas.ErrorAnswer, schemas.ProblemDetails, schemas.ServerMetadata, schemas.Live, schemas.Ready,
    schemas.ModelReady, schemas.ModelMetadata, schemas.Models, schemas.CertificateAnswer,
)  # fmt: skip
ERRORS = {
    400: "the request cannot be read, or does not fit the model",
    401: "the token is missing or wrong",
    404: "there is no such model",
    405: "another method is needed",
    406: "none of the forms asked for can be given",
    408: "the request did not arrive in time",
    413: "more bytes or rows than are allowed",
    415: "a body of this kind cannot be read",
    431: "the head is too long",
    503: "more load than can be served; Retry-After says when to try again",
}
SCALAR: dict[str, Any] = {"type": ["number", "string", "boolean", "null"]}
OBJECTS: dict[str, Any] = {"type": "array", "minItems": 1, "items": {"type": "object", "additionalProperties": SCALAR}}
COLUMNS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "array", "items": SCALAR}}
ARRAYS: dict[str, Any] = {"type": "array", "minItems": 1, "items": {"type": "array", "items": SCALAR}}
ROWS: dict[str, Any] = {
    "oneOf": [OBJECTS, ARRAYS, COLUMNS],
    "description": "Rows as objects or arrays, or columns; null is missing.",
}
ANSWER_ROWS: dict[str, Any] = {"oneOf": [OBJECTS, COLUMNS]}
BINARY: dict[str, Any] = {"type": "string", "format": "binary"}


def page(service: Service, request: Request) -> Reply:
    """The answer to a GET."""
    assert request.route is not None
    endpoint, name, version = request.route
    catalogue = service.catalogue
    match endpoint.name:
        case "live":
            return Reply(_encode(Live(True)))
        case "ready":
            ready = not service.stopping
            return Reply(_encode(Ready(ready, ready)), status=200 if ready else 503)
        case "server":
            return Reply(_encode(ServerMetadata("assay", __version__, EXTENSIONS)))
        case "models":
            return Reply(_encode(Models([_listed(service, model) for model in catalogue.names()])))
        case "metrics":
            return Reply(service.metrics.text(_gauges(service)), PROMETHEUS)
        case "openapi":
            return Reply(document())
        case "certificate":
            return Reply(catalogue.find(name, version).certificate)
        case "model_ready":
            served = catalogue.find(name, version)
            return Reply(_encode(ModelReady(served.name, True)))
        case _:
            served = catalogue.find(name, version)
            return Reply(_encode(served.metadata(catalogue.versions(served.name))))


def _listed(service: Service, name: str) -> ListedModel:
    served = service.catalogue.find(name)
    versions = service.catalogue.versions(name)
    return ListedModel(name=name, versions=versions, model=served.learner.name, target=served.target)


def _gauges(service: Service) -> dict[str, float]:
    admission = service.admission
    return {
        "assay_connections": len(service.connections),
        "assay_requests_light": admission.light.count,
        "assay_requests_heavy": admission.heavy.count,
        "assay_models": len(service.catalogue.names()),
    }


@cache
def document() -> bytes:
    """The document as JSON."""
    _, components = msgspec.json.schema_components(TYPES, ref_template=REF)
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "Assay",
            "version": __version__,
            "description": "Models with certificates, by the Open Inference Protocol V2 and by plain rows.",
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "paths": _paths(),
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }
    return msgspec.json.encode(whole)


def _ref(kind: type) -> dict[str, Any]:
    return {"$ref": REF.format(name=kind.__name__)}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _errors(path: str, *codes: int) -> dict[str, Any]:
    v2 = path.startswith("/v2")
    content = (
        _json(_ref(schemas.ErrorAnswer))
        if v2
        else {"application/problem+json": {"schema": _ref(schemas.ProblemDetails)}}
    )
    return {str(code): {"description": ERRORS[code], "content": content} for code in codes}


def _parameter(name: str, where: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    return {"name": name, "in": where, "required": where == "path", "schema": schema, "description": text}


MODEL = _parameter("model", "path", {"type": "string", "minLength": 1}, "the name of the model")
VERSION = _parameter("version", "path", {"type": "string", "minLength": 1}, "a version of the model")
QUERY = [
    _parameter("outputs", "query", {"type": "string"}, "outputs with commas between, such as label,probabilities"),
    _parameter(
        "threshold", "query", {"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "abstain below this probability"
    ),
    _parameter("n_neighbors", "query", {"type": "integer", "minimum": 1, "maximum": 1000}, "neighbours as evidence"),
]


HEADER_SIZE = _parameter(
    "Inference-Header-Content-Length", "header", {"type": "integer", "minimum": 0},
    "bytes of JSON in an octet-stream; those of the tensors follow",
)  # fmt: skip


def _get(name: str, path: str, summary: str, content: dict[str, Any], *codes: int) -> dict[str, Any]:
    answers = {"200": {"description": "the answer", "content": content}, **_errors(path, *codes)}
    return {"get": {"operationId": name, "summary": summary, "parameters": _named(path), "responses": answers}}


def _post(
    name: str, path: str, summary: str, body: dict[str, Any], answer: dict[str, Any], query: list[Any]
) -> dict[str, Any]:
    codes = (
        (400, 401, 404, 408, 413, 415, 431, 503)
        if path.startswith("/v2")
        else (400, 401, 404, 406, 408, 413, 415, 431, 503)
    )
    return {
        "post": {
            "operationId": name,
            "summary": summary,
            "parameters": _named(path) + query,
            "requestBody": {"required": True, "content": body},
            "responses": {"200": {"description": "the answer", "content": answer}, **_errors(path, *codes)},
        }
    }


def _named(path: str) -> list[Any]:
    return [MODEL] * ("{model}" in path) + [VERSION] * ("{version}" in path)


def _paths() -> dict[str, Any]:
    found: dict[str, Any] = {}
    page = {
        "/v2": ("server", "Who answers", schemas.ServerMetadata),
        "/v2/health/live": ("live", "Whether the server runs", schemas.Live),
        "/v2/health/ready": ("ready", "Whether it answers", schemas.Ready),
        "/models": ("models", "All models", schemas.Models),
    }
    for path, (name, summary, kind) in page.items():
        found[path] = _get(name, path, summary, _json(_ref(kind)), 401, 431)
    found["/v2/health/ready"]["get"]["responses"]["503"] = {
        "description": "it is stopping",
        "content": _json(_ref(schemas.Ready)),
    }
    for tail, of in (("", ""), ("/versions/{version}", "_version")):
        path = "/v2/models/{model}" + tail
        found[path] = _get(
            f"model{of}", path, "What a model takes and gives", _json(_ref(schemas.ModelMetadata)), 401, 404, 431
        )
        found[f"{path}/ready"] = _get(
            f"model{of}_ready", path, "Whether a model answers", _json(_ref(schemas.ModelReady)), 401, 404, 431
        )
        octets = {"application/octet-stream": {"schema": BINARY}}
        body, answer = ({**_json(_ref(kind)), **octets} for kind in (schemas.InferRequest, schemas.InferAnswer))
        found[f"{path}/infer"] = _post(f"infer{of}", path, "Tensors to tensors", body, answer, [HEADER_SIZE])
    tables = {kind: {"schema": BINARY} for kind in FORMS if kind != "application/json"}
    for path, of in (("", ""), ("/models/{model}", "_model"), ("/models/{model}/versions/{version}", "_version")):
        rows, answers = {**_json(ROWS), **tables}, {**_json(ANSWER_ROWS), **tables}
        found[f"{path}/predict"] = _post(f"predict{of}", path, "Rows to answers", rows, answers, QUERY)
        found[f"{path}/certificate"] = _get(
            f"certificate{of}",
            path,
            "What is proved about a model",
            _json(_ref(schemas.CertificateAnswer)),
            401,
            404,
            431,
        )
    found["/metrics"] = _get(
        "metrics", "/metrics", "Counts for Prometheus", {"text/plain": {"schema": {"type": "string"}}}, 401, 431
    )
    found["/openapi.json"] = _get("openapi", "/openapi.json", "This document", _json({"type": "object"}), 401, 431)
    return found
