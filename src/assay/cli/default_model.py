"""Which model `assay train` takes where none is asked for: the target decides, and whether there is text to learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.tables.description.schema import Schema


def default_model(schema: Schema) -> tuple[str, str]:
    """(name, why). Words of a text are thousands of sparse columns, which logistic regression takes and naive Bayes does not."""
    from assay.tables.description.schema import task_of

    task, why = task_of(schema)
    if task == "regression":
        return "linear-regression", why
    texts = [column.name for column in schema.used if column.kind == "text"]
    if not texts:
        return "naive-bayes", why
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    return "logistic-regression", f"{why}; column {texts[0]!r}{more} holds text, whose words naive-bayes does not take"
