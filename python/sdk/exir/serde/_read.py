# SPDX-License-Identifier: BSD-3-Clause
"""Makes programs from the content of a file: checks all of it, then lets torch's reader build the graph."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch._export.serde import schema
from torch._export.serde import serialize as torch_serde
from torch._export.verifier import Verifier, load_verifier
from torch.export import ExportedProgram

from sdk.exir._serialize._named_data_store import NamedDataStoreOutput
from sdk.exir._serialize._tensor_data import Data
from sdk.exir._serialize._untrusted import read_json
from sdk.exir._serialize.data_serializer import DataEntry
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.capture._config import EdgeCompileConfig
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.graph.trees import is_plain
from sdk.exir.lowered_backend_module import LoweredBackendModule
from sdk.exir.scalar_type import ScalarType
from sdk.exir.serde import _graph, _memory
from sdk.exir.serde._guards import check_guards
from sdk.exir.serde._schema import ProgramReader, damaged
from sdk.exir.serde._tensor_file import TensorFileError, read_tensors
from sdk.exir.tensor_layout import TensorLayout
from sdk.exir.verification.verifier import EXIREdgeDialectVerifier

SCHEMA_VERSION = (5, 4)
"""The version that ExecuTorch 1.4 reads."""
MEMORY_PADDING = "sdk.memory_padding"
"""The key of the CompileSpec that keeps `memory_padding` in a file: the original refuses unknown fields."""


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Raises ExportError for whatever fails within."""
    try:
        yield
    except ExportError:
        raise
    except TensorFileError as error:
        raise damaged(str(error)) from error
    except Exception as error:  # torch's reader fails in many ways, assertions included, on data that is not a program
        raise damaged(f"{type(error).__name__}: {str(error)[:300]}") from error


def read_weights(data: bytes, what: str) -> dict[str, torch.Tensor]:
    """Tensors by name, as `torch.save` wrote them; none for no data. Raises TensorFileError and ExportError."""
    found = read_tensors(data) if data else {}
    if not isinstance(found, dict):
        raise damaged(f"its {what} are {type(found).__name__}, expected tensors by name")
    for name, tensor in found.items():
        if type(name) is not str or not isinstance(tensor, torch.Tensor):
            raise damaged(f"its {what} have a {type(tensor).__name__} as {str(name)[:80]!r}, expected tensors by name")
    return found


def read_inputs(data: bytes) -> Any:
    """The example inputs, as `torch.save` wrote them: positional and keyword arguments; None for no data."""
    if not data:
        return None
    found = read_tensors(data)
    if found == {}:  # the original writes this for no inputs
        return None
    shaped = isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], tuple) and isinstance(found[1], dict)
    if not shaped:
        raise damaged("its example inputs are not a tuple of positional and keyword arguments")
    _check_keys(found)
    return found


def _check_keys(value: Any) -> None:
    """Checks the keys of dicts: torch puts them into conditions on inputs, which it runs as Python source."""
    if isinstance(value, dict):
        for key in value:
            if isinstance(key, str) and not is_plain(key):
                raise damaged(f"its example inputs have the key {key[:80]!r}, with quotes, backslashes or braces")
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for item in value:
            _check_keys(item)


def _check_versions(program: dict[str, Any]) -> None:
    """Refuses a program of another schema, or with operators of a newer release of PyTorch."""
    release = f"PyTorch {torch.__version__}"
    major = program["schema_version"]["major"]
    if major not in (SCHEMA_VERSION[0], schema.SCHEMA_VERSION[0]):
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            f"the program is of another release: the field schema_version.major is {major}, this SDK reads "
            f"{SCHEMA_VERSION[0]} (ExecuTorch 1.4) and {schema.SCHEMA_VERSION[0]} ({release}); export the model again",
        )
    operators, newest = program["opset_version"].get("aten", 0), torch._C._get_max_operator_version()
    if operators > newest:
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            f"the program is of a newer release: the field opset_version.aten is {operators}, {release} has operators "
            f"up to version {newest}; install the release that exported it, or export the model again",
        )


