# SPDX-License-Identifier: BSD-3-Clause
"""Reads the payloads of lowered models back, for tests of what they contain."""

from __future__ import annotations

from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import GRAPH, XNNGraph
from sdk.backends.xnnpack.serialization.xnnpack_graph_serialize import XNNHeader
from sdk.exir import EdgeProgramManager
from sdk.exir._serialize._flatbuffer import read_root
from sdk.exir.backend.utils import get_delegated_payload


def graphs(lowered: EdgeProgramManager) -> list[XNNGraph]:
    """The graph of each delegate, which is in the original's format."""
    found = []
    for backend, _, payload in get_delegated_payload(lowered.exported_program().graph_module).values():
        assert backend == "XnnpackBackend"
        header = XNNHeader.from_bytes(payload)
        assert header.is_valid()
        start = header.flatbuffer_offset
        found.append(read_root(GRAPH, payload[start : start + header.flatbuffer_size], b"XN01"))
    return found


def kinds(graph: XNNGraph) -> list[str]:
    return [type(node.xnode_union).__name__.removeprefix("XNN") for node in graph.xnodes]
