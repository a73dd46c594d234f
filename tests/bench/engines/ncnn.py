# SPDX-License-Identifier: BSD-3-Clause
"""ncnn in float32, on the CPU or through Vulkan (`ncnn-vulkan`, and in float16 `ncnn-vulkan-half`), converted by
pnnx from a TorchScript trace. Its graphs have no batch: leading dimensions of 1 are dropped."""

from __future__ import annotations

import importlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.engines import PEER_PYTHON, Declaration, ImpossibleError, is_half, is_int8, run_converter
from bench.worker import load_model

UNUSED_FILES = {
    "pnnxparam": "x.pnnx.param",
    "pnnxbin": "x.pnnx.bin",
    "pnnxpy": "x.py",
    "pnnxonnx": "x.onnx",
    "ncnnpy": "x_ncnn.py",
}


class NcnnEngine:
    def __init__(self, name: str, threads: int) -> None:
        self.threads, self.int8, self.vulkan = threads, is_int8(name), "vulkan" in name.split("-")
        self.half = is_half(name)

    def export(self, spec: str, output: str) -> dict[str, Any]:
        if self.int8:
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
        files = [f"ncnnparam={param}", f"ncnnbin={weights}"]
        files += [f"{key}={folder / name}" for key, name in UNUSED_FILES.items()]
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

    def prepare(self) -> None:
        importlib.import_module("ncnn")

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        import ncnn
        import numpy as np

        net = ncnn.Net()
        options = net.opt
        options.num_threads = self.threads
        options.use_vulkan_compute = self.vulkan
        if self.vulkan and ncnn.get_gpu_count() == 0:
            raise ImpossibleError("it finds no Vulkan device")
        options.use_fp16_packed = options.use_fp16_storage = options.use_fp16_arithmetic = self.half
        options.use_bf16_storage = False
        if net.load_param(f"{path}/model.param") or net.load_model(f"{path}/model.bin"):
            raise ImpossibleError("it cannot read what its converter wrote")
        arrays = [i.astype(np.int32) if i.dtype == np.int64 else i for i in inputs]
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


DECLARATION = Declaration(
    title="ncnn",
    color="#2a9d8f",
    packages=("ncnn", "pnnx"),
    suffix="ncnn",
    make=NcnnEngine,
    peer="ncnn",
    beside={"vulkan": "ncnn-vulkan"},
    half=True,
)
