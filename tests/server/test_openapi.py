"""The OpenAPI document is valid, describes what is there, and whatever it allows is answered without a failure of the server."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from assay.server.request import route_of
from tests.server.running import Running, serving


def test_the_document_is_valid_openapi_3_1(server: Running) -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator

    document = server.ask("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(document).validate()


def test_every_path_of_the_document_is_there_and_the_methods_agree(server: Running) -> None:
    document = server.ask("/openapi.json").json()
    for path, operations in document["paths"].items():
        place = route_of(path.encode())
        assert place is not None, path
        assert [place.endpoint.method.lower()] == list(operations)


def test_the_types_of_the_document_are_those_that_validate(server: Running) -> None:
    schemas = server.ask("/openapi.json").json()["components"]["schemas"]
    assert schemas["InferRequest"]["required"] == ["inputs"]
    assert schemas["InputTensor"]["required"] == ["name", "shape", "datatype"]
    assert "BYTES" in json.dumps(schemas["InputTensor"])


def test_tensors_as_bytes_are_in_the_document_both_ways(server: Running) -> None:
    infer = server.ask("/openapi.json").json()["paths"]["/v2/models/{model}/infer"]["post"]
    assert "application/octet-stream" in infer["requestBody"]["content"]
    assert "application/octet-stream" in infer["responses"]["200"]["content"]
    assert "Inference-Header-Content-Length" in [parameter["name"] for parameter in infer["parameters"]]


@pytest.mark.filterwarnings("ignore")
def test_what_schemathesis_thinks_of_never_breaks_the_server(models: Path) -> None:
    import schemathesis
    from schemathesis import GenerationMode

    with serving(models) as running:
        document = running.ask("/openapi.json").json()
        for parameter in ("model", "version"):
            _narrow(document, parameter, ["linear", "near"] if parameter == "model" else ["1"])
        schema = schemathesis.openapi.from_dict(document)
        schema.config.update(base_url=running.url)
        asked = 0
        for found in schema.get_all_operations():
            operation = found.ok()
            for mode in GenerationMode:
                asked += _ask_all(operation.as_strategy(generation_mode=mode), 40 if operation.method == "post" else 5)
        assert asked > 200
        assert running.process.poll() is None
        assert running.ask("/models/bare/predict", [[1, 2, 3]]).status_code == 200


def _ask_all(cases: Any, most: int) -> int:
    """Ask what is thought of, at most so often; how often it was."""
    asked = 0

    @settings(
        max_examples=most,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        database=None,
    )
    @given(cases)
    def ask(case: Any) -> None:
        nonlocal asked
        asked += 1
        reply = case.call()
        assert reply.status_code < 500, reply.text

    with suppress(Unsatisfiable):  # nothing can be wrong with a request without parameters
        ask()
    return asked


def _narrow(document: dict[str, object], name: str, values: list[str]) -> None:
    """Let a parameter of the paths be one of some values, so that models are met and not only 404."""
    for operations in document["paths"].values():  # type: ignore[attr-defined]
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if parameter["name"] == name:
                    parameter["schema"] = {"enum": values}
