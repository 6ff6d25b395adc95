"""The shapes of what comes in and goes out. These types read the requests, write the answers, and are the OpenAPI document."""

from __future__ import annotations

import errno
from functools import lru_cache
from http import HTTPStatus
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from assay.errors import AssayError, DataError, ParameterError, TooLargeError
from assay.http.replies import Refusal, Reply

Datatype = Literal[
    "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "BYTES"
]
Size = Annotated[int, Meta(ge=0, le=1 << 40)]
Shape = Annotated[list[Size], Meta(min_length=1, max_length=2)]
Share = Annotated[float, Meta(gt=0, le=1)]
DATA = Meta(
    description="The values in row-major order, flat or nested; null is a missing value.",
    extra_json_schema={"type": "array"},
)
RETRY = (("retry-after", "1"),)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)
_encode = msgspec.json.Encoder().encode


class TensorParameters(Struct, kw_only=True):
    """`binary_data_size`: the tensor's bytes follow the JSON; `content_type` is accepted as other servers know it."""

    binary_data_size: Size | None = None
    binary_data: bool | None = None
    content_type: str | None = None


class InputTensor(Struct, kw_only=True):
    """One column of the table by its name, [n] or [n, 1]; or all columns, [n, d], of a model of numbers."""

    name: str
    shape: Shape
    datatype: Datatype
    data: Annotated[Raw, DATA] | UnsetType = UNSET
    parameters: TensorParameters | None = None


class AskedOutput(Struct, kw_only=True):
    """An output by its name, as the model's metadata lists them."""

    name: str
    parameters: TensorParameters | None = None


class InferParameters(Struct, kw_only=True):
    """`threshold`: abstain where no class has this probability; `n_neighbors`: how many neighbours are evidence."""

    threshold: Share | None = None
    n_neighbors: Annotated[int, Meta(ge=1, le=1000)] | None = None
    binary_data_output: bool | None = None


class InferRequest(Struct, kw_only=True):
    """A request of the Open Inference Protocol."""

    inputs: Annotated[list[InputTensor], Meta(min_length=1)]
    id: str | None = None
    outputs: list[AskedOutput] | None = None
    parameters: InferParameters | None = None


class OutputTensor(Struct, kw_only=True, omit_defaults=True):
    """One output, row by row."""

    name: str
    shape: list[int]
    datatype: Datatype
    data: list[Any] | UnsetType = UNSET
    parameters: dict[str, int] | None = None


class InferAnswer(Struct, kw_only=True, omit_defaults=True):
    """The answer to an `InferRequest`, with its id."""

    model_name: str
    model_version: str
    outputs: list[OutputTensor]
    id: str | None = None


class ErrorAnswer(Struct):
    """What went wrong, under /v2."""

    error: str


class ProblemDetails(Struct, kw_only=True):
    """What went wrong, elsewhere (RFC 9457)."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"


class ServerMetadata(Struct):
    """Who answers, and the extensions of the protocol it knows."""

    name: str
    version: str
    extensions: list[str]


class Live(Struct):
    """Whether the server runs."""

    live: bool


class Ready(Struct):
    """Whether all models (or this one) can answer; `live` is what the protocol's text calls it."""

    ready: bool
    live: bool


class ModelReady(Struct):
    """Whether a model can answer."""

    name: str
    ready: bool


class TensorMetadata(Struct, kw_only=True, omit_defaults=True):
    """A tensor that a model takes or gives; −1 is any number of rows."""

    name: str
    datatype: Datatype
    shape: list[int]
    parameters: dict[str, Any] | None = None


class ModelMetadata(Struct, kw_only=True):
    """What a model takes and gives."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]
    parameters: dict[str, Any]


class ListedModel(Struct, kw_only=True):
    """A model of this server."""

    name: str
    versions: list[str]
    model: str
    target: str | None


class Models(Struct):
    """All models of this server."""

    models: list[ListedModel]


class ClaimAnswer(Struct, kw_only=True):
    """One claim of a certificate."""

    name: str
    kind: Literal["proof", "estimate", "warning"]
    holds: bool
    value: float | None
    bound: float | None
    statement: str


class CertificateAnswer(Struct, kw_only=True):
    """What is proved, estimated or to be warned of about the fit of a model; `holds` is false where nothing is claimed."""

    name: str
    version: str
    model: str
    target: str | None
    fingerprint: str | None
    sha256: str
    holds: bool
    claims: list[ClaimAnswer]


read_infer = msgspec.json.Decoder(InferRequest).decode


def refusal_of(error: BaseException) -> Refusal:
    """An error of the library as a refusal: what the sender can mend is 4xx, the rest 500."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, TooLargeError):
        return Refusal(413, str(error).strip())
    if isinstance(error, DataError | ParameterError):
        return Refusal(400, str(error).strip())
    if isinstance(error, msgspec.MsgspecError):
        return Refusal(400, f"The body cannot be read: {error}.")
    if isinstance(error, UnicodeDecodeError):
        return Refusal(400, "The body is not UTF-8 text.")
    if type(error).__module__ == "pyarrow.lib":  # which is not loaded for the sake of a name
        return Refusal(400, f"The body cannot be read: {(str(error).splitlines() or ['it is damaged'])[0]}.")
    if isinstance(error, RecursionError):
        return Refusal(400, "The body is nested too deeply.")
    if isinstance(error, MemoryError):
        return Refusal(413, "The body needs more memory than there is: send fewer rows at a time.")
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return Refusal(503, f"The service has no room for the request ({error.strerror}): try again later.", RETRY)
    if isinstance(error, AssayError):
        return Refusal(500, str(error).strip())
    return Refusal(500, f"unexpected {type(error).__name__}: {error}")


def reply_of(refusal: Refusal, path: bytes) -> Reply:
    """The refusal in the form that the path's callers know."""
    body, kind = _written(refusal.status, refusal.message, path.startswith(b"/v2"))
    return Reply(body, kind, refusal.status, refusal.headers, last=refusal.last)


@lru_cache(maxsize=64)  # under too much load it is the same again and again
def _written(status: int, message: str, v2: bool) -> tuple[bytes, str]:
    if v2:
        return _encode(ErrorAnswer(message)), "application/json"
    title = HTTPStatus(status).phrase
    return _encode(ProblemDetails(title=title, status=status, detail=message)), "application/problem+json"
