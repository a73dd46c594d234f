# SPDX-License-Identifier: BSD-3-Clause
"""Reads payloads with the original, and writes its own. Usage: ``original_vulkan.py read|write|registry DIRECTORY``.

``read`` writes the graph of each ``NAME.payload`` as ``NAME.json``. ``write`` lowers each ``NAME.pt2`` and writes its
delegates as ``NAME.N.payload``, with the named data as ``NAME.data.pt``. ``registry`` writes the operators that the
original's runtime has as ``registry.json``: for each its representations, dtypes and abilities.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch


def read(directory: Path) -> None:
    from executorch.backends.vulkan.serialization import vulkan_graph_serialize as serialize

    for file in directory.glob("*.payload"):
        graph = serialize.flatbuffer_to_vk_graph(serialize.extract_vk_flatbuffer(file.read_bytes()))
        values = [[type(v.value).__name__, asdict(v.value)] for v in graph.values]
        calls = [asdict(call) for call in graph.chain]
        found = {"values": values, "chain": calls, "inputs": graph.input_ids, "outputs": graph.output_ids}
        file.with_suffix(".json").write_text(json.dumps({**found, "constants": [asdict(c) for c in graph.constants]}))


def write(directory: Path) -> None:
    import executorch.backends.vulkan.custom_ops_lib  # noqa: F401
    from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.exir.lowered_backend_module import get_lowered_submodules

    for file in sorted(directory.glob("*.pt2")):
        program = torch.export.load(file)
        edge = to_edge_transform_and_lower(program, partitioner=[VulkanPartitioner()])
        modules = get_lowered_submodules(edge.exported_program().graph_module)
        for number, (_, lowered, _) in enumerate(modules):
            store = lowered.named_data_store_output
            data = {key: bytes(store.buffers[e.buffer_index]) for key, e in store.pte_data.items()}
            file.with_suffix(f".{number}.payload").write_bytes(lowered.processed_bytes)
            torch.save(data, file.with_suffix(f".{number}.data"))


def registry(directory: Path) -> None:
    from executorch.backends.vulkan import op_registry, utils

    def storages(found: Any) -> list[list[str]]:
        layouts = ((0, found.valid_buffer_layouts), (1, found.valid_texture_layouts))
        return sorted(f"{storage} {int(layout)}" for storage, names in layouts for layout in names)

    rows = {}
    for key, features in op_registry.vulkan_supported_ops.items():
        name = key.replace("::", ".") if isinstance(key, str) else getattr(key, "__name__", str(key))
        rows[name] = {
            "inputs": [storages(found) for found in features.inputs_storage.vals],
            "outputs": [storages(found) for found in features.outputs_storage.vals],
            "input_dtypes": [sorted(map(str, found)) for found in features.inputs_dtypes.vals],
            "output_dtypes": [sorted(map(str, found)) for found in features.outputs_dtypes.vals],
            "resize": features.supports_resize,
            "highdim": features.supports_highdim,
            "prepacking": features.supports_prepacking,
            "picks": features.pick_io_storage_fn is not None,
        }
    assert utils.DEFAULT_TEXTURE_LIMITS
    (directory / "registry.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    {"read": read, "write": write, "registry": registry}[sys.argv[1]](Path(sys.argv[2]))
