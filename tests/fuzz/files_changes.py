"""Changes of a model file that keep its form: every field of the document, every array, with hashes made right again afterwards.

A change takes (rng, document, arrays), alters them in place and says in words what it did.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from store.hostile import CODES, HOSTILE

from assay.estimator.layout import Tensor
from assay.families import REGISTRY, model_class

Rng = np.random.Generator
Document = dict[str, Any]
Arrays = dict[str, np.ndarray]
Change = Callable[[Rng, Document, Arrays], str]

WHOLE = [
    -(2**63),
    -(2**31),
    -7,
    -2,
    -1,
    0,
    1,
    2,
    3,
    7,
    255,
    256,
    2**16,
    2**24,
    2**31 - 1,
    2**31,
    2**32,
    2**62,
    2**63 - 1,
]
REAL = [float("nan"), float("inf"), float("-inf"), -1e308, -1e5, -1.0, -0.0, 0.0, 5e-324, 1e-300, 1e-8, 0.5, 1.0, 2.0, 7.5, 1e9, 1e160, 1e308]  # fmt: skip
HUGE = [2**16, 2**20, 2**24, 2**24 + 1, 2**27, 2**31 - 1, 2**31, 10**12]
NUMBERS = [*HUGE, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, -(2**40), -1, 0, 1, 2, 0.5, 1e300, -0.5]


def pick(rng: Rng, values: Any) -> Any:
    values = list(values)
    return values[int(rng.integers(len(values)))]


# --- the document ---------------------------------------------------------------------------------------------------------


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a document, of long lists the first and last few."""
    found = [here]
    if isinstance(value, dict):
        for key in value:
            found += places(value[key], (*here, key))
    elif isinstance(value, list):
        for i in sorted({*range(min(len(value), 3)), *range(max(0, len(value) - 2), len(value))}):
            found += places(value[i], (*here, i))
    return found


