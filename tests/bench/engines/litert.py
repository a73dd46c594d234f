# SPDX-License-Identifier: BSD-3-Clause
"""LiteRT with the CPU delegate that it uses by default, converted by litert-torch. `litert-int8` is its quantizer's
static recipe, int8 weights and activations, calibrated with the example inputs; inputs and results stay float32, as
those of the other engines do. `litert-half` runs the float32 program with the delegate's option for float16."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.engines import Declaration, is_half, is_int8
from bench.worker import load_model

FORCE_FLOAT16 = 4  # TFLITE_XNNPACK_DELEGATE_FLAG_FORCE_FP16 in LiteRT's xnnpack_delegate.h


class LiteRtEngine:
    def __init__(self, name: str, threads: int) -> None:
        self.threads, self.int8, self.half = threads, is_int8(name), is_half(name)

    def export(self, spec: str, output: str) -> dict[str, Any]:
        import litert_torch

        model, inputs = load_model(spec)
        floats = f"{output}.float" if self.int8 else output
        litert_torch.convert(model, inputs).export(floats)
        if self.int8:
            from ai_edge_quantizer import qtyping, quantizer, recipe

            made = quantizer.Quantizer(floats, recipe.static_wi8_ai8())
            for end in (qtyping.TFLOperationName.INPUT, qtyping.TFLOperationName.OUTPUT):
                made.update_quantization_recipe(".*", end, algorithm_key="no_quantize")
            # The converter changes int64 to int32.
            arrays = [tensor.numpy() if tensor.is_floating_point() else tensor.int().numpy() for tensor in inputs]
            samples = {f"args_{index}": array for index, array in enumerate(arrays)}
            found = made.calibrate({"serving_default": [samples]})
            made.quantize(found).export_model(output, overwrite=True)
            Path(floats).unlink()
        return {"file_bytes": Path(output).stat().st_size}

    def prepare(self) -> None:
        importlib.import_module("ai_edge_litert.interpreter")

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        if self.half:
            return self._load_half(path, inputs)
        from ai_edge_litert.interpreter import Interpreter

        interpreter = Interpreter(path, num_threads=self.threads)
        interpreter.allocate_tensors()
        # Tensors are named serving_default_args_0:0 and so on, in any order.
        details = sorted(interpreter.get_input_details(), key=lambda detail: detail["name"])
        feed = [(d["index"], value.astype(d["dtype"])) for d, value in zip(details, inputs, strict=True)]
        results = [detail["index"] for detail in interpreter.get_output_details()]

        def call() -> Any:
            for index, value in feed:
                interpreter.set_tensor(index, value)
            interpreter.invoke()
            return [interpreter.get_tensor(index) for index in results]

        return call

    def _load_half(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        """The class Interpreter has no such option."""
        import numpy as np
        from ai_edge_litert.compiled_model import CompiledModel
        from ai_edge_litert.options import CpuOptions, HardwareAccelerator, Options

        cpu = CpuOptions(num_threads=self.threads, xnnpack_flags=FORCE_FLOAT16)
        options = Options(hardware_accelerators=HardwareAccelerator.CPU, cpu_options=cpu)
        model = CompiledModel.from_file(path, options=options)
        ((signature, names),) = model.get_signature_list().items()
        given, made = model.get_input_tensor_details(signature), model.get_output_tensor_details(signature)
        read = {name: model.create_input_buffer_by_name(signature, name) for name in names["inputs"]}
        written = {name: model.create_output_buffer_by_name(signature, name) for name in names["outputs"]}
        in_order = sorted(read, key=lambda name: int(name.rpartition("_")[2]))  # args_0, args_1, and so on
        feed = [(read[n], value.astype(given[n]["dtype"])) for n, value in zip(in_order, inputs, strict=True)]

        def result(name: str) -> Any:
            shape = made[name]["shape"]
            return written[name].read(int(np.prod(shape)), np.dtype(made[name]["dtype"])).reshape(shape)

        def call() -> Any:
            for buffer, value in feed:
                buffer.write(value)
            model.run_by_name(signature, read, written)
            return [result(name) for name in names["outputs"]]

        return call

    def first_result(self, result: Any) -> Any:
        return result[0]


DECLARATION = Declaration(
    title="LiteRT",
    color="#e9a23b",
    packages=("ai-edge-litert", "litert-torch", "ai-edge-quantizer"),
    suffix="tflite",
    make=LiteRtEngine,
    writer="own",
    peer="litert",
    half=True,
)
