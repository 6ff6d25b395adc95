"""Hyper-parameters and tags: scikit-learn's protocol, implemented without importing scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from assay.params import Param, check_names, defaults


class Tunable:
    """Something with hyper-parameters, declared in the table `params`; their defaults stand in `__init__`."""

    params: ClassVar[Mapping[str, Param]] = {}
    takes_missing: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = False  # scipy's sparse matrices stay sparse
    fills_sparse: ClassVar[bool] = False  # it takes them, and fills their zeros in block by block
    positive_only: ClassVar[bool] = False
    _kind: ClassVar[str]

    @classmethod
    def kind_of(cls, params: Mapping[str, Any]) -> str:
        """The kind of model, "classifier" or "regressor", that these hyper-parameters make; most classes are one for good."""
        return cls._kind

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyper-parameters by name."""
        return {name: getattr(self, name) for name in defaults(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Change hyper-parameters; they take effect at the next fit."""
        check_names(type(self), params)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = defaults(type(self))
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if not _same(v, usual[k])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        kind = self.kind_of(self.get_params())
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(
                sparse=self.takes_sparse, allow_nan=self.takes_missing, positive_only=self.positive_only
            ),
        )


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a is b or a == b)
    except ValueError:
        return False
