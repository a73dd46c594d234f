# SPDX-License-Identifier: BSD-3-Clause
"""Lowers the models of the original's own tests of MPS, in its own environment.

Usage: ``python oracle_mps_cases.py DIRECTORY MODULE...``, where a module is one of its tests', such as ``test_mps``.

The tests run with their step of lowering replaced. Each model becomes ``TEST.NUMBER.pt2`` and, as the original lowers
it in float32, ``TEST.NUMBER.pte``; an error of either is the text ``TEST.NUMBER.error.txt``. ``tests.json`` has how
many models each test lowers, or why the original skips it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import sys
import traceback
import unittest
import warnings
from pathlib import Path
from typing import Any

import torch
from executorch.backends.apple.mps.operators.node_visitor import NodeVisitor
from executorch.backends.apple.mps.partition import MPSPartitioner
from executorch.backends.apple.mps.test.test_mps_utils import TestMPS
from executorch.exir import EdgeCompileConfig
from executorch.exir.backend.backend_details import CompileSpec
from executorch.extension.export_util.utils import export_to_edge
from torch.utils import _pytree as pytree

warnings.simplefilter("ignore")


class _Leaves(torch.nn.Module):
    """A model whose results are a tuple: programs with PyTorch's named results cannot be saved."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Any) -> tuple[Any, ...]:
        return tuple(pytree.tree_leaves(self.model(*inputs)))


class _Lowering:
    """Replaces the tests' lowering step."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.test, self.count = "", 0

    def start(self, test: str) -> None:
        self.test, self.count = test, 0

    def __call__(
        self, module: Any, sample_inputs: Any, *_: Any, use_fp16: bool = False, dynamic_shapes: Any = None, **__: Any
    ) -> None:
        file = self.directory / f"{self.test}.{self.count}"
        self.count += 1
        try:
            model = _Leaves(module).eval()
            program = torch.export.export(model, tuple(sample_inputs), dynamic_shapes=dynamic_shapes, strict=True)
            torch.export.save(program, f"{file}.pt2")
            NodeVisitor._tensor_to_id = {}  # shared by all programs of a process
            edge = export_to_edge(
                program.module(),
                tuple(sample_inputs),
                edge_compile_config=EdgeCompileConfig(_check_ir_validity=False),
                verbose=False,
            )
            lowered = edge.to_backend(MPSPartitioner([CompileSpec("use_fp16", bytes([use_fp16]))]))
            Path(f"{file}.pte").write_bytes(lowered.to_executorch().buffer)
        except Exception:
            Path(f"{file}.error.txt").write_text(traceback.format_exc())


def main(directory: Path, modules: list[str]) -> None:
    lowering = _Lowering(directory)
    TestMPS.lower_module_and_test_output = lambda self, *args, **kwargs: lowering(*args, **kwargs)
    tests: dict[str, Any] = {}
    for each in modules:
        module = importlib.import_module(f"executorch.backends.apple.mps.test.{each}")
        logging.disable(logging.CRITICAL)  # it logs every node
        for kind in list(vars(module).values()):
            is_here = isinstance(kind, type) and kind.__module__ == module.__name__
            if not is_here or not issubclass(kind, unittest.TestCase):
                continue
            for name in unittest.TestLoader().getTestCaseNames(kind):
                test, function = f"{kind.__name__}.{name}", getattr(kind, name)
                if getattr(function, "__unittest_skip__", False):
                    tests[test] = function.__unittest_skip_why__
                    continue
                torch.manual_seed(0)
                lowering.start(test)
                with contextlib.suppress(AssertionError):  # this test expects an error of the step that is replaced
                    function(kind(name))
                tests[test] = lowering.count
    (directory / "tests.json").write_text(json.dumps(tests, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
