"""The decorator of all our loops: Numba's, with a cache and for a target of our own, which is its own for the processor, but for a tier.

Numba knows targets by name, and finds the functions that it has for a processor through what a target is derived from. Other people's functions are
compiled as ever.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from llvmlite.binding import parse_bitcode  # type: ignore[import-untyped]
from numba import _dynfunc, config, types
from numba import jit as numba_jit
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.cpu import CPUContext
from numba.core.registry import CPUDispatcher, CPUTarget
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_override, target_registry
from numba.core.typing import Context, Signature
from numba.core.utils import threadsafe_cached_property
from numba.np.numpy_support import from_dtype, map_layout
from numpy import ndarray

from assay.compiled.cache import LoopCache
from assay.compiled.tiers import TIER

NAME = "assay"
KIND = "object code, its names, and bitcode"
SCALARS = (types.Number, types.Boolean, types.CPointer)


_being_compiled = threading.local()


class TierLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of one loop. A part, which only other loops call, is optimised with them alone: machine code of its own would never run."""

    _bitcode: bytes | None = None

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.part = getattr(_being_compiled, "part", False)

    def _optimize_final_module(self) -> None:
        if not self.part:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self.part:
            self._finalize_dynamic_globals()
            self._finalized = True
        else:
            super()._finalize_final_module()

    def serialize_using_object_code(self) -> Any:
        if self.part:
            return self.serialize_using_bitcode()
        module = self._get_module_for_linking()
        made = (each for each in (*module.functions, *module.global_variables) if not each.is_declaration)
        return self.name, KIND, (self._get_compiled_object(), {each.name for each in made}, module.as_bitcode())

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        """Numba reads the bitcode of what it loads, too, which takes as long as all the rest: a loop that calls it may want to be compiled."""
        name, kind, data = state
        if kind != KIND:
            return super()._unserialize(codegen, state)
        self = codegen.create_library(name)
        code, names, self._bitcode = data
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._finalize_final_module()
        codegen._engine._defined_symbols |= names
        return self

    def _get_module_for_linking(self) -> Any:
        if self._bitcode is not None:
            self._shared_module, self._bitcode = parse_bitcode(self._bitcode), None
        return super()._get_module_for_linking()


class TierCode(JITCPUCodegen):  # type: ignore[misc]
    """Machine code of the tier."""

    _library_class = TierLibrary

    def set_env(self, env_name: str, env: Any) -> None:
        """Parts have no place of their own for it."""
        if self._engine.get_global_value_address(env_name):
            super().set_env(env_name, env)

    def _get_host_cpu_name(self) -> str:
        return TIER.cpu

    def _get_host_cpu_features(self) -> str:
        return TIER.features


class TierContext(CPUContext):  # type: ignore[misc]
    def init(self) -> None:
        super().init()
        self._internal_codegen = TierCode("assay.exec")

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Any:
        """A part has only a name, by which the loops that call it find it."""
        if library.part:
            return _dynfunc.make_function(
                fndesc.lookup_module(), fndesc.qualname, "a part of other loops", 0, env, (library,)
            )
        return super().get_executable(library, fndesc, env)


class TierTyping(Context):  # type: ignore[misc]
    """Finds the types of what is computed. What operators and functions make of numbers and addresses is found once: Numba goes through all that each of them
    could mean, for arrays and tuples, too, every time, which was a tenth of the time that a tree's loops took to compile."""

    def __init__(self) -> None:
        super().__init__()
        self._of_scalars: dict[Any, Signature] = {}

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        own = isinstance(func, types.Type) and not isinstance(func, types.Function)  # a loop, a class
        if own or kws or not all(isinstance(kind, SCALARS) for kind in args):
            return super().resolve_function_type(func, args, kws)
        asked = (func, tuple(args))
        if asked not in self._of_scalars:
            found = super().resolve_function_type(func, args, kws)
            if found is None:
                return None
            self._of_scalars[asked] = found
        return self._of_scalars[asked]


class TierTarget(CPUTarget):  # type: ignore[misc]
    @threadsafe_cached_property  # type: ignore[untyped-decorator]
    def _toplevel_target_context(self) -> TierContext:
        return TierContext(self.typing_context, self._target_name)

    @threadsafe_cached_property  # type: ignore[untyped-decorator]
    def _toplevel_typing_context(self) -> TierTyping:
        return TierTyping()