def at(doc: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        doc = doc[key]
    return doc


def put(doc: Any, place: tuple[Any, ...], value: Any) -> None:
    at(doc, place[:-1])[place[-1]] = value


def some_place(rng: Rng, doc: Document) -> tuple[Any, ...]:
    """A place below the top; each field of the document is as likely as any other."""
    top = pick(rng, [key for key in doc if key != "sha256"])
    return pick(rng, places(doc[top], (top,)))


def another_value(rng: Rng, doc: Document, arrays: Arrays, value: Any) -> Any:
    """Something hostile, something near, something that stands elsewhere in the document, or the name of an array."""
    way = rng.random()
    if way < 0.35:
        return copy.deepcopy(pick(rng, HOSTILE))
    if way < 0.5:
        return copy.deepcopy(at(doc, some_place(rng, doc)))
    if way < 0.6:
        return {"array": pick(rng, [*arrays, "nothing"])}
    if way < 0.7:
        return deep(rng)
    return near(rng, value)


def near(rng: Rng, value: Any) -> Any:
    """A value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return pick(
            rng, [value + 1, value - 1, -value, 2 * value, value / 2, float(value), value * (1 + 1e-7), *NUMBERS]
        )
    if isinstance(value, str):
        return pick(rng, [value + "x", value[:-1], value.upper(), *REGISTRY])
    if isinstance(value, list):
        return pick(rng, [value[1:], value[:-1], value + value, value[::-1], [value], [*value, None], value[:1] * 1000])
    if isinstance(value, dict):
        keys = list(value)
        return {k: v for k, v in value.items() if not keys or k != pick(rng, keys)}
    return pick(rng, NUMBERS)


def deep(rng: Rng) -> Any:
    """Lists or tables within each other."""
    found: Any = pick(rng, [0, "x", None, 1e300])
    for _ in range(int(pick(rng, [3, 50, 400]))):
        found = [found] if rng.random() < 0.5 else {pick(rng, ["a", "$", "array"]): found}
    return found


def change_field(rng: Rng, doc: Document, arrays: Arrays) -> str:
    place = some_place(rng, doc)
    value = another_value(rng, doc, arrays, at(doc, place))
    put(doc, place, value)
    return f"{place} = {str(value)[:80]}"


def drop_field(rng: Rng, doc: Document, arrays: Arrays) -> str:
    place = some_place(rng, doc)
    del at(doc, place[:-1])[place[-1]]
    return f"without {place}"


def change_param(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """A hyper-parameter: mostly one that is possible, so that what was learnt no longer fits it."""
    cls = model_class(doc["model"])
    name = pick(rng, cls.params)
    words = [word for p in cls.params.values() for word in (*getattr(p, "options", ()), *p.words)]
    values = [*words, None, True, False, 0, 1, 2, 3, 0.5, 1e-3, [1], [2, 3], "auto", *HUGE]
    doc["params"][name] = pick(rng, values)
    return f"{name}={doc['params'][name]!r}"


def change_model(rng: Rng, doc: Document, arrays: Arrays) -> str:
    doc["model"] = pick(rng, REGISTRY)
    return f"model {doc['model']}"


# --- claims ---------------------------------------------------------------------------------------------------------------


def change_claim(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """A field of a witness or a claim."""
    if not doc["claims"]:
        return change_field(rng, doc, arrays)
    number = int(rng.integers(len(doc["claims"])))
    claim = doc["claims"][number]
    inside = pick(rng, places(claim["witness"], ("witness",)) if rng.random() < 0.7 else places(claim))
    if not inside:
        return change_field(rng, doc, arrays)
    value = another_value(rng, doc, arrays, at(claim, inside))
    put(claim, inside, value)
    return f"claim {claim.get('name') if isinstance(claim, dict) else number!r}: {inside} = {str(value)[:80]}"


def swap_claims(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """One part of a claim from another, or a claim twice, or none."""
    claims = doc["claims"]
    if not claims:
        return change_field(rng, doc, arrays)
    a, b = (int(i) for i in rng.integers(len(claims), size=2))
    way = pick(rng, ["check", "witness", "name", "statement", "twice", "gone", "last"])
    if way == "twice":
        claims.append(copy.deepcopy(claims[a]))
    elif way == "gone":
        del claims[a]
    elif way == "last":
        claims.clear()
    else:
        claims[a][way] = copy.deepcopy(claims[b][way])
    return f"claims {a} and {b}: {way}"


# --- arrays ---------------------------------------------------------------------------------------------------------------


def some_array(rng: Rng, arrays: Arrays) -> str | None:
    """An array with numbers in it; learnt parts more often than witnesses."""
    there = [name for name, a in arrays.items() if a.size]
    learnt = [name for name in there if not name.startswith("witness.")]
    return pick(rng, learnt if learnt and rng.random() < 0.8 else there) if there else None


def change_numbers(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """One number, some, or all of an array."""
    name = some_array(rng, arrays)
    if name is None:
        return change_field(rng, doc, arrays)
    flat = arrays[name].reshape(-1)
    where = pick(rng, [slice(0, 1), slice(-1, None), slice(None), slice(int(rng.integers(flat.size)), None, 3)])
    if flat.dtype.kind == "f":
        way = rng.random()
        value: Any = (
            pick(rng, REAL) if way < 0.6 else flat[where] * pick(rng, [0.9, 1.1, -1.0, 2.0]) + pick(rng, [0.0, 0.01])
        )
    elif flat.dtype.kind == "b":
        value = ~flat[where]
    else:
        ends = np.iinfo(flat.dtype)
        whole = pick(
            rng, [*WHOLE, flat.size, flat.size - 1, doc["n_features"] if isinstance(doc["n_features"], int) else 1]
        )
        value = min(max(whole, int(ends.min)), int(ends.max))
    with np.errstate(all="ignore"):
        flat[where] = value
    return f"{name}[{where.start}:{where.stop}] = {str(value)[:40]}"


def forge_numbers(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """Learnt numbers that are near the honest ones: what a certificate covers must not verify with them."""
    learnt = [n for n, a in arrays.items() if a.size and a.dtype.kind == "f" and not n.startswith("witness.")]
    if not learnt:
        return change_numbers(rng, doc, arrays)
    name = pick(rng, learnt)
    flat = arrays[name].reshape(-1)
    where = pick(rng, [slice(None), slice(int(rng.integers(flat.size)), None, int(rng.integers(1, 4)))])
    by = pick(rng, [1e-3, 1e-2, 0.1, 0.5, 1.0])
    with np.errstate(all="ignore"):
        flat[where] = flat[where] * (1 + by * rng.standard_normal(flat[where].shape)) + pick(rng, [0.0, by])
    return f"{name}[{where.start}::{where.step}] off by {by}"


def forge_value(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """A learnt value near the honest one."""
    names = [n for n, value in doc["facts"].items() if isinstance(value, int | float | str)]
    if not names:
        return forge_numbers(rng, doc, arrays)
    name = pick(rng, names)
    value = doc["facts"][name]
    if isinstance(value, float):
        doc["facts"][name] = value * (1 + pick(rng, [1e-3, 0.1, -0.5])) + pick(rng, [0.0, 0.01])
    else:
        doc["facts"][name] = near(rng, value)
    return f"{name} = {doc['facts'][name]}"


def shuffle_array(rng: Rng, doc: Document, arrays: Arrays) -> str:
    name = some_array(rng, arrays)
    if name is None:
        return change_field(rng, doc, arrays)
    rng.shuffle(arrays[name].reshape(-1))
    return f"{name} shuffled"


def swap_arrays(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """An array in the place of another."""
    if len(arrays) < 2:
        return change_field(rng, doc, arrays)
    a, b = (pick(rng, arrays) for _ in range(2))
    arrays[a], arrays[b] = arrays[b], arrays[a]
    return f"{a} and {b} swapped"


def recast_array(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """Another type or shape."""
    if not arrays:
        return change_field(rng, doc, arrays)
    name = pick(rng, arrays)
    a = arrays[name]
    way = pick(rng, ["type", "longer", "shorter", "empty", "flat", "deep", "turned", "vast"])
    with np.errstate(all="ignore"):
        arrays[name] = {
            "type": lambda: np.nan_to_num(a.astype(np.float64)).astype(pick(rng, CODES)),
            "longer": lambda: np.concatenate([a, a]) if a.ndim else a.reshape(1),
            "shorter": lambda: a[: max(0, len(a) - 1)] if a.ndim else a,
            "empty": lambda: a.reshape(-1)[:0].reshape((0,) * a.ndim) if a.ndim else a,
            "flat": lambda: a.reshape(-1),
            "deep": lambda: a[..., None],
            "turned": lambda: np.ascontiguousarray(a.T),
            "vast": lambda: np.empty((0, *[int(pick(rng, HUGE))] * max(1, a.ndim - 1)), dtype=a.dtype),
        }[way]()
    return f"{name}: {way} {arrays[name].dtype} {arrays[name].shape}"


def add_or_drop_array(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """An array that is not there (by a name of the layout, perhaps of a value), or one that is taken away."""
    if arrays and rng.random() < 0.4:
        name = pick(rng, arrays)
        del arrays[name]
        return f"without {name}"
    layout = _layout(doc)
    name = pick(rng, [*layout, "stranger", "witness.0.x"])
    arrays[name] = np.zeros(pick(rng, [(), (0,), (1,), (3,), (60,), (3, 3)]), dtype=pick(rng, CODES))
    return f"with {name} {arrays[name].dtype} {arrays[name].shape}"


def fact_for_array(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """A value by the name of an array, beside it or in its place."""
    name = pick(rng, [n for n, p in _layout(doc).items() if isinstance(p, Tensor)] or ["x"])
    known = arrays.get(name)
    doc["facts"][name] = pick(rng, [[-7] * 40, -7, None, "x", [[1.0]], [] if known is None else known.tolist()])
    if rng.random() < 0.5:
        arrays.pop(name, None)
    return f"value {name} = {str(doc['facts'][name])[:40]}"


def _layout(doc: Document) -> Any:
    known = isinstance(doc.get("model"), str) and doc["model"] in REGISTRY
    return model_class(doc["model"]).layout if known else {}


# --- sizes ----------------------------------------------------------------------------------------------------------------


def claim_columns(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """A huge number of columns, of which arrays with no rows, and no names, say nothing else."""
    many = int(pick(rng, HUGE))
    doc["n_features"] = many
    doc["names"] = doc["categories"] = None
    for name, part in _layout(doc).items():
        if isinstance(part, Tensor) and "d" in part.dims and name in arrays:
            a = arrays[name]
            if part.optional:
                del arrays[name]
            elif part.dims[0] != "d" and a.ndim > 1:
                arrays[name] = np.empty(
                    (0, *(many if dim == "d" else s for dim, s in zip(part.dims[1:], a.shape[1:]))), a.dtype
                )
    return f"{many} columns"


def resize(rng: Rng, doc: Document, arrays: Arrays) -> str:
    """All arrays that share a dimension, longer or shorter alike: so the checks behind those of shapes are reached."""
    layout = {n: p for n, p in _layout(doc).items() if isinstance(p, Tensor) and n in arrays}
    letters = sorted({str(dim) for p in layout.values() for dim in p.dims if isinstance(dim, str)})
    if not letters:
        return change_field(rng, doc, arrays)
    letter, by = pick(rng, letters), int(pick(rng, [-2, -1, 1, 2, 5]))
    for name, part in layout.items():
        for axis, dim in enumerate(part.dims):
            if dim == letter and arrays[name].ndim == len(part.dims):
                arrays[name] = _resized(arrays[name], axis, by)
    if letter == "d" and isinstance(doc["n_features"], int):
        doc["n_features"] += by
        doc["names"] = doc["categories"] = None
    if letter == "K" and isinstance(doc.get("classes"), dict):
        _resize_classes(doc["classes"], by)
    return f"{letter} {by:+}"


def _resized(a: np.ndarray, axis: int, by: int) -> np.ndarray:
    wanted = max(0, a.shape[axis] + by)
    if max(a.shape) > 1 << 16:
        return a
    if not a.shape[axis]:
        return np.zeros([wanted if i == axis else s for i, s in enumerate(a.shape)], dtype=a.dtype)
    return np.take(a, np.minimum(np.arange(wanted), a.shape[axis] - 1), axis=axis)


def _resize_classes(classes: Any, by: int) -> None:
    values = classes.get("values")
    if isinstance(values, list) and values:
        classes["values"] = values[:by] if by < 0 else values + [f"{values[-1]}{i}" for i in range(by)]


CHANGES: list[tuple[float, Change]] = [
    (4, change_field),
    (1, drop_field),
    (2, change_param),
    (0.5, change_model),
    (4, change_claim),
    (1, swap_claims),
    (4, change_numbers),
    (4, forge_numbers),
    (1, forge_value),
    (1, shuffle_array),
    (1, swap_arrays),
    (2, recast_array),
    (1, add_or_drop_array),
    (1, fact_for_array),
    (2, claim_columns),
    (3, resize),
]


def changed(rng: Rng, doc: Document, arrays: Arrays) -> tuple[Document, Arrays, list[str]]:
    """A copy of the file's parts with one to three changes, and what they were."""
    doc, arrays = copy.deepcopy(doc), {name: a.copy() for name, a in arrays.items()}
    weights = np.array([weight for weight, _ in CHANGES])
    said = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        change = CHANGES[int(rng.choice(len(CHANGES), p=weights / weights.sum()))][1]
        try:
            said.append(f"{change.__name__}: {change(rng, doc, arrays)}")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # an earlier change left no such place
            said.append(f"{change.__name__}: found no place")
    return doc, arrays, said
