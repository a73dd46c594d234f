# SPDX-License-Identifier: BSD-3-Clause
"""How many bytes the weights and the delegates of a program have, as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from sdk.command import check_writable, existing, write_json
from sdk.command.tools import run_tool
from sdk.devtools.etrecord import parse_etrecord
from sdk.exir.lowered_backend_module import get_lowered_submodules

Deserializers = Mapping[str, Callable[[bytes], dict[str, Any]]]


def generate_model_size_information(
    model: ExportedProgram,
    delegate_deserializers: Deserializers | None = None,
    flatbuffer: bytes | None = None,
) -> dict[str, Any]:
    """The sizes of the weights (`tensor_data`) and of the delegates' payloads (`delegate_blob_data`) of a program, the
    largest first, and their sums (`overview`).

    `delegate_deserializers` maps the id of a backend to a function that describes its payload; its result is added to
    the payload's entry. With `flatbuffer`, the bytes of the program's file, `overview` also has the file's size
    (`model_size`) and the size of everything else in it (`serialization_metadata_size`).
    """
    graphs = [module for module in model.graph_module.modules() if isinstance(module, GraphModule)]
    tensors = [_of_tensor(node, value) for gm in graphs for node, value in _weights(model, gm)]
    blobs = [
        _of_delegate(node, lowered, delegate_deserializers or {})
        for gm in graphs
        for _, lowered, node in get_lowered_submodules(gm)
    ]
    for found in (tensors, blobs):
        found.sort(key=lambda one: one["num_bytes"], reverse=True)
    total, of_delegates = (sum(one["num_bytes"] for one in found) for found in (tensors, blobs))
    overview = {"total_tensor_data_size": total, "total_delegate_blob_data_size": of_delegates}
    if flatbuffer is not None:
        overview["serialization_metadata_size"] = len(flatbuffer) - total - of_delegates
        overview["model_size"] = len(flatbuffer)
    return {"tensor_data": tensors, "delegate_blob_data": blobs, "overview": overview}


def _weights(model: ExportedProgram, gm: GraphModule) -> Iterator[tuple[Node, torch.Tensor]]:
    """The weights of a graph: inputs of a program's graph, attributes of a branch's graph."""
    targets = {spec.arg.name: spec.target for spec in model.graph_signature.input_specs if spec.target is not None}
    for node in gm.graph.nodes:
        value = None
        if node.op == "get_attr":
            value = getattr(gm, str(node.target), None)
        elif node.op == "placeholder" and gm is model.graph_module and node.name in targets:
            target = targets[node.name]
            value = model.state_dict.get(target, model.constants.get(target))
        if isinstance(value, torch.Tensor):
            yield node, value


def _of_tensor(node: Node, tensor: torch.Tensor) -> dict[str, Any]:
    stack = node.meta.get("nn_module_stack")
    return {
        "name": node.name,
        "numel": tensor.numel(),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "element_size": tensor.element_size(),
        "shape": list(tensor.shape),
        "num_bytes": tensor.element_size() * tensor.numel(),
        "nn_module_stack": None if stack is None else str(stack),
    }


def _of_delegate(call: Node, lowered: Any, deserializers: Deserializers) -> dict[str, Any]:
    payload = lowered.processed_bytes
    more = deserializers[lowered.backend_id](payload) if lowered.backend_id in deserializers else {}
    name = call.args[0].name if isinstance(call.args[0], Node) else call.name
    return {"name": name, "backend_id": lowered.backend_id, "num_bytes": len(payload), **more}


def parse_args(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m sdk.devtools.size_analysis_tool.size_analysis_tool", description=__doc__
    )
    parser.add_argument("--etrecord_path", required=True, help="the ETRecord of the program")
    parser.add_argument("--output_path", default="model_size_information.json", help="the JSON file to write")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes a list with the sizes of each graph of an ETRecord. Returns 0, or 1 after one line on stderr if a file
    cannot be read or written."""
    options = parse_args(arguments)
    return run_tool(lambda: _write_sizes(Path(options.etrecord_path), Path(options.output_path)))


def _write_sizes(etrecord: Path, output: Path) -> None:
    check_writable([output])
    record = parse_etrecord(existing(etrecord))
    write_json(output, [generate_model_size_information(program) for program in (record.graph_map or {}).values()])


if __name__ == "__main__":
    sys.exit(main())
