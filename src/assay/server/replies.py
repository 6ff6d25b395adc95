"""Errors as refusals, and refusals as replies: `{"error": …}` under /v2, problem details by RFC 9457 elsewhere."""

from __future__ import annotations

import errno
from functools import lru_cache
from http import HTTPStatus

import msgspec

from assay.errors import AssayError, DataError, ParameterError, TooLargeError
from assay.http.replies import Refusal, Reply
from assay.server.schemas import ErrorAnswer, ProblemDetails

RETRY = (("retry-after", "1"),)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)
_encode = msgspec.json.Encoder().encode


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
