# SPDX-License-Identifier: BSD-3-Clause
"""One engine in one process, told by JSON lines on standard input what to do; answers on standard output.

Requests: ``{"do": "import" | "export" | "memory" | "load" | "check" | "run", ...}``. CPU times are seconds; of the
whole process for imports, exports and runs, of the calling thread for loads. Memory is bytes of resident set at its
peak since the request began, over the resident set just before it.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SETTLING_SECONDS = 0.1  # threads of the engine that ran before look for work for some 30 ms more, and get a core for it
PEAK_RESET = "5"  # proc(5): writing 5 to clear_refs resets the peak resident set


def resident(field: str) -> int:
    """Bytes of ``VmRSS`` (now) or ``VmHWM`` (peak)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


class Clock:
    """Wall and CPU seconds, and peak memory, of a block."""

    def __init__(self, cpu: Callable[[], float] = time.process_time) -> None:
        self.cpu_now = cpu

    def __enter__(self) -> Clock:
        Path("/proc/self/clear_refs").write_text(PEAK_RESET)
        self.before = resident("VmRSS")
        self.start, self.cpu_start = time.perf_counter(), self.cpu_now()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu, self.wall = self.cpu_now() - self.cpu_start, time.perf_counter() - self.start
        self.peak = resident("VmHWM") - self.before

    def figures(self) -> dict[str, float]:
        return {"cpu": self.cpu, "wall": self.wall, "peak_bytes": self.peak}


def load_model(spec: str) -> tuple[Any, tuple[Any, ...]]:
    """The module in evaluation mode and its example inputs: ``zoo:NAME``, ``bench:NAME`` (from bench.models) or
    ``path/to/file.py:name``."""
    import torch

    torch.manual_seed(0)
    if str(ROOT / "tests") not in sys.path:
        sys.path.insert(0, str(ROOT / "tests"))
    where, _, name = spec.partition(":")
    if where == "zoo":
        method = importlib.import_module("zoo").build(name).methods["forward"]
        return method.module, method.calls[0]
    if where == "bench":
        model, inputs = getattr(importlib.import_module("bench.models"), name)()
        return model.eval(), inputs
    found = importlib.util.spec_from_file_location("bench_model", ROOT / where)
    assert found and found.loader, f"{where} is not a Python file"
    module = importlib.util.module_from_spec(found)
    sys.path.insert(0, str((ROOT / where).parent))
    found.loader.exec_module(module)
    return getattr(module, name)().eval(), module.example_inputs()


class PteEngine:
    """This SDK or the original: the same calls under another package name."""

    def __init__(self, package: str, threads: int) -> None:
        self.package = package
        self.threads = threads

    def compiler(self) -> Any:
        return importlib.import_module(f"{self.package}.exir")

    def export(self, spec: str, output: str) -> dict[str, Any]:
        import torch

        self.compiler()
        with torch.no_grad():
            exported = self.capture(spec)
            with Clock() as lowering:
                manager = self.lower(exported, output)
        sizes = manager.executorch_program.execution_plan[0].non_const_buffer_sizes
        return {
            "arena_bytes": sum(sizes),
            "file_bytes": Path(output).stat().st_size,
            "lowering_cpu": lowering.cpu,
        }

    def capture(self, spec: str) -> Any:
        """What torch.export makes of a model."""
        import torch

        model, inputs = load_model(spec)
        return torch.export.export(model, inputs, strict=False)

    def lower(self, exported: Any, output: str) -> Any:
        """From what torch.export returned to the written file."""
        manager = self.compiler().to_edge(exported).to_executorch()
        with Path(output).open("wb") as file:
            manager.write_to_file(file)
        return manager

    def memory(self, spec: str, output: str) -> dict[str, Any]:
        """The process's memory while it lowers, beside what it has before: Python, torch, the compiler's modules, what
        torch.export returned, and the weights."""
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
            figures = {
                "weight_bytes": sum(weights.values()),
                "before_bytes": lowering.before,
                "peak_bytes": lowering.before + lowering.peak,
            }
            if self.package == "sdk":
                from bench.arena import measure_arena

                figures["alive_bytes"] = measure_arena(exported).alive_bytes
        return figures

    def prepare(self) -> None:
        import torch  # noqa: F401

        importlib.import_module(f"{self.package}.runtime")
        bindings = importlib.import_module(f"{self.package}.extension.pybindings.portable_lib")
        bindings._unsafe_reset_threadpool(self.threads)

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        import torch

        # The program and the method: an application can run nothing before it has both.
        program = importlib.import_module(f"{self.package}.runtime").Runtime.get().load_program(path)
        method = program.load_method("forward")
        tensors = [torch.from_numpy(i) for i in inputs]
        return lambda: method.execute(tensors)

    def first_result(self, result: Any) -> Any:
        """The first output of a call as an array."""
        return result[0].numpy()