def from_dict(
    program: dict[str, Any],
    state: dict[str, torch.Tensor],
    constants: dict[str, torch.Tensor],
    inputs: Any,
    *,
    guarded: bool = False,
) -> ExportedProgram:
    """The program of a file, from its JSON, which this changes. `guarded` keeps the program's conditions on inputs."""
    _check_versions(program)
    _graph.from_file(program)
    reader = ProgramReader()
    data = reader.part(schema.ExportedProgram, program)
    if objects := reader.objects & constants.keys():
        # torch would put the repr() of a tensor, which its class decides, into Python source.
        raise damaged(f"it takes the tensor {min(objects)[:80]!r} as an object")
    calls = data.graph_module.module_call_graph
    if not calls or calls[0].fqn:
        raise damaged("its first call of a module is not the call of the whole program")
    of_texts = any(argument.type == "as_string" for argument in data.graph_module.graph.inputs)
    guards = check_guards(data.guards_code, of_texts=of_texts) if guarded else []
    ranges = {
        name: torch_serde.symbolic_shapes.ValueRanges(
            torch_serde._int_to_sympy_int(r.min_val, -torch_serde.int_oo),
            torch_serde._int_to_sympy_int(r.max_val, torch_serde.int_oo),
        )
        for name, r in data.range_constraints.items()
    }
    read = _torch_reader().deserialize(data.graph_module, state, constants, inputs, ranges)
    _graph.restore(read.graph_module, _lowered)
    emitted = _memory.is_emitted(read.graph_module)
    signature = _memory.without_writes(read.graph_module, read.signature) if emitted else read.signature
    result = ExportedProgram(
        root=read.graph_module,
        graph=read.graph_module.graph,
        graph_signature=signature,
        state_dict=read.state_dict,
        range_constraints={read.names_to_symbols[n]: r for n, r in ranges.items() if n in read.names_to_symbols},
        module_call_graph=read.module_call_graph,
        example_inputs=read.example_inputs,
        constants=read.constants,
        verifiers=[_EmittedVerifier] if emitted else [_verifier(dialect) for dialect in data.verifiers],
    )
    if emitted:
        result._verifiers = [_verifier("EDGE")]  # the verifier of the program that was written
        result._graph_signature = read.signature
    if guarded:
        result._guards_code = guards
    return result


def _torch_reader() -> torch_serde.GraphModuleDeserializer:
    """torch's reader with short errors. The original errors contain the whole node and all nested errors, so that the
    text doubles with each level of nested graphs."""
    reader = torch_serde.GraphModuleDeserializer()
    read_node = reader.deserialize_node

    def with_short_error(node: schema.Node, target: Any) -> None:
        try:
            read_node(node, target)
        except Exception as error:
            raise ValueError(str(error)[-300:]) from None

    reader.deserialize_node = with_short_error
    return reader


class _EmittedVerifier(Verifier):
    """The verifier of emitted programs, whose operators write into memory."""

    dialect = "EMITTED"

    def __init__(self) -> None:
        self.dialect = "TRAINING"  # the only one in which torch accepts such operators

    def allowed_op_types(self) -> tuple[type[Any], ...]:
        return (*super().allowed_op_types(), types.FunctionType)


def _verifier(dialect: str) -> type[Verifier]:
    if dialect != "EDGE":
        return load_verifier(dialect)
    # A record is read to be looked at; whether its operators are in the core set was checked when it was made.
    return EXIREdgeDialectVerifier(EdgeCompileConfig(_check_ir_validity=False), class_only=True)


def _lowered(text: Any) -> LoweredBackendModule:
    """Reads the lowered module from the text that is a delegate's first argument."""
    if type(text) is not str:
        raise damaged("a delegate has no lowered module")
    data = read_json(text)
    specs = [
        CompileSpec(_take(spec, "key", str), _graph.decode(_take(spec, "value", str)))
        for spec in _take(data, "compile_specs", list)
    ]
    parts = {name: _graph.decode(_take(data, name, str)) for name in _LOWERED_PARTS}
    original = from_dict(
        _take(data, "original_module", dict),
        read_weights(parts["original_state_dict"], "weights"),
        read_weights(parts["original_constants"], "constants"),
        None,
    )
    named = _take(data, "named_data_store", str) if data.get("named_data_store") else None
    lowered = LoweredBackendModule(
        original,
        _take(data, "backend_id", str),
        parts["processed_bytes"],
        [spec for spec in specs if spec.key != MEMORY_PADDING],
        None if named is None else _named_data(read_json(named)),
    )
    for spec in specs:
        if spec.key == MEMORY_PADDING:
            lowered.meta["memory_padding"] = int(spec.value)
    return lowered


_LOWERED_PARTS = ("original_state_dict", "original_constants", "processed_bytes")


def _take(data: Any, name: str, kind: type) -> Any:
    if type(data) is not dict or type(data.get(name)) is not kind:
        raise damaged(f"a lowered module has no {kind.__name__} as {name!r}")
    return data[name]


def _named_data(data: dict[str, Any]) -> NamedDataStoreOutput:
    buffers: list[Data] = [_graph.decode(buffer) for buffer in _take(data, "buffers", list)]

    def entries(by_key: dict[str, Any]) -> dict[str, DataEntry]:
        made = {}
        for key, entry in by_key.items():
            index = _take(entry, "buffer_index", int)
            if not 0 <= index < len(buffers):
                raise damaged(f"a lowered module has {len(buffers)} buffers and refers to number {index}")
            layout = None if entry["tensor_layout"] is None else _layout(_take(entry, "tensor_layout", dict))
            made[key] = DataEntry(index, _take(entry, "alignment", int), layout)
        return made

    external = {file: entries(by_key) for file, by_key in _take(data, "external_data", dict).items()}
    return NamedDataStoreOutput(buffers, entries(_take(data, "pte_data", dict)), external)


def _layout(data: dict[str, Any]) -> TensorLayout:
    sizes, order = _take(data, "sizes", list), _take(data, "dim_order", list)
    if not all(type(number) is int for number in (*sizes, *order)):
        raise damaged("a lowered module has a tensor whose sizes are not numbers")
    return TensorLayout(ScalarType(_take(data, "scalar_type", int)), sizes, order)
