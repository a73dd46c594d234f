# SPDX-License-Identifier: BSD-3-Clause
"""Names of weights. Backends store weights as data whose key is the hash of its bytes; an ETRecord has the weights with
their names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.exir._serialize._named_data_store import tensor_bytes
from sdk.util.words import counted

_HASHED = re.compile(r"named data ([0-9a-f]{64})")


def named_parts(sizes: Mapping[str, int], programs: Iterable[ExportedProgram]) -> dict[str, int]:
    """The parts of a file in bytes by name, the largest first: weights by their names in the programs. Unnamed data,
    such as a bias that a backend quantised, is counted as one part.

    A weight is found if a backend stores its elements as they are, or with its first or second dimension last.
    """
    hashed = {digest: size for name, size in sizes.items() for digest in _HASHED.findall(name)}
    names = _names(hashed, programs)
    parts: dict[str, int] = {}
    rest: list[int] = []
    for name, size in sizes.items():
        digests = _HASHED.findall(name)
        if digests and not any(digest in names for digest in digests):
            rest.append(size)
        else:
            shown = _HASHED.sub(lambda found: f"weight {names.get(found[1], 'without a name')}", name)
            parts[shown] = parts.get(shown, 0) + size
    if rest:
        parts[f"{counted(len(rest), 'part')} of delegates without a name"] = sum(rest)
    return dict(sorted(parts.items(), key=lambda part: -part[1]))


def _names(hashed: Mapping[str, int], programs: Iterable[ExportedProgram]) -> dict[str, str]:
    """Returns the names of weights by the hash of their bytes. A weight with several names has them joined."""
    wanted = set(hashed.values())
    found: dict[str, dict[str, None]] = {}
    for program in programs:
        modules = _reading_modules(program)
        for target, tensor in _weights(program):
            if tensor.nbytes not in wanted:
                continue
            module = modules.get(target, "")
            name = target if not module or target.startswith(f"{module}.") else f"{module}: {target}"
            for digest in {hashlib.sha256(tensor_bytes(stored)).hexdigest() for stored in _layouts(tensor)}:
                if digest in hashed:
                    found.setdefault(digest, {})[name] = None
    return {digest: ", ".join(names) for digest, names in found.items()}


def _weights(program: ExportedProgram) -> Iterator[tuple[str, torch.Tensor]]:
    held: dict[str, Any] = {**program.state_dict, **program.constants}
    for name, value in held.items():
        if isinstance(value, torch.Tensor) and value.layout == torch.strided:
            yield name, value.detach()


def _layouts(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    yield tensor.contiguous()
    if tensor.dim() > 1:
        yield tensor.movedim(0, -1).contiguous()
        yield tensor.movedim(1, -1).contiguous()


def _reading_modules(program: ExportedProgram) -> dict[str, str]:
    """The path of the module that reads each weight. Quantisation names weights `_frozen_param0`, whichever module they
    belong to."""
    signature = program.graph_signature
    targets: dict[str, str] = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    placeholders = program.graph.find_nodes(op="placeholder")
    return {targets[node.name]: _module_of_reader(node) for node in placeholders if node.name in targets}


def _module_of_reader(weight: Node) -> str:
    """The module of the first node that reads a weight, after the nodes that dequantise it."""
    node = weight
    while readers := [user for user in node.users if user.op == "call_function"]:
        node = readers[0]
        if "dequantize" not in str(node.target):
            paths = [str(path) for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
            return paths[-1].removeprefix("L['self']").removeprefix(".") if paths else ""
    return ""