class XnnpackEngine(PteEngine):
    """Everything delegated to XNNPACK that the partitioner takes."""

    may_fold = True
    """Whether a model that cannot be lowered may be tried again with its batch norms folded."""

    def capture(self, spec: str) -> Any:
        self.spec = spec
        return super().capture(spec)

    def lower(self, exported: Any, output: str) -> Any:
        partitioner = importlib.import_module(f"{self.package}.backends.xnnpack.partition.xnnpack_partitioner")
        lower = self.compiler().to_edge_transform_and_lower
        try:
            edge = lower(exported, partitioner=[partitioner.XnnpackPartitioner()])
        except Exception:
            if not self.may_fold:
                raise
            # The original's pass that folds batch norms fails on some models: fold them before.
            import torch
            from torch.fx.experimental.optimization import fuse

            model, inputs = load_model(self.spec)
            exported = torch.export.export(fuse(model), inputs, strict=False)
            edge = lower(exported, partitioner=[partitioner.XnnpackPartitioner()])
        manager = edge.to_executorch()
        with Path(output).open("wb") as file:
            manager.write_to_file(file)
        return manager


class XnnpackIntegerEngine(XnnpackEngine):
    """The same on integers of 8 bits: quantised statically, a scale for each channel of the weights, calibrated
    with the example inputs."""

    may_fold = False  # what is folded is in float32

    def capture(self, spec: str) -> Any:
        import torch
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        quantizer = importlib.import_module(f"{self.package}.backends.xnnpack.quantizer.xnnpack_quantizer")
        config = quantizer.get_symmetric_quantization_config(is_per_channel=True)
        exported = super().capture(spec)
        args, kwargs = exported.example_inputs
        module = exported.module()
        state = {name: buffer.clone() for name, buffer in module.named_buffers()}
        prepared = prepare_pt2e(module, quantizer.XNNPACKQuantizer().set_global(config))
        prepared(*args, **kwargs)
        for name, buffer in prepared.named_buffers():
            if name in state:  # no cache begins with what calibration has left there
                buffer.copy_(state[name])
        return torch.export.export(convert_pt2e(prepared), args, kwargs, strict=False)


class OnnxEngine:
    """onnxruntime on the CPU with one thread, or as many as asked for."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def compiler(self) -> Any:
        return importlib.import_module("torch.onnx")

    def export(self, spec: str, output: str) -> dict[str, Any]:
        import torch

        model, inputs = load_model(spec)
        with torch.no_grad():
            torch.onnx.export(model, inputs, output, dynamo=True, external_data=False, verbose=False)
        return {"file_bytes": Path(output).stat().st_size}

    def prepare(self) -> None:
        importlib.import_module("onnxruntime")

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        feed = {i.name: v for i, v in zip(session.get_inputs(), inputs, strict=True)}
        return lambda: session.run(None, feed)

    def first_result(self, result: Any) -> Any:
        return result[0]


class OnnxIntegerEngine(OnnxEngine):
    """onnxruntime's own static quantisation to quantize and dequantize nodes, a scale for each channel."""

    def export(self, spec: str, output: str) -> dict[str, Any]:
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
        from onnxruntime.quantization.shape_inference import quant_pre_process

        floats, ready = f"{output}.float.onnx", f"{output}.ready.onnx"
        super().export(spec, floats)
        quant_pre_process(floats, ready)
        _, inputs = load_model(spec)

        class Examples(CalibrationDataReader):
            def __init__(self) -> None:
                import onnx

                names = [value.name for value in onnx.load(ready).graph.input]
                self.left = [{n: t.numpy() for n, t in zip(names, inputs, strict=True)}]

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
        return {"file_bytes": Path(output).stat().st_size}


