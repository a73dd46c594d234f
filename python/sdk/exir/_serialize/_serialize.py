# SPDX-License-Identifier: BSD-3-Clause
"""Serialises the output of the emitter and the backends as a `.pte` file and its `.ptd` files."""

from __future__ import annotations

from typing import Protocol

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._flatbuffer_program import DATA_ALIGNMENT
from sdk.exir._serialize._named_data_store import NamedDataStore, NamedDataStoreOutput
from sdk.exir._serialize._program import PTEFile, serialize_pte_binary
from sdk.exir._serialize._tensor_data import Data
from sdk.exir._serialize.data_serializer import DataPayload, DataSerializer
from sdk.exir.schema import Buffer, Program, Tensor, TensorDataLocation
from sdk.exir.tensor_layout import TensorLayout


class Emitted(Protocol):
    """The part of `EmitterOutput` that serialisation reads."""

    program: Program
    mutable_data: list[Buffer] | None
    external_constant_buffer: list[Data]
    external_constant_map: dict[str, dict[str, int]] | None


class Layout(Protocol):
    """The part of `ExecutorchBackendConfig` that serialisation reads; alignments are in bytes."""

    extract_delegate_segments: bool
    segment_alignment: int
    constant_tensor_alignment: int | None
    delegate_alignment: int | None


def _extract_external_tensor_layouts(program: Program) -> dict[str, TensorLayout]:
    """Layouts, by name, of the tensors whose data is in other files."""
    layouts: dict[str, TensorLayout] = {}
    for plan in program.execution_plan:
        for value in plan.values:
            tensor = value.val
            if not isinstance(tensor, Tensor):
                continue
            info = tensor.extra_tensor_info
            if info is None or info.location != TensorDataLocation.EXTERNAL or info.fully_qualified_name is None:
                continue
            layout = TensorLayout(tensor.scalar_type, list(tensor.sizes), list(tensor.dim_order))
            if layouts.setdefault(info.fully_qualified_name, layout) != layout:
                raise ValueError(
                    f"methods disagree on the external tensor {info.fully_qualified_name!r}: "
                    f"{layouts[info.fully_qualified_name]} and {layout}"
                )
    return layouts


def serialize_for_executorch(
    emitter_output: Emitted,
    config: Layout,
    data_serializer: DataSerializer,
    named_data_store: NamedDataStoreOutput | None = None,
) -> tuple[Cord, dict[str, Cord]]:
    """The program file, and the files of external data by their name without the extension.

    Data that several files need is stored in each of them; within a file it is stored once.
    """
    store = NamedDataStore()
    layouts = _extract_external_tensor_layouts(emitter_output.program)
    for tag, names in (emitter_output.external_constant_map or {}).items():
        for name, index in names.items():
            data = emitter_output.external_constant_buffer[index]
            alignment = config.constant_tensor_alignment or DATA_ALIGNMENT
            store.add_named_data(name, data, alignment, tag, layouts.get(name))
    if named_data_store is not None:
        store.merge_named_data_store(named_data_store)
    output = store.get_named_data_store_output()

    program = serialize_pte_binary(
        PTEFile(
            program=emitter_output.program,
            mutable_data=emitter_output.mutable_data,
            named_data=NamedDataStoreOutput(output.buffers, output.pte_data, {}),
        ),
        extract_delegate_segments=config.extract_delegate_segments,
        segment_alignment=config.segment_alignment,
        constant_tensor_alignment=config.constant_tensor_alignment,
        delegate_alignment=config.delegate_alignment,
    )
    files = {
        tag: data_serializer.serialize(DataPayload(output.buffers, entries))
        for tag, entries in output.external_data.items()
    }
    return program, files
