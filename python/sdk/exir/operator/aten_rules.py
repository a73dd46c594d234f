# SPDX-License-Identifier: BSD-3-Clause
"""Properties of single ATen operators that `to_edge` uses: which are views, which are no-ops, which promote dtypes,
which decompose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import torch

from sdk.exir.operator.decompositions import (
    NAMED_DECOMPOSITIONS,
    OWN_DECOMPOSITIONS,
    PYTORCH_DECOMPOSITIONS,
)

aten = torch.ops.aten

IDENTITY_OPS = frozenset(
    {
        aten.alias.default,
        aten.detach.default,
        aten.detach_.default,
        aten.lift.default,
        aten.lift_fresh.default,
    }
)
"""Operators that return their argument in a functional graph without autograd."""

IDENTICAL_COPIES = frozenset({aten.lift_fresh_copy.default, aten.alias_copy.default, aten.detach_copy.default})
"""These return a copy of their argument: a write to it does not change the argument."""

DROPPED_OPS = frozenset({aten._assert_tensor_metadata.default})
"""Checks of facts that are static in an exported graph."""

VIEW_TO_COPY = {
    aten.view.default: aten.view_copy.default,
    aten._unsafe_view.default: aten.view_copy.default,
    aten.view.dtype: aten.view_copy.dtype,
    aten.permute.default: aten.permute_copy.default,
    aten.transpose.int: aten.transpose_copy.int,
    aten.t.default: aten.t_copy.default,
    aten.expand.default: aten.expand_copy.default,
    aten.slice.Tensor: aten.slice_copy.Tensor,
    aten.select.int: aten.select_copy.int,
    aten.squeeze.default: aten.squeeze_copy.default,
    aten.squeeze.dim: aten.squeeze_copy.dim,
    aten.squeeze.dims: aten.squeeze_copy.dims,
    aten.unsqueeze.default: aten.unsqueeze_copy.default,
    aten.split.Tensor: aten.split_copy.Tensor,
    aten.split_with_sizes.default: aten.split_with_sizes_copy.default,
    aten.unbind.int: aten.unbind_copy.int,
    aten.unfold.default: aten.unfold_copy.default,
    aten.diagonal.default: aten.diagonal_copy.default,
    aten.as_strided.default: aten.as_strided_copy.default,
    aten.view_as_real.default: aten.view_as_real_copy.default,
    aten.view_as_complex.default: aten.view_as_complex_copy.default,
    aten._reshape_alias.default: aten._reshape_alias_copy.default,
}
"""Views alias their base, which a functional graph cannot express: each becomes the operator that copies."""

COPY_TO_VIEW = {copy: view for view, copy in VIEW_TO_COPY.items() if view is not aten._unsafe_view.default}

MATERIALISE_ORDER = frozenset(VIEW_TO_COPY.values())
"""Operators whose result is contiguous whatever the layout of their argument."""

PROMOTING_OPS = frozenset(
    {
        aten.add.Tensor,
        aten.sub.Tensor,
        aten.mul.Tensor,
        aten.div.Tensor,
        aten.div.Tensor_mode,
        aten.minimum.default,
    }
)
"""Binary operators whose arguments are cast to the promoted dtype, so that backends see one dtype."""


WHOLE_PADS = frozenset(
    {
        aten.reflection_pad1d.default,
        aten.reflection_pad2d.default,
        aten.reflection_pad3d.default,
        aten.replication_pad2d.default,
        aten.replication_pad3d.default,
    }
)
"""Core ATen operators that PyTorch's table decomposes although they are core: into five operators that compute
indices in each call, and an indexing operator for each dimension. They stay whole, because runtimes have kernels for
them, which only copy."""


EXTRA_CORE_OPS = frozenset(
    {
        aten._assert_async.msg,
        aten._assert_scalar.default,
        aten._local_scalar_dense.default,
        aten._native_batch_norm_legit.no_stats,
        aten._upsample_bilinear2d_aa.default,
        aten.alias_copy.default,
        aten.arange.start_step,
        aten.bitwise_left_shift.Tensor,
        aten.bitwise_right_shift.Tensor,
        aten.clamp.Tensor,
        aten.copy.default,
        aten.empty.memory_format,
        aten.full.default,
        aten.lift_fresh_copy.default,
        aten.max_pool2d_with_indices_backward.default,
        aten.nonzero.default,
        aten.sym_constrain_range.default,
        aten.sym_constrain_range_for_size.default,
        aten.unfold_copy.default,
        aten.var_mean.correction,
        aten.where.self,
    }
)
"""Operators that are not tagged as core but that programs contain and runtimes implement."""


_FACTORIES = frozenset(
    {
        aten.empty_permuted.default,
        aten.empty_strided.default,
        aten.ones.default,
        aten.scalar_tensor.default,
        aten.zeros.default,
    }
)
"""Operators that create tensors from numbers and are not tagged as core: either runtimes implement them, or their
elements are undefined."""


@cache
def decomposition_table() -> dict[torch._ops.OperatorBase, Callable]:
    """Python decompositions to the Core ATen operator set."""
    import torch._decomp

    # vector_norm is a core operator, but runtimes have no kernel for it.
    extra = torch._decomp.get_decompositions([aten.linalg_vector_norm, *PYTORCH_DECOMPOSITIONS])
    table = {**torch._decomp._core_aten_decompositions_post_autograd(), **extra, **OWN_DECOMPOSITIONS}
    # A copying view that would be decomposed into the view and a copy is kept.
    kept = {copy for view, copy in VIEW_TO_COPY.items() if view not in table} | WHOLE_PADS
    return {op: function for op, function in table.items() if op not in kept}


TRAINING_ARGUMENT: dict[torch._ops.OpOverload, int] = {
    aten._native_batch_norm_legit.default: 5,
    aten._native_batch_norm_legit_functional.default: 5,
    aten.batch_norm.default: 5,
    aten.dropout.default: 2,
    aten.native_batch_norm.default: 5,
    aten.native_dropout.default: 2,
    aten.rrelu.default: 3,
    aten.rrelu_with_noise.default: 4,
    aten.rrelu_with_noise_functional.default: 4,
}
"""Operators that behave differently in training, and the position of the argument that selects it."""

_KEPT_COMPOSITES = frozenset(
    {
        aten.upsample_bilinear2d.vec,
        aten.upsample_nearest2d.vec,
        aten.sym_size.int,
        aten.sym_stride.int,
        aten.sym_numel.default,
        aten.sym_storage_offset.default,
        aten.sym_is_contiguous.default,
    }
)


def decomposition_of(op: torch._ops.OpOverload, preserved: frozenset[torch._ops.OpOverload]) -> Callable | None:
    """The function that expresses `op` in simpler operators, or None if it stays as it is.

    Operators in `preserved` stay. Others follow the decomposition table, and operators that PyTorch itself defines
    in terms of others (CompositeImplicitAutograd) follow that definition, except for a few that backends take
    whole.
    """
    if op in preserved:
        return None
    decomposition = decomposition_table().get(op) or NAMED_DECOMPOSITIONS.get(op.name())
    if decomposition is not None:
        return decomposition
    if op not in _KEPT_COMPOSITES and op._can_decompose():
        return op.decompose
    return None


def makes_known_tensor(op: torch._ops.OpOverload) -> bool:
    """Whether an operator makes a constant tensor from numbers and runtimes have no kernel for it: windows of signal
    processing, frequencies of spectra."""
    tags = {torch.Tag.core, torch.Tag.nondeterministic_seeded}
    return (
        op.namespace == "aten"
        and not tags.intersection(op.tags)
        and op not in EXTRA_CORE_OPS
        and op not in _FACTORIES
        and not op._schema.is_mutable
        and [str(result.type) for result in op._schema.returns] == ["Tensor"]
        and not any("Tensor" in str(argument.type) for argument in op._schema.arguments)
    )


def returns_alias(op: torch._ops.OpOverload) -> bool:
    """Whether a result of `op` may share memory with an argument without being written to: a view."""
    return any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns)


def functional_form(op: torch._ops.OpOverload) -> torch._ops.OpOverload | None:
    """The functional form of the in-place operator `op`: an operator that returns the value that `op` writes. None if
    no such operator takes the same arguments."""
    name = op._schema.name.split("::")[-1]
    if not name.endswith("_") or name.endswith("__"):
        return None
    packet = getattr(getattr(torch.ops, op.namespace), name[:-1], None)
    functional = getattr(packet, op._overloadname, None) if packet is not None else None
    if functional is None or len(functional._schema.arguments) != len(op._schema.arguments):
        return None
    return functional


def mutated_arguments(op: torch._ops.OpOverload) -> Iterable[int]:
    """Positions of the arguments that `op` writes to."""
    return [i for i, a in enumerate(op._schema.arguments) if a.alias_info is not None and a.alias_info.is_write]


SCALAR_OPS = frozenset(
    {
        aten.sym_size.int,
        aten.sym_numel.default,
        aten.sym_stride.int,
        aten.sym_storage_offset.default,
        aten._local_scalar_dense.default,
        aten._assert_scalar.default,
        aten._assert_async.msg,
        aten.sym_constrain_range.default,
        aten.sym_constrain_range_for_size.default,
        aten.scalar_tensor.default,
    }
)
"""Operators that compute sizes and numbers, and `scalar_tensor`. Edge dialect accepts them in their ATen form."""
