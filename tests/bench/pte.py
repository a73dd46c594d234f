# SPDX-License-Identifier: BSD-3-Clause
"""The common part of this SDK and the original as engines: the same calls under another package name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.worker import Clock, load_model


class PteEngine:
    """Programs in the format `.pte`, without a backend. Subclasses name partitioners and a quantizer."""

    def __init__(self, package: str, threads: int) -> None:
        self.package = package
        self.threads = threads

    def partitioners(self) -> list[Any]:
        return []

    def quantizer(self) -> Any:
        """The PT2E quantizer for int8; None leaves the model in float32."""
        return None

    def compiler(self) -> Any:
        return importlib.import_module(f"{self.package}.exir")

    def export(self, spec: str, output: str, eager: str = "") -> dict[str, Any]:
        """Writes the program, and to the file `eager` the first output of the exported program in PyTorch."""
        import torch

        self.compiler()
        with torch.no_grad():
            exported = self.capture(spec)
            if eager:
                import numpy as np

                result = exported.module()(*exported.example_inputs[0])
                np.save(eager, (result[0] if isinstance(result, tuple) else result).numpy())
            with Clock() as lowering:
                manager = self.lower(exported, output)
        sizes = manager.executorch_program.execution_plan[0].non_const_buffer_sizes
        return {
            "arena_bytes": sum(sizes),
            "file_bytes": Path(output).stat().st_size,
            "lowering_cpu": lowering.cpu,
        }

    def capture(self, spec: str) -> Any:
        """Exports a model. If there is a quantizer, the model is statically quantised and calibrated with the example
        inputs.
        """
        import torch

        model, inputs = load_model(spec)
        exported = torch.export.export(model, inputs, strict=False)
        quantizer = self.quantizer()
        if quantizer is None:
            return exported
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        module = exported.module()
        state = {name: buffer.clone() for name, buffer in module.named_buffers()}
        prepared = prepare_pt2e(module, quantizer)
        prepared(*inputs)
        for name, buffer in prepared.named_buffers():
            if name in state:  # calibration has written into the caches
                buffer.copy_(state[name])
        return torch.export.export(convert_pt2e(prepared), inputs, strict=False)

    def to_edge(self, exported: Any) -> Any:
        if partitioners := self.partitioners():
            return self.compiler().to_edge_transform_and_lower(exported, partitioner=partitioners)
        return self.compiler().to_edge(exported)

    def lower(self, exported: Any, output: str) -> Any:
        """Lowers an exported program and writes the file."""
        manager = self.to_edge(exported).to_executorch()
        with Path(output).open("wb") as file:
            manager.write_to_file(file)
        return manager

    def memory(self, spec: str, output: str) -> dict[str, Any]:
        """The additional memory of the process while it lowers. Python, torch, the compiler's modules, the exported
        program and the weights are in memory before.
        """
        import torch

        with torch.no_grad():
            self.lower(torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),)), output)  # imports what it needs
            model, inputs = load_model(spec)
            exported = torch.export.export(model, inputs, strict=False)
            weights = {}
            for tensor in model.state_dict().values():
                storage = tensor.untyped_storage()
                weights[storage.data_ptr()] = storage.nbytes()
                tensor.sum()  # weights of a mapped file are resident when they have been read
            with Clock() as lowering:
                self.lower(exported, output)
        return {
            "weight_bytes": sum(weights.values()),
            "before_bytes": lowering.before,
            "peak_bytes": lowering.before + lowering.peak,
            "lowering_cpu": lowering.cpu,
            **self.alive(exported),
        }

    def alive(self, exported: Any) -> dict[str, Any]:
        """The lower bound of an arena, where it can be computed."""
        return {}

    def prepare(self) -> None:
        import torch  # noqa: F401

        importlib.import_module(f"{self.package}.runtime")
        bindings = importlib.import_module(f"{self.package}.extension.pybindings.portable_lib")
        bindings._unsafe_reset_threadpool(self.threads)

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        import torch

        # Load the program and the method, because an application needs both.
        program = importlib.import_module(f"{self.package}.runtime").Runtime.get().load_program(path)
        method = program.load_method("forward")
        tensors = [torch.from_numpy(i) for i in inputs]
        return lambda: method.execute(tensors)

    def first_result(self, result: Any) -> Any:
        """The first output of a call as an array."""
        return result[0].numpy()