class LoopTarget(CPU):  # type: ignore[misc]
    """The name under which Numba finds the rest."""


class CollectorPause:
    """Python's search for cycles rests while a loop is compiled, in whichever thread: Numba makes many objects, and most of them are held until the end.
    A tenth of the time that a tree's loops take to compile went into looking through them."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    def _begin(self) -> None:
        self._lock, self._holders, self._was_on = threading.Lock(), 0, False

    def _in_child(self) -> None:
        """The threads that compiled were left behind."""
        if self._holders and self._was_on:
            gc.enable()
        self._begin()

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            if self._holders == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if self._holders == 0 and self._was_on:
                    gc.enable()


PAUSE = CollectorPause()


def writable(kind: Any) -> Any:
    """A type in which no array is read-only, also within tuples. A loop never writes to what it is handed for reading: tests/laws hold it to that."""
    if isinstance(kind, types.Array) and not kind.mutable:
        return kind.copy(readonly=False)
    if isinstance(kind, types.BaseTuple) and any(writable(part) is not part for part in kind):
        return types.BaseTuple.from_types(tuple(map(writable, kind)), getattr(kind, "instance_class", None))
    return kind


class LoopDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A loop and its machine code for each kind of arguments."""

    targetdescr = TierTarget(NAME)
    part = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._called_as: list[
            Any
        ] = []  # Numba tells types by numbers, which are given away again when a type is forgotten

    def _compilation_chain_init_hook(self) -> None:
        """Other packages' extensions of Numba are of no use to our loops; to look for them reads what every installed package says of itself."""

    def typeof_pyval(self, val: Any) -> Any:
        """As Numba says, which imports NumPy's masked arrays to see that an array is none."""
        if type(val) is not ndarray or val.dtype.kind not in "biuf":
            return super().typeof_pyval(val)
        kind = types.Array(from_dtype(val.dtype), val.ndim, map_layout(val), readonly=not val.flags.writeable)
        self._types_active_call.add(kind)
        return kind

    def compile(self, sig: Any) -> Any:
        """What Numba itself compiles on the way is to be of the same target. Arrays that may not be written to find the code of those that may:
        the same would be compiled for them, and for every mixture of both."""
        before = getattr(_being_compiled, "part", False)
        _being_compiled.part = self.part
        one = tuple(map(writable, sig))
        try:
            with target_override(NAME), PAUSE.held():
                code = super().compile(one)
        finally:
            _being_compiled.part = before
        if one != sig:  # as it was called, so that it is found at once the next time
            self._insert([kind._code for kind in sig], code, False)
            self._called_as.append(sig)
        return code

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(writable, args)), {k: writable(v) for k, v in kws.items()})


class PartDispatcher(LoopDispatcher):
    """A loop that only other loops call."""

    part = True

    def __call__(self, *args: Any, **named: Any) -> Any:
        raise TypeError(
            f"{self.py_func.__qualname__} is a part of other loops and has no code that Python can call: declare it with `jit`."
        )


def for_tier(function: Any = None, **options: Any) -> Any:
    """Numba's decorator for this target; one without a wrapper that Python calls makes a part."""
    if function is None:
        return partial(for_tier, **options)
    loop = numba_jit(function, _target=NAME, **options)
    if isinstance(loop, LoopDispatcher) and options.get("no_cpython_wrapper", False):
        loop.__class__ = PartDispatcher
    return loop


target_registry[NAME] = LoopTarget
dispatcher_registry[LoopTarget] = LoopDispatcher
jit_registry[LoopTarget] = partial(for_tier, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a loop when it is first called, or load it where that has been done before. Other loops run meanwhile: it holds no lock of the
    interpreter. Options are those of Numba's `njit`."""
    if function is None:
        return partial(jit, **options)
    dispatcher = for_tier(function, nogil=True, **{"no_cfunc_wrapper": True, **options})
    if not config.DISABLE_JIT and function.__closure__ is None:  # the text says nothing of what a closure holds
        dispatcher._cache = LoopCache(function)
    return dispatcher


inner = partial(jit, no_cpython_wrapper=True, no_cfunc_wrapper=True)
inlined = partial(inner, forceinline=True)
