"""scikit-learn's metadata routing: which arguments beyond rows and targets (`sample_weight`, `classes`) a model asks its pipelines and searches for.

    sklearn.set_config(enable_metadata_routing=True)
    cross_validate(assay.SVC().set_fit_request(sample_weight=True), X, y, params={"sample_weight": w})

scikit-learn is imported only here, and only when somebody asks: then it is there.
"""

from __future__ import annotations

from typing import Any, TypeVar

from assay.errors import nearest

Model = TypeVar("Model")
ROUTED = ("fit", "partial_fit", "score")  # the methods that take more than rows and targets
ROWS_AND_TARGETS = ("self", "X", "y", "data")
DISABLED = (
    "This method is only available when metadata routing is enabled. "
    "You can enable it using sklearn.set_config(enable_metadata_routing=True)."
)


def arguments(cls: type, method: str) -> tuple[str, ...]:
    """What a method of a class takes beyond rows and targets."""
    function = getattr(cls, method, None)
    code = getattr(function, "__code__", None)
    names = () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(name for name in names if name not in ROWS_AND_TARGETS)


def get_metadata_routing(model: Any) -> Any:
    """What the model asks for, as scikit-learn's routers read it."""
    from sklearn.utils.metadata_routing import MetadataRequest

    asked = vars(model).get("_metadata_request")
    if asked is None:
        asked = MetadataRequest(owner=model)
        for method in ROUTED:
            for name in arguments(type(model), method):
                getattr(asked, method).add_request(param=name, alias=None)
    return asked


def set_fit_request(model: Model, **asked: bool | str | None) -> Model:
    """Say whether `fit` wants `sample_weight` from a pipeline or search of scikit-learn: True, False, None (refuse it), or another name for it."""
    return _set_request(model, "fit", asked)


def set_partial_fit_request(model: Model, **asked: bool | str | None) -> Model:
    """Say the same for `partial_fit`."""
    return _set_request(model, "partial_fit", asked)


def set_score_request(model: Model, **asked: bool | str | None) -> Model:
    """Say the same for `score`."""
    return _set_request(model, "score", asked)


def _set_request(model: Model, method: str, asked: dict[str, Any]) -> Model:
    import sklearn

    if not sklearn.get_config()["enable_metadata_routing"]:
        raise RuntimeError(DISABLED)
    known = arguments(type(model), method)
    for name in asked:
        if name not in known:
            raise TypeError(
                f"{type(model).__name__}.{method} takes no {name!r} to ask for. {nearest(name, list(known))}"
            )
    requests = get_metadata_routing(model)
    for name, wish in asked.items():
        getattr(requests, method).add_request(param=name, alias=wish)
    vars(model)["_metadata_request"] = requests
    return model
