# SPDX-License-Identifier: BSD-3-Clause
"""Finds the calls of our operators in a call of PyTorch: runs it and records the calls at the dispatcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import yaml
from single_operator import OutputSpec, dense, written_in_place
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from sdk.exir.operator.convert import NoOutVariantError, to_out_variant

FUNCTIONS_YAML = Path(__file__).resolve().parents[3] / "kernels" / "portable" / "functions.yaml"

DIMENSION_LIMIT = 16
"""The maximum number of dimensions of a tensor in the runtime (kTensorDimensionLimit)."""

_VIEW_COPIES = ("alias", "as_strided", "detach", "diagonal", "expand", "permute", "select", "slice", "split")
_VIEW_COPIES += ("split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view")
_VIEW_COPIES += ("view_as_complex", "view_as_real")


@cache
def library_operators() -> frozenset[str]:
    """Names of the portable library's ATen operators, `name.overload`."""
    entries = yaml.safe_load(FUNCTIONS_YAML.read_text())
    return frozenset(entry["op"] for entry in entries if "op" in entry)


@cache
def _out_variant(func: torch._ops.OpOverload) -> torch._ops.OpOverload | None:
    """The operator of the library that does what `func` does; for a view, the operator that copies."""
    if func.namespace != "aten":
        return None
    name = func._schema.name.removeprefix("aten::")
    if name in _VIEW_COPIES:
        packet = getattr(torch.ops.aten, f"{name}_copy")
        func = getattr(packet, func._overloadname)
    try:
        out, _ = to_out_variant(func)
    except NoOutVariantError:
        return None
    return out if _name(out) in library_operators() else None


def _name(operator: torch._ops.OpOverload) -> str:
    """The name in functions.yaml."""
    name = operator._schema.name.removeprefix("aten::")
    return name if operator._schema.overload_name == "" else f"{name}.{operator._overloadname}"


@dataclass(frozen=True)
class Call:
    """A call of an out variant. `eager` is the function that was called instead. `arguments` and `results` are copies;
    one of `results` and `error` is set, and `returned` is eager's result. Arguments that are written in place follow
    the results. A result is None if eager was asked not to compute it."""

    operator: torch._ops.OpOverload
    eager: torch._ops.OpOverload
    arguments: Mapping[str, Any]
    results: Sequence[torch.Tensor | None] | None
    error: Exception | None
    returned: Any

    @property
    def name(self) -> str:
        """The name in functions.yaml."""
        return _name(self.operator)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype under which the call is counted: that of the first tensor argument or, if none, of the result."""
        tensors = self.tensors() or [result for result in self.results or () if result is not None]
        return tensors[0].dtype if tensors else torch.float32

    def tensors(self) -> list[torch.Tensor]:
        """All tensors among the arguments."""
        leaves = pytree.tree_leaves(list(self.arguments.values()))
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def key(self) -> str:
        """Calls of equal key differ in the values of their tensors only."""
        return f"{self.name}({', '.join(f'{name}={_describe(value)}' for name, value in self.arguments.items())})"

    def output_specs(self) -> list[OutputSpec]:
        missing = OutputSpec(self.dtype, (0,), (0,))
        results = (self.results or ())[: len(self.results or ()) - len(written_in_place(self.operator))]
        return [missing if result is None else OutputSpec.like(result) for result in results]


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        layout = "" if value.is_contiguous() else " channels last"
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}{layout}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_describe, value)) + "]"
    return repr(value)


class Recorder(TorchDispatchMode):
    """Records the calls that are made inside of it. Decomposes operators that the library lacks, as an export does."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self._decompositions = _decompositions()

    def __torch_dispatch__(
        self, func: torch._ops.OpOverload, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if _out_variant(func) is None:
            decomposition = self._decompositions.get(func)
            if decomposition is not None and not func._schema.is_mutable:
                with self:
                    result = decomposition(*args, **kwargs)
                if result is not NotImplemented:
                    return result
            return func(*args, **kwargs)
        call = record_call(func, args, kwargs)
        if call is None:
            return func(*args, **kwargs)
        self.calls.append(call)
        if call.error is not None:
            raise call.error
        return call.returned


def record_call(func: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call | None:
    """Makes a call and describes it as one of the library's operators. Returns None, without a call, if there is no
    such operator or a program cannot express the arguments."""
    out = func if _name(func) in library_operators() else _out_variant(func)
    if out is None or not _has_a_form_in_programs(func, args, kwargs):
        return None
    arguments = pytree.tree_map_only(torch.Tensor, dense, _by_name(func, args, kwargs))
    try:
        returned = func(*args, **kwargs)
    except Exception as error:
        return Call(out, func, arguments, None, error, None)
    leaves = [] if out is func else pytree.tree_leaves(returned, is_leaf=lambda leaf: leaf is None)
    # Eager mode has changed these arguments in place; `arguments` are copies from before the call.
    named = _by_name(func, args, kwargs)
    leaves += [named[name] for name in written_in_place(out)]
    results = [dense(leaf) if isinstance(leaf, torch.Tensor) else None for leaf in leaves]
    return Call(out, func, arguments, results, None, returned)


@cache
def _decompositions() -> Mapping[Any, Any]:
    return dict(torch.export.default_decompositions())


def _has_a_form_in_programs(func: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a program can express the call. It has no complex numbers (only tensors of them), no memory formats (only
    dim orders), no more dimensions than the runtime's limit, and no storages of views. Calls with an out argument come
    from PyTorch's tests of out arguments, which are about aliases."""
    leaves = pytree.tree_leaves((args, kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if any(isinstance(leaf, complex) for leaf in leaves):
        return False
    if any(leaf in (torch.channels_last, torch.channels_last_3d) for leaf in leaves if _is_memory_format(leaf)):
        return False
    if any(tensor.dim() > DIMENSION_LIMIT for tensor in tensors):
        return False
    if any(argument.is_out for argument in func._schema.arguments):
        return False
    if func is torch.ops.aten.as_strided.default:
        base = args[0] if args else kwargs["self"]
        return base.is_contiguous() and base.numel() * base.itemsize == base.untyped_storage().nbytes()
    return True


def _is_memory_format(value: Any) -> bool:
    return isinstance(value, torch.memory_format)


def _by_name(func: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments by name. A number in place of a tensor becomes a tensor without dimensions, as in an exported
    program."""
    named: dict[str, Any] = {}
    in_double = any(isinstance(arg, torch.Tensor) and arg.dtype == torch.float64 for arg in args)
    for position, argument in enumerate(func._schema.arguments):
        if position < len(args) or argument.name in kwargs:
            value = args[position] if position < len(args) else kwargs[argument.name]
            is_number = isinstance(argument.type, torch._C.TensorType) and isinstance(value, (bool, int, float))
            dtype = torch.float64 if in_double and isinstance(value, float) else None
            named[argument.name] = torch.tensor(value, dtype=dtype) if is_number else value
    return named
