# SPDX-License-Identifier: BSD-3-Clause
"""The operators of a program under the names of the original's extension module. This package itself uses
`codegen.program_operators`."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..program_operators import program_calls, program_operators

__all__ = [
    "_IOMetaData",
    "_get_io_metadata_for_program_operators",
    "_get_program_from_buffer",
    "_get_program_operators",
]


@dataclass(frozen=True)
class _IOMetaData:
    """An argument of a call: the number of its type in the schema's union `KernelTypes` and, for a tensor or a list of
    tensors, the dtype and the dim order of the (first) tensor."""

    kernel_type: int
    dtype: int = -1
    _dim_order: tuple[int, ...] = field(default=())

    @property
    def dim_order(self) -> list[int]:
        return list(self._dim_order)


@dataclass(frozen=True)
class _Program:
    data: bytes


def _get_program_from_buffer(buffer: bytes) -> _Program:
    """Raises ProgramError if the bytes are not a program."""
    program_operators(buffer)
    return _Program(bytes(buffer))


def _get_program_operators(program: _Program) -> list[str]:
    """The operators of all methods, sorted, each once."""
    return program_operators(program.data)


def _get_io_metadata_for_program_operators(program: _Program) -> dict[str, set[tuple[_IOMetaData, ...]]]:
    """For each operator, the arguments of its calls; equal calls count once."""
    found: dict[str, set[tuple[_IOMetaData, ...]]] = {}
    for name, arguments in program_calls(program.data):
        metas = tuple(
            _IOMetaData(kind) if meta is None else _IOMetaData(kind, meta.dtype, tuple(meta.dim_order))
            for kind, meta in arguments
        )
        found.setdefault(name, set()).add(metas)
    return found
