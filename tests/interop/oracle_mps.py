# SPDX-License-Identifier: BSD-3-Clause
"""Makes and reads payloads for MPS with the original, in its own environment.

Usage: ``python oracle_mps.py DIRECTORY lower|read|names|models|models_fp16|tests...``

``lower`` writes the payloads of the calls of ``mps_cases``, ``CALL.PRECISION.mps``; one that fails becomes the text
``CALL.PRECISION.error.txt``. ``read`` reads ``*.payload`` with the original's schema and writes ``*.json``. ``names``
writes the names of the original's operators to ``names.json``. ``models`` lowers ``*.pt2`` and writes
``*.PRECISION.pte``, only those that ``models.json`` lists if it is there; ``models_fp16`` lowers in float16 only.
``tests`` lowers the models of few of the original's own tests, into the folder ``tests`` (oracle_mps_cases.py).
"""

from __future__ import annotations

import json
import logging
import struct
import subprocess
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "backends" / "apple" / "mps" / "test"))
warnings.simplefilter("ignore")


FEW = ["test_mps_indexing_ops", "test_mps_linear", "test_mps_unary_ops"]
"""The modules of the original's tests whose models the gate compares."""


def _backend() -> Any:
    from executorch.backends.apple.mps import MPSBackend

    logging.getLogger().setLevel(logging.CRITICAL)  # it logs every node
    return MPSBackend


def chosen(calls: list[Any]) -> dict[int, Any]:
    """Chooses one call of each operator, and returns it by its index: the first call for which the original writes the
    same nodes or, without one, the first for which the original's nodes compute PyTorch's results."""
    found: dict[str, int] = {}
    for number in sorted(range(len(calls)), key=lambda i: not calls[i].same):
        if calls[number].original:
            found.setdefault(calls[number].target, number)
    return {number: calls[number] for number in found.values()}


def lower(directory: Path) -> None:
    from executorch.backends.apple.mps.operators.node_visitor import NodeVisitor
    from executorch.exir.backend.backend_details import CompileSpec
    from executorch.exir.dialects._ops import ops
    from mps_cases import all_calls
    from mps_programs import edge_program

    backend = _backend()
    for number, call in chosen(all_calls()).items():
        for use_fp16 in (False, True):
            name = f"{number}.{'fp16' if use_fp16 else 'fp32'}"
            try:
                NodeVisitor._tensor_to_id = {}  # shared by all programs of a process
                program = edge_program(call, ops.edge)
                result = backend.preprocess(program, [CompileSpec("use_fp16", bytes([use_fp16]))])
                (directory / f"{name}.mps").write_bytes(result.processed_bytes)
            except Exception:
                (directory / f"{name}.error.txt").write_text(traceback.format_exc())


def read(directory: Path) -> None:
    import executorch.backends.apple.mps.serialization as package
    from executorch.exir._serialize import _flatbuffer

    _backend()
    schema = Path(package.__path__[0]) / "schema.fbs"
    flatc = Path(_flatbuffer.__file__).parents[2] / "data" / "bin" / "flatc"
    for file in directory.glob("*.payload"):
        payload = file.read_bytes()
        _, magic, offset, size = struct.unpack_from("<4s4sQQ", payload)
        assert magic == b"MP00" and offset + size == len(payload)
        graph = directory / f"{file.stem}.fb"
        graph.write_bytes(payload[24:offset])
        options = ("--json", "--strict-json", "--raw-binary", "--defaults-json", "-o", directory)
        subprocess.run([flatc, *options, schema, "--", graph], check=True)


def names(directory: Path) -> None:
    from executorch.backends.apple.mps.operators import node_visitor

    _backend()
    (directory / "names.json").write_text(json.dumps(sorted(node_visitor._node_visitor_dict)))


def models(directory: Path, precisions: Sequence[bool] = (False, True)) -> None:
    from executorch.backends.apple.mps.operators.node_visitor import NodeVisitor
    from executorch.backends.apple.mps.partition import MPSPartitioner
    from executorch.exir import to_edge
    from executorch.exir.backend.backend_details import CompileSpec

    _backend()
    wanted = directory / "models.json"
    chosen_names = json.loads(wanted.read_text()) if wanted.exists() else None
    for file in sorted(directory.glob("*.pt2")):
        for use_fp16 in precisions:
            name = f"{file.stem}.{'fp16' if use_fp16 else 'fp32'}"
            if chosen_names is not None and name not in chosen_names:
                continue
            try:
                NodeVisitor._tensor_to_id = {}
                edge = to_edge(torch.export.load(file))
                edge = edge.to_backend(MPSPartitioner([CompileSpec("use_fp16", bytes([use_fp16]))]))
                (directory / f"{name}.pte").write_bytes(edge.to_executorch().buffer)
            except Exception:
                (directory / f"{name}.error.txt").write_text(traceback.format_exc())


def models_fp16(directory: Path) -> None:
    models(directory, [True])


def tests(directory: Path) -> None:
    import oracle_mps_cases

    (directory / "tests").mkdir()
    oracle_mps_cases.main(directory / "tests", FEW)


if __name__ == "__main__":
    with torch.no_grad():
        for command in sys.argv[2:]:
            globals()[command](Path(sys.argv[1]))
