# SPDX-License-Identifier: BSD-3-Clause
"""Models with XNNPACK in WebAssembly, in Node.js and Chromium, agree with eager mode."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "tests" / "web"))

from web_pages import ROOT, Browser, chromium, needs_package, serve, served

from bench.worker import load_model
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import EdgeCompileConfig, to_edge_transform_and_lower

__all__ = ["chromium"]  # the fixture

pytestmark = needs_package

MODELS = {
    "mobilenet_v2": "examples/mobilenet_v2/model.py:mobilenet_v2",
    "mobilenet_v2_int8": "examples/mobilenet_v2/model.py:mobilenet_v2",
    "resnet18": "bench:resnet18",
    "minilm": "bench:minilm_128",
}
TOLERANCE = 1e-4
LEAST_DECIBELS = 40.0
"""The signal-to-noise ratio of int8 in dB, relative to the quantised model in eager mode. Single activations differ by
a step where a rounding differs."""


def _quantized(model: nn.Module, inputs: tuple[Tensor, ...]) -> nn.Module:
    from examples.xnnpack.quantization.utils import quantize

    return quantize(torch.export.export(model, inputs).module(), inputs)


def _write(folder: Path, name: str, spec: str) -> None:
    model, inputs = load_model(spec)
    if name.endswith("_int8"):
        model = _quantized(model, inputs)
    with torch.no_grad():
        outputs = model(*inputs)
    program = to_edge_transform_and_lower(
        torch.export.export(model, inputs),
        partitioner=[XnnpackPartitioner()],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    ).to_executorch()
    folder.mkdir()
    (folder / "model.pte").write_bytes(program.buffer)

    def value(tensor: Tensor, file: str) -> dict[str, object]:
        (folder / file).write_bytes(tensor.detach().contiguous().numpy().tobytes())
        kind = str(tensor.dtype).removeprefix("torch.")
        order = list(range(tensor.dim()))
        return {"type": "tensor", "dtype": kind, "shape": list(tensor.shape), "file": file, "orig_dim_order": order}

    call = {
        "method": "forward",
        "inputs": [value(tensor, f"in{i}.bin") for i, tensor in enumerate(inputs)],
        "outputs": [value(outputs if isinstance(outputs, Tensor) else outputs[0], "out0.bin")],
    }
    (folder / "manifest.json").write_text(json.dumps({"name": name, "pte": "model.pte", "calls": [call]}))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name, spec in MODELS.items():
        _write(folder / name, name, spec)
    return folder


def _check(found: dict[str, dict[str, Any]]) -> None:
    assert list(found) == list(MODELS)
    for name, result in found.items():
        assert "XnnpackBackend" in result["backends"], name
        if name.endswith("_int8"):
            assert result["decibels"] >= LEAST_DECIBELS, (name, result)
        else:
            assert result["difference"] <= TOLERANCE, (name, result)


@pytest.mark.parametrize("threads", [1, 2])
def test_models_agree_with_eager_in_node(models: Path, threads: int) -> None:
    command = ["node", str(ROOT / "sdk/web/test/models.mjs"), str(models), str(threads), *MODELS]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    _check(json.loads(output))


@pytest.mark.parametrize("isolated", [True, False], ids=["isolated", "not_isolated"])
def test_models_agree_with_eager_in_chromium(chromium: Browser, models: Path, isolated: bool) -> None:
    """The browser gives eager's results, in pages that are isolated from other origins and in others, which have one
    thread."""
    folders = {"models": models}
    with served(ROOT / "sdk" / "web" / "test", serve.ISOLATION if isolated else {}, folders) as address:
        chromium.open(address + "chromium.html")
        found = {}
        for name in MODELS:
            found[name] = chromium.evaluate(f"modelDifference({json.dumps(name)}, {{ threads: 2 }})")
        chromium.evaluate("et.shutdown()")
    _check(found)
