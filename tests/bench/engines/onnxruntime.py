# SPDX-License-Identifier: BSD-3-Clause
"""onnxruntime on the CPU; `onnxruntime-int8` has its own static quantisation to QDQ nodes, with a scale for each
channel, calibrated with the example inputs, `onnxruntime-half` its own conversion to float16, with inputs and results
of float32. A model's state is passed by IoBinding, without copies."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

from bench.engines import Declaration, is_half, is_int8
from bench.states import INPUT, OUTPUT, Functional, functional, load_states, save_states


def export_onnx(spec: str, output: str) -> Functional:
    """Writes the model as ONNX, with its state as inputs and outputs, and the initial state in another file."""
    import torch

    made = functional(spec)
    with torch.no_grad():
        program = torch.onnx.export(made.module, made.arguments, dynamo=True, verbose=False)
        assert program is not None
        graph = program.model.graph
        for value, name in zip(graph.inputs, made.input_names(), strict=True):
            value.name = name
        for value, name in zip(graph.outputs, made.output_names(len(graph.outputs)), strict=True):
            value.name = name
        program.save(output, external_data=False)
    save_states(made, output)
    return made


class OnnxEngine:
    def __init__(self, name: str, threads: int) -> None:
        self.threads, self.int8, self.half = threads, is_int8(name), is_half(name)

    def compiler(self) -> Any:
        return importlib.import_module("torch.onnx")

    def export(self, spec: str, output: str) -> dict[str, Any]:
        floats = f"{output}.float.onnx" if self.int8 or self.half else output
        made = export_onnx(spec, floats)
        if self.int8 or self.half:
            (quantize if self.int8 else halve)(made, floats, output)
            save_states(made, output)
        return {"file_bytes": Path(output).stat().st_size}

    def prepare(self) -> None:
        importlib.import_module("onnxruntime")

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        states = load_states(path)
        names = [value.name for value in session.get_inputs()][: len(inputs)]
        feed = dict(zip(names, inputs, strict=True))
        if not states:
            return lambda: session.run(None, feed)
        # Each call reads the state that the previous call has written.
        value = onnxruntime.OrtValue.ortvalue_from_numpy
        buffers = [[value(state) for state in states] for _ in range(2)]
        bindings = []
        for read, write in ((0, 1), (1, 0)):
            binding = session.io_binding()
            for name, array in feed.items():
                binding.bind_ortvalue_input(name, value(array))
            for result in session.get_outputs():
                if not result.name.startswith(OUTPUT):
                    binding.bind_output(result.name, "cpu")
            for index in range(len(states)):
                binding.bind_ortvalue_input(f"{INPUT}{index}", buffers[read][index])
                binding.bind_ortvalue_output(f"{OUTPUT}{index}", buffers[write][index])
            bindings.append(binding)
        turns = cycle(bindings)

        def call() -> Any:
            binding = next(turns)
            session.run_with_iobinding(binding)
            return [binding.get_outputs()[0].numpy()]

        return call

    def first_result(self, result: Any) -> Any:
        return result[0]


def halve(_: Functional, floats: str, output: str) -> None:
    """Writes the model of the file `floats` in float16."""
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(floats), keep_io_types=True), output)


def quantize(made: Functional, floats: str, output: str) -> None:
    """Writes the quantised model of the file `floats`."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    ready = f"{output}.ready.onnx"
    quant_pre_process(floats, ready)

    class Examples(CalibrationDataReader):
        def __init__(self) -> None:
            arrays = [tensor.numpy() for tensor in made.arguments]
            self.left = [dict(zip(made.input_names(), arrays, strict=True))]

        def get_next(self) -> Any:
            return self.left.pop() if self.left else None

    quantize_static(
        ready,
        output,
        Examples(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
    )


DECLARATION = Declaration(
    title="onnxruntime",
    color="#3b6fd4",
    packages=("onnxruntime", "onnx", "onnxscript"),
    suffix="onnx",
    make=OnnxEngine,
    environment="oracle",
    peer="onnxruntime",
    half=True,
)