def make_engine(name: str, threads: int) -> Any:
    onnx = {"onnxruntime": OnnxEngine, "onnxruntime-int8": OnnxIntegerEngine}
    sys.path.insert(0, str(ROOT / "tests"))
    from bench.peers import make_peer, peer_of

    if peer_of(name):
        return make_peer(name, threads)
    if name in onnx:
        return onnx[name](threads)
    package, _, backend = name.partition("-")
    engine = {"": PteEngine, "xnnpack": XnnpackEngine, "xnnpack-int8": XnnpackIntegerEngine}[backend]
    return engine({"sdk": "sdk", "original": "executorch"}[package], threads)


class Worker:
    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.call: Callable[[], Any] = lambda: None

    def do_import(self) -> dict[str, Any]:
        """What importing the compiler adds after torch."""
        import torch  # noqa: F401

        with Clock() as clock:
            self.engine.compiler()
        return clock.figures()

    def do_export(self, model: str, output: str) -> dict[str, Any]:
        """From after ``import torch`` to the written file; and once more, when everything is imported."""
        import torch  # noqa: F401

        with Clock() as first:
            figures = self.engine.export(model, output)
        with Clock() as again:
            again_figures = self.engine.export(model, output)
        if "lowering_cpu" in figures:
            figures["lowering_again_cpu"] = again_figures["lowering_cpu"]
        return {**figures, "first_cpu": first.cpu, "again_cpu": again.cpu}

    def do_program(self, model: str, output: str) -> dict[str, Any]:
        """Only writes the program."""
        self.engine.export(model, output)
        return {}

    def do_lower(self, model: str, output: str) -> dict[str, Any]:
        """CPU time of the first lowering of a process, with what it imports."""
        return {"cpu": self.engine.export(model, output)["lowering_cpu"]}

    def do_memory(self, model: str, output: str) -> dict[str, Any]:
        """What lowering needs beside the weights and what any process that lowers has."""
        return self.engine.memory(model, output)

    def do_load(self, path: str, inputs: str) -> dict[str, Any]:
        """Load and make the first call, after the imports. Memory covers both, as an application sees its start."""
        import numpy as np

        arrays = list(np.load(inputs).values())
        self.engine.prepare()
        with Clock(time.thread_time) as both:
            with Clock(time.thread_time) as load:
                self.call = self.engine.load(path, arrays)
            with Clock(time.thread_time) as first:
                self.call()
        # The inner clocks reset the peak, so the whole is the larger of the two over the first baseline.
        peak = max(load.peak + load.before, first.peak + first.before) - both.before
        return {"load": load.figures(), "first": first.figures(), "peak_bytes": peak}

    def do_check(self, expected: str) -> dict[str, Any]:
        """How far the first output is from ``expected``, an array's file, as a share of its largest value."""
        import numpy as np

        right = np.load(expected)
        found = np.asarray(self.engine.first_result(self.call()), dtype=np.float64)
        if found.size != right.size:
            raise ValueError(f"its result has shape {found.shape}, the model's {right.shape}")
        return {"difference": float(np.abs(found.reshape(right.shape) - right).max() / np.abs(right).max())}

    def do_run(self, seconds: float) -> dict[str, Any]:
        """Calls for at least ``seconds``, when the machine is quiet and a tenth of that has gone: CPU seconds of the
        process and wall seconds a call."""
        time.sleep(SETTLING_SECONDS)
        warm = time.perf_counter() + seconds / 10
        while time.perf_counter() < warm:
            self.call()
        cpu, wall, count = time.process_time(), time.perf_counter(), 0
        while time.perf_counter() - wall < seconds:
            self.call()
            count += 1
        return {
            "cpu": (time.process_time() - cpu) / count,
            "wall": (time.perf_counter() - wall) / count,
            "calls": count,
        }


def main() -> None:
    # Libraries print; the answers get a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    worker = Worker(make_engine(sys.argv[1], int(sys.argv[2])))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, "do_" + request.pop("do"))(**request)
        except Exception as error:
            kind = "" if type(error).__name__ == "ImpossibleError" else f"{type(error).__name__}: "
            answer = {"error": f"{kind}{error}"[:500]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
