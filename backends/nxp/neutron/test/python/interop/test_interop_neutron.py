# SPDX-License-Identifier: BSD-3-Clause
"""The original's compile specs and payloads have the same bytes, and quantised models are as near to float32 as the
original's."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import torch
from torch.export import export, save

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from neutron_lowering import TARGET, lower

from interop.originals import InOriginal
from npu_models import model_of, snr, written
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
from sdk.backends.nxp.nxp_backend import generate_neutron_compile_spec
from sdk.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer
from sdk.backends.nxp.quantizer.utils import calibrate_and_quantize

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


def test_as_the_original(in_original: InOriginal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NXP-04, NXP-05, NXP-07, NXP-08: the bytes of compile specs and payloads equal the original's; the signal-to-noise
    ratio is less than 1 dB below the original's."""
    torch.manual_seed(0)
    models = {name: model_of(name) for name in ("convolutional", "vision")}
    # The original also observes token ids, of which PyTorch cannot make a histogram, so its decoder gets embeddings.
    decoder, ids = model_of("decoder")
    models["decoder"] = torch.nn.Sequential(decoder.blocks, decoder.head), (decoder.table(*ids).detach(),)
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[6]))
    mobilenet = importlib.import_module("examples.mobilenet_v2.model").mobilenet_v2()
    models["mobilenet"] = (mobilenet, (torch.randn(1, 3, 64, 64),))
    # With few numbers, a single one that rounds the other way changes the ratio by decibels.
    samples = {
        name: [inputs, *([torch.randn_like(i) for i in inputs] for _ in range(1 if name == "mobilenet" else 31))]
        for name, (_, inputs) in models.items()
    }
    for name, (model, inputs) in models.items():
        save(export(model, inputs), tmp_path / f"{name}.pt2")
        torch.save(samples[name], tmp_path / f"{name}.inputs.pt")
    for name, has_profile in (("plain", False), ("profile", True)):
        (tmp_path / f"{name}.tflite").write_bytes(converted(has_profile))
    in_original(Path(__file__).with_name("original_neutron.py"), tmp_path)
    specs = generate_neutron_compile_spec("imxrt700", operators_not_to_delegate=["aten::relu"], use_profiling=True)
    assert [(spec.key, list(spec.value)) for spec in specs] == torch.load(tmp_path / "specs.pt")
    for name in ("plain", "profile"):
        artifacts = extract_artifacts_from_neutron_node(str(tmp_path / f"{name}.tflite"))
        assert compose(FORMATS, artifacts) == (tmp_path / f"{name}.payload").read_bytes()
    for name, (model, inputs) in models.items():
        expected = torch.cat([model(*each) for each in samples[name]])
        scheme = calibrate_and_quantize(export(model, inputs), samples[name], NeutronQuantizer(TARGET))
        program = ReferenceProgram(written(lower(scheme, inputs), tmp_path))
        found = snr(expected, torch.cat([program.run_method("forward", each)[0] for each in samples[name]]))
        original = snr(expected, torch.cat(torch.load(tmp_path / f"{name}.outputs.pt")))
        print(f"{name}: {found:.1f} dB, the original's scheme {original:.1f} dB")
        assert found >= original - 1
