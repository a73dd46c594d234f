# SPDX-License-Identifier: BSD-3-Clause
"""MNN, converted from ONNX. `mnn-int8` has int8 weights and quantises activations in each call (`memory: low`), because
MNN's static quantizer only takes folders of images. `mnn-half` computes in float16 where the processor can
(`precision: low`)."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.engines import PEER_PYTHON, Declaration, ImpossibleError, is_half, is_int8, run_converter
from bench.engines.onnxruntime import export_onnx
from bench.states import load_states, save_states

# Call the function instead of the command: the command installs, into the first Python in PATH, a package that reports
# conversions.
MNN_CONVERT = "import sys, _tools; _tools.mnnconvert(['MNNConvert', *sys.argv[1:]])"


class MnnEngine:
    def __init__(self, name: str, threads: int) -> None:
        self.threads, self.int8, self.half = threads, is_int8(name), is_half(name)

    def export(self, spec: str, output: str) -> dict[str, Any]:
        import onnx

        source = f"{output}.onnx"
        made = export_onnx(spec, source)
        graph = onnx.load(source).graph
        files = ["-f", "ONNX", "--modelFile", source, "--MNNModel", output]
        options = ["--weightQuantBits", "8"] if self.int8 else []
        options.append("--useOriginRNNImpl")  # otherwise it crashes on an LSTM
        printed = run_converter(os.environ[PEER_PYTHON], "-c", MNN_CONVERT, *files, *options)
        if not Path(output).exists():
            why = [
                line.partition("Not Support: ")[2].strip() for line in printed.splitlines() if "Not Support: " in line
            ]
            raise ImpossibleError(f"it has no {', '.join(why)}" if why else "its converter wrote no program")
        names = {"inputs": [i.name for i in graph.input], "outputs": [o.name for o in graph.output]}
        Path(f"{output}.json").write_text(json.dumps(names))
        save_states(made, output)
        return {"file_bytes": Path(output).stat().st_size}

    def prepare(self) -> None:
        importlib.import_module("MNN.nn")

    def load(self, path: str, inputs: list[Any]) -> Callable[[], Any]:
        import MNN.expr as expr
        import MNN.nn as nn
        import numpy as np

        names = json.loads(Path(f"{path}.json").read_text())
        settings = {"backend": "CPU", "numThread": self.threads, "precision": "low" if self.half else "high"}
        if self.int8:
            settings["memory"] = "low"
        manager = nn.create_runtime_manager((settings,))
        net = nn.load_module_from_file(path, names["inputs"], names["outputs"], runtime_manager=manager)

        def variable(value: Any) -> Any:
            kind = expr.int if value.dtype == np.int64 else expr.float
            return expr.placeholder(list(value.shape), expr.NCHW, kind)

        feed = [(variable(v), v.astype(np.int32) if v.dtype == np.int64 else v) for v in inputs]
        states = [(variable(v), v) for v in load_states(path)]
        for state, value in states:
            state.write(value)
        kept = [state for state, _ in states]
        own = len(names["outputs"]) - len(states)

        def call() -> Any:
            for each, value in feed:
                each.write(value.tolist() if value.size == 1 else value)
            results = net.onForward([*(each for each, _ in feed), *kept])
            kept[:] = results[own:]  # the results of a call are the state of the next one
            return [result.read() for result in results[:own]]

        return call

    def first_result(self, result: Any) -> Any:
        import numpy as np

        return np.array(result[0])


DECLARATION = Declaration(
    title="MNN", color="#8e6bbf", packages=("MNN",), suffix="mnn", make=MnnEngine, peer="mnn", half=True
)
