# SPDX-License-Identifier: BSD-3-Clause
"""OpenVINO on the CPU with the latency hint, converted from an exported program. `openvino-int8` is NNCF's
post-training quantisation, calibrated with the example inputs. A model's state is OpenVINO's own (ReadValue,
Assign)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

from bench.engines import Declaration, is_int8
from bench.states import INPUT, functional, load_states, save_states


class OpenVinoEngine:
    def __init__(self, name: str, threads: int) -> None:
        self.threads, self.int8 = threads, is_int8(name)

    def export(self, spec: str, output: str) -> dict[str, Any]:
        import openvino
        import torch

        made = functional(spec)
        with torch.no_grad():
            exported = torch.export.export(made.module, made.arguments, strict=False).run_decompositions()
            model = openvino.convert_model(exported)
        names = made.input_names()
        for port, name in zip(model.inputs, names, strict=True):
            port.get_tensor().set_names({name})
        # Uses static shapes, like the other engines.
        model.reshape({name: list(tensor.shape) for name, tensor in zip(names, made.arguments, strict=True)})
        for port, name in zip(model.outputs, made.output_names(len(model.outputs)), strict=True):
            port.get_tensor().set_names({name})
        if self.int8:
            import nncf

            arrays = [tensor.numpy() for tensor in made.arguments]
            sample = dict(zip(names, arrays, strict=True))
            model = nncf.quantize(model, nncf.Dataset([sample]), subset_size=1)
        if made.states:
            from openvino._offline_transformations import apply_make_stateful_transformation

            outputs, count = made.output_names(len(model.outputs)), len(made.states)
            apply_make_stateful_transformation(model, dict(zip(names[-count:], outputs[-count:], strict=True)))
            save_states(made, output)
        openvino.save_model(model, output, compress_to_fp16=False)
        return {"file_bytes": Path(output).with_suffix(".bin").stat().st_size}

    def prepare(self) -> None:
        importlib.import_module("openvino")

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        import openvino

        settings = {
            "INFERENCE_PRECISION_HINT": "f32",  # activations; int8 graphs stay int8
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": self.threads,
        }
        compiled = openvino.Core().compile_model(path, "CPU", settings)
        request = compiled.create_infer_request()
        # The tensors use the arrays' memory and do not keep the arrays alive; the engine does.
        self.inputs = inputs
        for index, value in enumerate(inputs):
            request.set_tensor(f"input_{index}", openvino.Tensor(value, shared_memory=True))
        initial = load_states(path)
        for state in request.query_state():  # named state_0new_state_0 and so on
            number = "".join(takewhile(str.isdigit, state.name.removeprefix(INPUT)))
            state.state = openvino.Tensor(initial[int(number)])

        def call() -> Any:
            request.infer()
            return request.get_output_tensor(0).data

        return call

    def first_result(self, result: Any) -> Any:
        return result.copy()


DECLARATION = Declaration(
    title="OpenVINO",
    color="#4b5563",
    packages=("openvino", "nncf"),
    suffix="xml",
    make=OpenVinoEngine,
    writer="own",
    peer="openvino",
)
