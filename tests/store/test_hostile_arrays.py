"""Arrays made to do harm, their hashes made right again: refused, or a model that answers."""

from __future__ import annotations

from itertools import product

import numpy as np
from store.hostile import ONCE, every_case, file_of, from_bytes, outcome, parts, refused, with_arrays

from assay.errors import ModelFileError
from assay.store import encode

VALUES = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e-308, 1e308, 5e-324, -1e308, 0.5, 7.0]


@every_case
def test_every_array_with_every_hostile_value(case):
    data = file_of(case)
    names = [n for n, info in parts(data)[0].items() if n != "__metadata__" and 0 not in info["shape"]]
    for turn, (name, value) in enumerate(product(names, VALUES), start=ONCE.index(case)):
        for place in (slice(None), -(turn % 2)):  # all, and in turns the first or the last

            def change(arrays, name=name, value=value, place=place):
                a = arrays[name]
                if a.dtype.kind == "f":
                    a.ravel()[place] = value
                elif np.isfinite(value):
                    most = np.iinfo(a.dtype if a.dtype.kind in "iu" else np.uint8)
                    a.ravel()[place] = min(max(int(value), int(most.min)), int(most.max))
                return arrays

            outcome(with_arrays(data, change))


@every_case
def test_every_array_of_another_type_or_shape_is_refused_or_not_needed(case):
    data = file_of(case)
    names = [n for n in parts(data)[0] if n != "__metadata__" and not n.startswith("witness.")]

    def reshaped(name, how):
        return lambda arrays: {**arrays, name: how(arrays[name])}

    for name in names:
        for dtype in ("<f4", "<i8", "|b1"):
            if np.dtype(dtype).kind != "i" or parts(data)[0][name]["dtype"] != "I64":
                refused(with_arrays(data, reshaped(name, lambda a, t=dtype: a.astype(t))))
        for how in (lambda a: a[..., None], lambda a: a.reshape(1, *a.shape)):
            refused(with_arrays(data, reshaped(name, how)))
        outcome(with_arrays(data, reshaped(name, lambda a: np.concatenate([a, a]))))
        outcome(with_arrays(data, reshaped(name, lambda a: a.ravel()[:0])))
        outcome(with_arrays(data, reshaped(name, lambda a: a[:-1])))
        outcome(with_arrays(data, lambda arrays, name=name: {n: a for n, a in arrays.items() if n != name}))
    refused(with_arrays(data, lambda arrays: {**arrays, "stranger": np.zeros(3)}))


@every_case
def test_a_model_whose_parts_were_altered_is_refused_by_its_certificate(case):
    """Even where the witness still tells the truth, it must be a witness about the parts that answer."""
    X, y = case.rows()
    model = case.model().fit(X, y)
    record = model.to_record()
    record.claims = [
        {**c, "witness": {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in c["witness"].items()}}
        for c in record.claims
    ]
    told = [id(v) for c in record.claims for v in c["witness"].values()]
    assert told
    altered_parts = 0
    for (name, array), where in product(
        record.arrays.items(), (slice(1), slice(None))
    ):  # one number may change no answer
        if name.startswith("state.") or array.dtype.kind != "f" or not array.size:
            continue
        wrong = array.copy()
        wrong.ravel()[where] = wrong.ravel()[where] * 0.9 + 0.01
        try:
            loaded = from_bytes(encode(type(record)(**{**vars(record), "arrays": {**record.arrays, name: wrong}})))
        except ModelFileError:
            altered_parts += 1
            continue
        if np.array_equal(loaded.predict(X), model.predict(X)) and not hasattr(model, "predict_proba"):
            continue
        if hasattr(model, "predict_proba") and np.allclose(loaded.predict_proba(X), model.predict_proba(X)):
            continue
        altered_parts += 1
        assert not loaded.certificate_.verify(X, y).holds, name
    assert altered_parts
