# SPDX-License-Identifier: BSD-3-Clause
"""Runs the decomposition of one operator on fake tensors and hands every core operator that it calls to a graph
builder.

Re-tracing a whole program to decompose a few of its operators costs seconds. Here only the operators that
decompose are run, each in place, and everything around them is copied.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode, _pop_mode_temporarily

from sdk.exir.operator.aten_rules import (
    IDENTICAL_COPIES,
    IDENTITY_OPS,
    aten,
    decomposition_of,
    functional_form,
    mutated_arguments,
    returns_alias,
)

Emit = Callable[[torch._ops.OpOverload, tuple, dict], Any]
"""Adds a call to the graph: takes fake tensors and returns the fake result."""

Keep = Callable[[torch._ops.OpOverload, tuple, dict], bool]
"""Whether a call on fake tensors stays whole."""


class NeedsRetracingError(Exception):
    """The decomposition needs a trace of the whole program, for example because it writes through a view."""


class DecompositionRecorder(TorchDispatchMode):
    """While active, every operator that is called is either decomposed further or passed to `emit`. `alias` gives
    another fake tensor for the same node. `keep` decides whether calls of `candidates` are kept."""

    def __init__(
        self,
        emit: Emit,
        alias: Callable[[torch.Tensor], torch.Tensor],
        preserved: frozenset[torch._ops.OpOverload],
        keep: Keep,
        candidates: frozenset[torch._ops.OpOverload],
    ) -> None:
        super().__init__()
        self._keep = keep
        self._candidates = candidates
        self._functions = _Functions(self, preserved | candidates)
        self._emit = emit
        self._alias = alias
        self._preserved = preserved
        self._aliased: dict[int, torch.Tensor] = {}
        self._bases: dict[int, torch.Tensor] = {}
        self._calls: dict[int, int] = {}
        self._call_count = 0
        self._stale: set[int] = set()
        self._replaced: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._foreign: set[int] = set()

    def run(self, op: torch._ops.OpOverload, decomposition: Callable, args: tuple, kwargs: dict) -> Any:
        """Decomposes one call. The result's tensors are ones that `emit` returned, or arguments."""
        self._aliased.clear()
        self._bases.clear()
        self._calls.clear()
        self._stale.clear()
        self._replaced.clear()
        self._foreign = {id(a) for a in pytree.tree_leaves((args, kwargs)) if isinstance(a, torch.Tensor)}
        functions = self._functions if self._functions.wanted else contextlib.nullcontext()
        with torch.no_grad(), self, functions:
            result = decomposition(*args, **kwargs)
            if result is NotImplemented:
                result = op(*args, **kwargs)
        return pytree.tree_map_only(torch.Tensor, self._current, result)

    def record_whole(self, op: torch._ops.OpOverload, args: tuple, kwargs: dict) -> Any:
        """Returns the result of a call that is kept whole, from inside a decomposition. Returns None if the call is
        decomposed."""
        if _get_current_dispatch_mode() is not self:
            return None  # a kernel for fake tensors called it
        with _pop_mode_temporarily():
            current, options = pytree.tree_map_only(torch.Tensor, self._current, (args, kwargs))
            if op not in self._preserved and not self._keep(op, current, options):
                return None
            return self._emit(op, current, options)

    def base_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns the tensor that `tensor` was a view of in the last decomposition, or `tensor` itself if it was not a
        view."""
        return self._bases.get(id(tensor), tensor)

    def _current(self, tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) in self._stale:
            raise NeedsRetracingError("the decomposition reads memory after writing to a view of it")
        return self._replaced.get(id(tensor), (tensor, tensor))[1]

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if not isinstance(func, torch._ops.OpOverload) or func.namespace == "prim":
            return func(*args, **kwargs)
        if func is aten.size.default:
            raise NeedsRetracingError("a decomposition in C++ reads the numbers behind symbolic sizes")
        if func is aten.alias.default:
            return self._same(self._current(args[0]))
        if func in IDENTICAL_COPIES:
            return self._alias(self._current(args[0]))
        if func in IDENTITY_OPS:
            return args[0]
        if func._schema.is_mutable:
            return self._write(func, args, kwargs)
        args, kwargs = pytree.tree_map_only(torch.Tensor, self._current, (args, kwargs))
        kept = func in self._candidates and self._keep(func, args, kwargs)
        decomposition = None if kept else decomposition_of(func, self._preserved)
        if decomposition is not None:
            with self:
                result = decomposition(*args, **kwargs)
            if returns_alias(func) and result is args[0]:
                return self._same(args[0])
            if result is not NotImplemented:
                return result
        result = self._emit(func, args, kwargs)
        if returns_alias(func):
            # The copy that is recorded does not share memory with its base, so neither may be written to from now on.
            base = self._bases.get(id(args[0]), args[0])
            self._aliased[id(base)] = base
            self._call_count += 1
            for tensor in pytree.tree_leaves(result):
                self._aliased[id(tensor)] = tensor
                self._bases[id(tensor)] = base
                self._calls[id(tensor)] = self._call_count
        return result

    def _same(self, tensor: torch.Tensor) -> torch.Tensor:
        """A view of all of `tensor`. PyTorch does not let a view return its argument."""
        result = self._alias(tensor)
        base = self.base_of(tensor)
        for alias in (base, result):
            self._aliased[id(alias)] = alias
        self._bases[id(result)] = base
        return result

    def _write(self, func: torch._ops.OpOverload, args: tuple, kwargs: dict) -> Any:
        written = list(mutated_arguments(func))
        target: Any = args[0] if args else None
        base = self.base_of(target)
        if written != [0] or id(base) in self._foreign:
            raise NeedsRetracingError(f"{func} writes to memory that other tensors share")
        with self:
            if func is aten.copy_.default:
                value = args[1].to(target.dtype).expand(target.shape)
            else:
                functional = functional_form(func)
                if functional is None:
                    raise NeedsRetracingError(f"{func} has no functional form")
                value = functional(self._current(target), *args[1:], **kwargs)
                if value.dtype != target.dtype:
                    value = value.to(target.dtype)
        self._invalidate_aliases(target, base)
        self._replaced[id(target)] = (target, value)
        return target

    def _invalidate_aliases(self, target: torch.Tensor, base: torch.Tensor) -> None:
        """After a write to `target`, tensors that share its memory hold old values. Pieces of one split do not
        overlap."""
        if id(base) not in self._aliased:
            return
        call = self._calls.get(id(target))
        for alias in self._aliased:
            same_memory = alias == id(base) or self._bases.get(alias) is base
            if same_memory and alias != id(target) and (call is None or self._calls.get(alias) != call):
                self._stale.add(alias)


class _Functions(TorchFunctionMode):
    """Finds calls of composite operators, such as linear, that are to stay whole. PyTorch decomposes these before a
    dispatch mode sees them. Calls inside of decompositions in C++, such as that of `rnn_tanh_cell`, are not found."""

    def __init__(self, recorder: DecompositionRecorder, wanted: frozenset[torch._ops.OpOverload]) -> None:
        super().__init__()
        self._recorder = recorder
        self.wanted = {op for op in wanted if op._can_decompose() and not returns_alias(op)}
        self._names = {op._schema.name.partition("::")[2]: op._schema.name for op in self.wanted}

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        op = self._operator(func, args, kwargs)
        result = None if op is None else self._recorder.record_whole(op, args, kwargs)
        return func(*args, **kwargs) if result is None else result

    def _operator(self, func: Any, args: tuple, kwargs: dict) -> torch._ops.OpOverload | None:
        if isinstance(func, torch._ops.OpOverload):
            return func if func in self.wanted else None
        name = self._names.get(getattr(func, "__name__", ""))
        if name is None:
            return None
        try:
            overload = torch._C._jit_resolve_packet(name, *args, **kwargs)
        except RuntimeError:
            return None  # a Python function of the same name, with other arguments
        namespace, _, packet = name.partition("::")
        found = getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
        return found if found in self.wanted else None
