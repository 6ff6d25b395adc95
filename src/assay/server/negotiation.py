"""Content negotiation: the form of its body, the form of the answer, and which outputs."""

from __future__ import annotations

from assay.http.replies import Refusal
from assay.server.answers import KNOWN, RequestedOutputs
from assay.server.predict import FORMS
from assay.server.request import Request
from assay.server.served import ServedModel

PACKINGS = (b"identity", b"gzip")
PARAMETERS = ("outputs", "threshold", "n_neighbors")


def body_form(request: Request) -> str:
    """How the body is to be read, by its Content-Type; raises 415 for what cannot be read."""
    assert request.route is not None
    packed = request.headers.get(b"content-encoding", b"identity").lower()
    if packed not in PACKINGS:
        raise Refusal(415, "A body may be packed by gzip, and by nothing else.", (("accept-encoding", "gzip"),))
    kind = request.content_type()
    if request.route.endpoint.name == "infer":
        if kind in ("", "application/json", "application/octet-stream"):
            return "tensors"
        raise Refusal(
            415, f"The body is {kind[:60]!r}: send application/json, or application/octet-stream with tensors as bytes."
        )
    if kind not in FORMS:
        told = f"is {kind[:60]!r}" if kind else "does not say what it is"
        raise Refusal(415, f"The body {told}: give a Content-Type of {', '.join(FORMS)}.")
    return FORMS[kind]


def answer_form(request: Request) -> str | None:
    """The form that Accept asks for; None: that of the body."""
    accept = request.headers.get(b"accept")
    if not accept or accept == b"*/*" or request.route is None or request.route.endpoint.name == "infer":
        return None
    accepted = [_accepted(part) for part in accept.decode("latin-1").split(",")]
    for kind, share in sorted(accepted, key=lambda one: -one[1]):
        if share <= 0:
            continue
        if kind == "*/*":
            return None
        if kind in FORMS:
            return FORMS[kind]
        if kind.endswith("/*") and any(known.startswith(kind[:-1]) for known in FORMS):
            own = request.content_type()
            return None if own.startswith(kind[:-1]) else next(f for k, f in FORMS.items() if k.startswith(kind[:-1]))
    raise Refusal(406, f"Answers are given as {', '.join(FORMS)}: ask for one of these in Accept.")


def _accepted(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
    share = next((p[2:] for p in parameters if p.startswith("q=")), "1")
    try:
        return kind, float(share)
    except ValueError:
        return kind, 1.0


def requested_outputs(served: ServedModel, request: Request) -> RequestedOutputs:
    """The outputs that the parameters of the address ask for: ?outputs=label,probabilities&threshold=0.9&n_neighbors=5."""
    given = request.parameters()
    if not given:
        return served.usual
    unknown = next((name for name in given if name not in PARAMETERS), None)
    if unknown is not None:
        raise Refusal(400, f"There is no parameter {unknown[:60]!r}. Known: {', '.join(PARAMETERS)}.")
    names = [name.strip() for name in given.get("outputs", served.outputs[0]).split(",")]
    names = [served.outputs[0] if name == "prediction" else name for name in names]
    for name in names:
        if name not in KNOWN:
            raise Refusal(400, f"There is no output {name[:60]!r}. The model gives: {', '.join(served.outputs)}.")
    threshold = _number(given, "threshold")
    if threshold is not None and not 0 < threshold <= 1:
        raise Refusal(400, "The threshold is a probability, above 0 and at most 1.")
    if threshold is not None and "abstained" not in names:
        names.append("abstained")
    count = _number(given, "n_neighbors")
    if count is not None and not (count.is_integer() and 1 <= count <= 1000):
        raise Refusal(400, "n_neighbors is a whole number from 1 to 1000.")
    return RequestedOutputs(tuple(dict.fromkeys(names)), threshold, None if count is None else int(count))


def _number(given: dict[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        return float(given[name])
    except ValueError:
        raise Refusal(400, f"{name}={given[name][:60]!r} is no number.") from None
