# SPDX-License-Identifier: BSD-3-Clause
"""`NeuropilotBackend`: compiles partitions for MediaTek's NPUs.

A payload is the version 1 as u8, the numbers of inputs and outputs and the size of the network as u32, and the network.
Methods whose compile specs name the same `ExtractSharedBlobKey` share their weights, which are named data under that
key.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from typing import Any, Final, final

import torch
from torch.export import ExportedProgram

from sdk.backends.mediatek.compiler import (
    COMPILER,
    EXTRACT_SHARED_BLOB_KEY,
    REQUIRED_COMPILE_SPEC_KEYS,
    SKIP_COMPILE_SPEC_KEYS,
    SUPPORTED_PLATFORM_CONFIGS,
    check_specs,
    extract_shared_data,
    options_of,
    value_of,
)
from sdk.backends.npu.compiler import graph_for, remember, wants_reference
from sdk.backends.npu.reference_payload import Constants, is_reference, to_bytes
from sdk.exir._serialize._named_data_store import NamedDataStore
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec

__all__ = [
    "EXTRACT_SHARED_BLOB_KEY",
    "HEADER_SIZE",
    "HEADER_VERSION",
    "REQUIRED_COMPILE_SPEC_KEYS",
    "SKIP_COMPILE_SPEC_KEYS",
    "SUPPORTED_PLATFORM_CONFIGS",
    "NeuropilotBackend",
    "assert_default_dim_order",
    "network_of",
]

_HEADER = struct.Struct("<BIII")
HEADER_SIZE: Final = _HEADER.size
HEADER_VERSION: Final = 1


def assert_default_dim_order(edge_graph_module: torch.fx.GraphModule) -> None:
    """Raises RuntimeError for an input or a weight that is not contiguous."""
    for node in edge_graph_module.graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.dim_order() != tuple(range(value.dim())):
            raise RuntimeError(
                f"MediaTek's networks have contiguous inputs; {node.name} has the dim order {value.dim_order()}"
            )


def network_of(payload: bytes | memoryview) -> memoryview:
    """The network in a payload. Raises ValueError if the header does not fit."""
    if len(payload) < HEADER_SIZE:
        raise ValueError(f"the payload has {len(payload)} bytes; its header needs {HEADER_SIZE}")
    version, _, _, size = _HEADER.unpack_from(payload)
    if version != HEADER_VERSION:
        raise ValueError(f"the payload has the version {version}; expected {HEADER_VERSION}")
    if size != len(payload) - HEADER_SIZE:
        raise ValueError(f"the payload announces a network of {size} bytes and has {len(payload) - HEADER_SIZE}")
    return memoryview(payload)[HEADER_SIZE:]


@final
class NeuropilotBackend(BackendDetails):
    """Compile specs: `platform-config` (required), `ExtractSharedBlobKey`, `ImportForever` and `HighAddr` for the
    runtime, `reference-payload`, and options of MediaTek's compiler by their names."""

    @classmethod
    def preprocess(cls, edge_program: ExportedProgram, module_compile_spec: list[CompileSpec]) -> PreprocessResult:
        """Raises CompilerNotInstalledError if MediaTek's compiler is missing and no reference payload is requested."""
        check_specs(module_compile_spec)
        assert_default_dim_order(edge_program.graph_module)
        network = COMPILER.answer(edge_program, options_of(module_compile_spec), wants_reference(module_compile_spec))
        signature = edge_program.graph_signature
        return PreprocessResult(_payload(len(signature.user_inputs), len(signature.user_outputs), network))

    @classmethod
    def preprocess_multimethod(
        cls, edge_programs: dict[str, list[ExportedProgram]], compile_specs: dict[str, list[list[CompileSpec]]]
    ) -> dict[str, list[PreprocessResult]]:
        """Compiles the partitions of all methods. Moves the weights that they share out of the partitions."""
        results = super().preprocess_multimethod(edge_programs, compile_specs)
        sharing: dict[str, list[PreprocessResult]] = defaultdict(list)
        for method, found in results.items():
            for result, specs in zip(found, compile_specs[method], strict=True):
                if key := value_of(specs, EXTRACT_SHARED_BLOB_KEY):
                    sharing[key].append(result)
        for key, found in sharing.items():
            _share(key, found)
        return results


def _payload(inputs: int, outputs: int, network: bytes) -> bytes:
    return _HEADER.pack(HEADER_VERSION, inputs, outputs, len(network)) + network


def _share(key: str, results: list[PreprocessResult]) -> None:
    """Moves the weights that payloads share to named data."""
    networks = [bytes(network_of(result.processed_bytes)) for result in results]
    shared, rest = _without_constants(key, networks) if is_reference(networks[0]) else _extracted(networks)
    store = NamedDataStore()
    store.add_named_data(key, shared)
    output = store.get_named_data_store_output()
    for result, network in zip(results, rest, strict=True):
        _, inputs, outputs, _ = _HEADER.unpack_from(result.processed_bytes)
        result.processed_bytes, result.data_store_output = _payload(inputs, outputs, network), output


def _without_constants(key: str, networks: list[bytes]) -> tuple[bytes, list[bytes]]:
    constants = Constants()
    rest = [to_bytes(graph_for(COMPILER.title, network, _nothing), constants, key) for network in networks]
    return constants.to_bytes(), rest


def _extracted(networks: list[bytes]) -> tuple[bytes, list[bytes]]:
    shared, rest = extract_shared_data(networks)
    for before, after in zip(networks, rest, strict=True):
        remember(after, graph_for(COMPILER.title, before, _nothing))
    return shared, rest


def _nothing(key: str) -> Any:
    raise ValueError(f"there is no named data {key!r}")
