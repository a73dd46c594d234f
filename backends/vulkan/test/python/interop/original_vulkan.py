# SPDX-License-Identifier: BSD-3-Clause
"""Reads payloads with the original. Usage: ``original_vulkan.py read|registry DIRECTORY``.

``read`` writes the graph of each ``NAME.payload`` as ``NAME.json``. ``registry`` writes the operators that the
original's runtime has as ``registry.json``: for each its representations, dtypes and abilities.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any


def read(directory: Path) -> None:
    from executorch.backends.vulkan.serialization import vulkan_graph_serialize as serialize

    for file in directory.glob("*.payload"):
        graph = serialize.flatbuffer_to_vk_graph(serialize.extract_vk_flatbuffer(file.read_bytes()))
        values = [[type(v.value).__name__, asdict(v.value)] for v in graph.values]
        calls = [asdict(call) for call in graph.chain]
        found = {"values": values, "chain": calls, "inputs": graph.input_ids, "outputs": graph.output_ids}
        file.with_suffix(".json").write_text(json.dumps({**found, "constants": [asdict(c) for c in graph.constants]}))


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
    {"read": read, "registry": registry}[sys.argv[1]](Path(sys.argv[2]))
