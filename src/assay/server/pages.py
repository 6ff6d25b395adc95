"""What can be asked without a body: health, metadata, models, certificate, metrics, the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assay._version import __version__
from assay.http.replies import Reply
from assay.server.openapi import document
from assay.server.request import Request
from assay.server.schemas import ListedModel, Live, ModelReady, Models, Ready, ServerMetadata

if TYPE_CHECKING:
    from assay.server.app import Service

EXTENSIONS = ["binary_tensor_data"]
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_encode = msgspec.json.Encoder().encode


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
