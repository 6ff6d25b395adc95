"""What scikit-learn asks of a model before it works with it."""

from __future__ import annotations

from typing import Any


def sklearn_tags(model: Any) -> Any:
    """What scikit-learn wants to know of a model; asked by scikit-learn alone, which is then there."""
    from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

    kind = model.kind_of(model.get_params())
    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=True, multi_output=bool(getattr(model, "multi_output", False))),
        transformer_tags=TransformerTags() if hasattr(model, "transform") else None,
        classifier_tags=ClassifierTags() if kind == "classifier" else None,
        regressor_tags=RegressorTags() if kind == "regressor" else None,
        input_tags=InputTags(
            sparse=model.takes_sparse, allow_nan=model.takes_missing, positive_only=model.positive_only
        ),
    )
