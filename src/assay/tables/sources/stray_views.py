"""Text views of unknown origin made harmless.

A view is 16 bytes that say how long a text is and where. Those of missing values may hold anything, and Arrow's own check passes them,
but its casts read them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types


def without_stray_views(table: Any) -> Any:
    """A table that has been validated, with views of missing values that refer to nothing."""
    for j, field in enumerate(table.schema):
        if _is_view(field.type.value_type if types.is_dictionary(field.type) else field.type):
            chunks = [_harmless(chunk) for chunk in table.column(j).chunks]
            table = table.set_column(j, field, pa.chunked_array(chunks, field.type))
    return table


def _is_view(dtype: Any) -> bool:
    return bool(types.is_string_view(dtype) or types.is_binary_view(dtype))


def _harmless(array: Any) -> Any:
    if types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, _harmless(array.dictionary))
    if not array.null_count:
        return array
    given, views, *texts = array.buffers()
    end = array.offset + len(array)
    kept = np.frombuffer(views, np.uint8, 16 * end).reshape(end, 16).copy()
    kept[np.unpackbits(np.frombuffer(given, np.uint8), count=end, bitorder="little") == 0] = 0
    return pa.Array.from_buffers(array.type, len(array), [given, pa.py_buffer(kept), *texts], offset=array.offset)
