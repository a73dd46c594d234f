# SPDX-License-Identifier: BSD-3-Clause
"""Quantised programs for XNNPACK: ours on the original and the original's here. Both give the outputs of the quantised
graph in PyTorch eager."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from both_ways import exchange
from torch import nn
from torch.export import export
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_
from torchao.quantization.utils import compute_error
from torchao.utils import unwrap_tensor_subclass

from interop.originals import in_both_releases
from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from sdk.exir import to_edge

pytestmark = [pytest.mark.oracle, pytest.mark.network, in_both_releases]

INPUTS = (torch.linspace(-3, 3, 4 * 8 * 8).mul(7).sin().reshape(1, 4, 8, 8),)


class Network(nn.Module):
    """A convolution, a depthwise one with a residual connection, a transposed one, pools, and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.depthwise = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.head = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.relu6(self.conv(x))
        x = torch.cat([self.depthwise(x) + x, x * x], 1)[:, 4:12]
        x = nn.functional.max_pool2d(self.up(x), 2, 2)
        return self.head(nn.functional.adaptive_avg_pool2d(x, (1, 8)).flatten(1)).softmax(-1)


def pt2e(**how: bool) -> nn.Module:
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**how))  # type: ignore[arg-type]
    prepared = prepare_pt2e(export(Network().eval(), INPUTS).module(), quantizer)
    prepared(*INPUTS)
    return convert_pt2e(prepared)


def four_bits(granularity: PerAxis | PerGroup) -> nn.Module:
    model = Network().eval()
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=granularity))
    return unwrap_tensor_subclass(model)


def test_both_ways(oracle, tmp_path: Path) -> None:
    """XNN-09, XNN-11, XNN-12."""
    torch.manual_seed(0)
    models = {
        "static": pt2e(is_per_channel=True),
        "per tensor": pt2e(),
        "dynamic": pt2e(is_per_channel=True, is_dynamic=True),
        "groups": four_bits(PerGroup(32)),
        "channels": four_bits(PerAxis(0)),
    }
    given = {name: (model, INPUTS) for name, model in models.items()}
    for name, found, wanted in exchange(oracle, tmp_path, given):
        assert compute_error(wanted, found) > 30, name


def test_quantised_tables_run_on_the_original(oracle, tmp_path: Path) -> None:
    """XNN-11: embeddings of 8, 4 and 2 bits, in groups; the results are those of the quantised model in eager."""
    torch.manual_seed(0)
    indices = torch.tensor([[0, 7, 19]])
    wanted = {}
    for bits in (torch.int8, torch.int4, torch.int2):
        model = nn.Sequential(nn.Embedding(20, 64)).eval()
        config = IntxWeightOnlyConfig(weight_dtype=bits, granularity=PerGroup(32))
        quantize_(model, config, lambda module, name: isinstance(module, nn.Embedding))
        name = str(bits)
        wanted[name] = model(indices)
        (tmp_path / f"{name}.pte").write_bytes(to_edge(export(model, (indices,))).to_executorch().buffer)
        torch.save([("forward", (indices,))], tmp_path / f"{name}.calls.pt")
    oracle("run", tmp_path, *wanted)
    for name, rows in wanted.items():
        error = tmp_path / f"{name}.error.txt"
        assert not error.exists(), error.read_text()
        ((found,),) = torch.load(tmp_path / f"{name}.outputs.pt")
        torch.testing.assert_close(found, rows)
