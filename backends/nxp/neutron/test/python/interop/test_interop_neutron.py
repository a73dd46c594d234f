# SPDX-License-Identifier: BSD-3-Clause
"""The original's compile specs and payloads have the same bytes, and quantised models are as near to float32 as the
original's."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import export, save

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from neutron_lowering import TARGET, lower

from bench.models import PEER_MODELS
from bench.worker import load_model
from interop import outside
from interop.originals import InOriginal
from npu_models import LARGE, large_model_of, model_of, snr, written
from sdk.backends.nxp.backend.data_format import DataFormat
from sdk.backends.nxp.neutron.payload import compose
from sdk.backends.nxp.neutron.tflite.schema import (
    Buffer,
    Code,
    Model,
    Operator,
    OperatorCode,
    SubGraph,
    Tensor,
    to_bytes,
)
from sdk.backends.nxp.neutron.verify import ReferenceProgram
from sdk.backends.nxp.neutron_node_extraction import extract_artifacts_from_neutron_node
from sdk.backends.nxp.neutron_partitioner import NeutronPartitioner
from sdk.backends.nxp.nxp_backend import generate_neutron_compile_spec
from sdk.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer
from sdk.backends.nxp.quantizer.utils import calibrate_and_quantize
from sdk.exir import to_edge_transform_and_lower

pytestmark = [pytest.mark.oracle, pytest.mark.network]

FORMATS = {
    "inputs": {"input_0": DataFormat.CHANNELS_LAST, "input_1": DataFormat.FORMATLESS},
    "outputs": {"output_0": DataFormat.CHANNELS_LAST},
}


def converted(has_profile: bool) -> bytes:
    """Returns a model like those of NXP's converter, with two inputs in another order than the node's."""
    names = ["input_0", "input_1", "output_0", "microcode", "weights", "kernels", "profile", "debug", "scratch"]
    data = {"microcode": b"m" * 64, "weights": b"w" * 5, "kernels": b"k" * 33}
    places = {name: place + 1 for place, name in enumerate(data)}
    tensors = [Tensor([1], 3, places.get(name, 0), name, None) for name in names]
    node = Operator(0, [1, 0, 3, 4, 5], [2, *([6, 7] if has_profile else []), 8])
    code = OperatorCode(int(Code.CUSTOM), "NeutronGraph", 1, int(Code.CUSTOM))
    graph = SubGraph(tensors, [0, 1], [2], [node])
    return to_bytes(Model(3, [code], [graph], "", [Buffer(), *map(Buffer, data.values())]))


def compare(models: dict[str, Any], rounds: int, in_original: InOriginal, folder: Path) -> None:
    """A model's signal-to-noise ratio is at most 1 dB below that of the original. It is calibrated and computed with
    its inputs and `rounds` random ones: with few numbers, a single one that rounds the other way changes the ratio by
    decibels."""
    samples = {
        name: [inputs, *(tuple(torch.randn_like(each) for each in inputs) for _ in range(rounds))]
        for name, (_, inputs) in models.items()
    }
    for name, (model, inputs) in models.items():
        save(export(model, inputs), folder / f"{name}.pt2")
        torch.save(samples[name], folder / f"{name}.inputs.pt")
    in_original(Path(__file__).with_name("original_neutron.py"), folder)
    for name, (model, inputs) in models.items():
        expected = torch.cat([model(*each) for each in samples[name]])
        scheme = calibrate_and_quantize(export(model, inputs), samples[name], NeutronQuantizer(TARGET))
        program = ReferenceProgram(written(lower(scheme, inputs), folder))
        found = snr(expected, torch.cat([program.run_method("forward", each)[0] for each in samples[name]]))
        original = snr(expected, torch.cat(torch.load(folder / f"{name}.outputs.pt")))
        print(f"{name}: {found:.1f} dB, the original's scheme {original:.1f} dB")
        assert found >= original - 1


def test_as_the_original(in_original: InOriginal, tmp_path: Path) -> None:
    """NXP-04, NXP-05, NXP-07, NXP-08: the bytes of compile specs and payloads equal the original's; small models are
    compared."""
    torch.manual_seed(0)
    models: dict[str, Any] = {name: model_of(name) for name in ("convolutional", "vision")}
    # The original also observes token ids, of which PyTorch cannot make a histogram, so its decoder gets embeddings.
    decoder, ids = model_of("decoder")
    models["decoder"] = torch.nn.Sequential(decoder.blocks, decoder.head), (decoder.table(*ids).detach(),)
    for name, has_profile in (("plain", False), ("profile", True)):
        (tmp_path / f"{name}.tflite").write_bytes(converted(has_profile))
    compare(models, 31, in_original, tmp_path)
    specs = generate_neutron_compile_spec("imxrt700", operators_not_to_delegate=["aten::relu"], use_profiling=True)
    assert [(spec.key, list(spec.value)) for spec in specs] == torch.load(tmp_path / "specs.pt")
    for name in ("plain", "profile"):
        artifacts = extract_artifacts_from_neutron_node(str(tmp_path / f"{name}.tflite"))
        assert compose(FORMATS, artifacts) == (tmp_path / f"{name}.payload").read_bytes()


@pytest.mark.parametrize("name", [LARGE[0], *(pytest.param(each, marks=pytest.mark.slow) for each in LARGE[1:])])
def test_large_models_as_the_original(name: str, in_original: InOriginal, tmp_path: Path) -> None:
    """NXP-07, NXP-08"""
    compare({name: large_model_of(name)}, 1, in_original, tmp_path)


@pytest.mark.slow
def test_delegates_as_the_original(in_original: InOriginal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NXP-01, NXP-04: there are at most as many delegates, and operators outside of them, as with the original. The
    CPU time of both lowerings is printed, without the converter, which is a stand-in that runs in a process of its
    own."""
    folder = Path(__file__).resolve().parents[1] / "converter"
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    models = {name: load_model(PEER_MODELS[name]) for name in ("MobileNetV2", "ResNet50", "ViT-tiny")}
    for name, (model, inputs) in models.items():
        save(export(model, inputs), tmp_path / f"{name}.pt2")
        torch.save([inputs], tmp_path / f"{name}.inputs.pt")
    in_original(Path(__file__).with_name("original_neutron_lowering.py"), tmp_path)
    for name, (model, inputs) in models.items():
        scheme = calibrate_and_quantize(export(model, inputs), [inputs], NeutronQuantizer(TARGET))
        partitioner = NeutronPartitioner(generate_neutron_compile_spec("imxrt700"))
        start = time.process_time()
        manager = to_edge_transform_and_lower(export(scheme, inputs), partitioner=[partitioner])
        seconds = time.process_time() - start
        outside.compare(name, manager, seconds, tmp_path / f"{name}.lowered.json")
