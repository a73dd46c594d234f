# SPDX-License-Identifier: BSD-3-Clause
"""LiteRT, ncnn and MNN as engines of `worker.py`.

A program is written by a Python that has torch and run by the peer's own (`python_of_peer`). What a peer cannot do is
an `ImpossibleError` whose text stands in the table.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.worker import OnnxEngine, load_model

PEER_PYTHON = "BENCH_PEER_PYTHON"  # where a worker that writes programs finds the peer's own tools
CONVERSION_SECONDS = 900
SUFFIXES = {"litert": "tflite", "ncnn": "ncnn", "mnn": "mnn"}


class ImpossibleError(RuntimeError):
    """What an engine has no way to do, in words for the table."""


def peer_of(engine: str) -> str | None:
    """`litert` for `litert-int8`; None for the engines that are no peers of this kind."""
    name = engine.partition("-")[0]
    return name if name in SUFFIXES else None


def converts_itself(engine: str) -> bool:
    """Whether the peer's own Python has torch."""
    return peer_of(engine) == "litert"


def run_converter(*command: str) -> None:
    """Runs a peer's converter; what it said last is the reason if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=CONVERSION_SECONDS)
    if done.returncode:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        ended = f"its converter ended with {done.returncode}"
        raise ImpossibleError(f"{ended}: {lines[-1]}" if lines else ended)


class LiteRtEngine:
    """LiteRT with its XNNPACK delegate, which is its default on a CPU. `int8` is its own quantizer's static recipe:
    8 bits for weights and activations, calibrated with the example inputs; inputs and results stay floats, as those of
    the other engines do."""

    def __init__(self, threads: int, integers: bool) -> None:
        self.threads, self.integers = threads, integers

    def export(self, spec: str, output: str) -> dict[str, Any]:
        import litert_torch

        model, inputs = load_model(spec)
        floats = f"{output}.float" if self.integers else output
        litert_torch.convert(model, inputs).export(floats)
        if self.integers:
            from ai_edge_quantizer import qtyping, quantizer, recipe

            made = quantizer.Quantizer(floats, recipe.static_wi8_ai8())
            for end in (qtyping.TFLOperationName.INPUT, qtyping.TFLOperationName.OUTPUT):
                made.update_quantization_recipe(".*", end, algorithm_key="no_quantize")
            # The converter makes int64 int32.
            arrays = [tensor.numpy() if tensor.is_floating_point() else tensor.int().numpy() for tensor in inputs]
            samples = {f"args_{index}": array for index, array in enumerate(arrays)}
            found = made.calibrate({"serving_default": [samples]})
            made.quantize(found).export_model(output, overwrite=True)
            Path(floats).unlink()
        return {"file_bytes": Path(output).stat().st_size}

    def prepare(self) -> None:
        importlib.import_module("ai_edge_litert.interpreter")

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
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

    def first_result(self, result: Any) -> Any:
        return result[0]


class NcnnEngine:
    """ncnn in float32, converted by pnnx from a TorchScript trace. It has no batches: dimensions of 1 in front of
    three others go."""

    def __init__(self, threads: int, integers: bool) -> None:
        self.threads, self.integers = threads, integers

    def export(self, spec: str, output: str) -> dict[str, Any]:
        if self.integers:
            raise ImpossibleError("its packages for Python have no quantizer (ncnn2table, ncnn2int8)")
        import torch

        model, inputs = load_model(spec)
        folder = Path(output)
        folder.mkdir(exist_ok=True)
        with torch.no_grad():
            torch.jit.trace(model, inputs, check_trace=False).save(str(folder / "traced.pt"))
        kinds = {torch.float32: "f32", torch.int64: "i64"}
        shapes = ",".join(f"[{','.join(map(str, i.shape))}]{kinds[i.dtype]}" for i in inputs)
        tool = next(Path(os.environ[PEER_PYTHON]).parents[1].glob("lib/*/site-packages/pnnx/pnnx"))
        param, weights = folder / "model.param", folder / "model.bin"
        files = [f"ncnnparam={param}", f"ncnnbin={weights}", *self._unwanted(folder)]
        try:
            run_converter(str(tool), str(folder / "traced.pt"), f"inputshape={shapes}", "fp16=0", *files)
            if not param.exists():
                raise ImpossibleError("pnnx wrote no program")
            foreign = sorted({line.split()[0] for line in param.read_text().splitlines()[2:] if "." in line.split()[0]})
            if foreign:
                raise ImpossibleError(f"it has no {', '.join(foreign)}")
        except (ImpossibleError, subprocess.TimeoutExpired):
            param.unlink(missing_ok=True)
            folder.rename(f"{output}.failed")
            raise
        return {"file_bytes": param.stat().st_size + weights.stat().st_size}

    def _unwanted(self, folder: Path) -> list[str]:
        names = {"pnnxparam": "x.pnnx.param", "pnnxbin": "x.pnnx.bin", "pnnxpy": "x.py", "pnnxonnx": "x.onnx"}
        return [f"{key}={folder / name}" for key, name in {**names, "ncnnpy": "x_ncnn.py"}.items()]

    def prepare(self) -> None:
        importlib.import_module("ncnn")

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        import ncnn
        import numpy as np

        net = ncnn.Net()
        options = net.opt
        options.num_threads = self.threads
        options.use_vulkan_compute = False
        options.use_fp16_packed = options.use_fp16_storage = options.use_fp16_arithmetic = False
        options.use_bf16_storage = False
        if net.load_param(f"{path}/model.param") or net.load_model(f"{path}/model.bin"):
            raise ImpossibleError("it cannot read what its converter wrote")
        arrays = [i.astype(np.int32) if i.dtype == np.int64 else i for i in inputs]
        # The batch is no dimension of its own.
        arrays = [np.ascontiguousarray(i[0] if i.ndim > 1 and i.shape[0] == 1 else i) for i in arrays]

        def call() -> Any:
            extractor = net.create_extractor()
            for index, array in enumerate(arrays):
                extractor.input(f"in{index}", ncnn.Mat(array))
            failed, result = extractor.extract("out0")
            if failed:
                raise ImpossibleError(f"running it fails with {failed}")
            return result

        return call

    def first_result(self, result: Any) -> Any:
        import numpy as np

        return np.array(result)


# Its commands install a package that reports what is converted into the Python that is first in PATH; the function
# behind them does not.
MNN_CONVERT = "import sys, _tools; _tools.mnnconvert(['MNNConvert', *sys.argv[1:]])"


class MnnEngine:
    """MNN, converted from ONNX, in float32. `int8` are weights of 8 bits with activations that are quantised as they
    come (`memory: low`): its static quantizer takes folders of pictures only."""

    def __init__(self, threads: int, integers: bool) -> None:
        self.threads, self.integers = threads, integers

    def export(self, spec: str, output: str) -> dict[str, Any]:
        import onnx

        source = f"{output}.onnx"
        OnnxEngine(1).export(spec, source)
        graph = onnx.load(source).graph
        files = ["-f", "ONNX", "--modelFile", source, "--MNNModel", output]
        bits = ["--weightQuantBits", "8"] if self.integers else []
        run_converter(os.environ[PEER_PYTHON], "-c", MNN_CONVERT, *files, *bits)
        if not Path(output).exists():
            raise ImpossibleError("its converter wrote no program")
        names = {"inputs": [i.name for i in graph.input], "outputs": [o.name for o in graph.output]}
        Path(f"{output}.json").write_text(json.dumps(names))
        return {"file_bytes": Path(output).stat().st_size}

    def prepare(self) -> None:
        importlib.import_module("MNN.nn")

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        import MNN.expr as expr
        import MNN.nn as nn
        import numpy as np

        names = json.loads(Path(f"{path}.json").read_text())
        settings = {"backend": "CPU", "numThread": self.threads, "precision": "high"}
        if self.integers:
            settings["memory"] = "low"
        manager = nn.create_runtime_manager((settings,))
        net = nn.load_module_from_file(path, names["inputs"], names["outputs"], runtime_manager=manager)
        feed = []
        for value in inputs:
            is_index = value.dtype == np.int64
            variable = expr.placeholder(list(value.shape), expr.NCHW, expr.int if is_index else expr.float)
            feed.append((variable, value.astype(np.int32) if is_index else value))

        def call() -> Any:
            for variable, value in feed:
                variable.write(value.tolist() if value.size == 1 else value)
            results = net.onForward([variable for variable, _ in feed])
            return [result.read() for result in results]

        return call

    def first_result(self, result: Any) -> Any:
        import numpy as np

        return np.array(result[0])


def make_peer(name: str, threads: int) -> LiteRtEngine | NcnnEngine | MnnEngine:
    engines = {"litert": LiteRtEngine, "ncnn": NcnnEngine, "mnn": MnnEngine}
    return engines[name.partition("-")[0]](threads, name.endswith("-int8"))


def python_of_peer(root: Path, peer: str) -> str:
    """The Python of a peer's environment, which is made when it is first asked for. `PTE_SDK_PEERS` names a folder that
    has them already."""
    if folder := os.environ.get("PTE_SDK_PEERS"):
        return str(Path(folder) / peer / "bin" / "python")
    script = [sys.executable, str(root / "tests/interop/make_oracle.py"), "--into", peer]
    wanted = str(root / "tests/bench/environments" / f"{peer}.txt")
    return subprocess.run([*script, wanted], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
