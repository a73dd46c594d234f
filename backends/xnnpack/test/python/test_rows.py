# SPDX-License-Identifier: BSD-3-Clause
"""Linear layers of each type with each number of rows up to more than two tiles of a kernel, on several threads,
compared with PyTorch eager. backends/xnnpack/test/sweep tests the kernels by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn
from torch.export import Dim, export
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.utils import unwrap_tensor_subclass

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.utils import get_non_lowered_nodes
from sdk.extension.pybindings import portable_lib

MOST_ROWS = 35


def floats(model: nn.Module, _: torch.Tensor) -> nn.Module:
    return model


def halves(model: nn.Module, _: torch.Tensor) -> nn.Module:
    return model.half()


def dynamic(bits: torch.dtype, granularity: PerAxis | PerGroup) -> Callable[[nn.Module, torch.Tensor], nn.Module]:
    def quantize(model: nn.Module, _: torch.Tensor) -> nn.Module:
        quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=bits, weight_granularity=granularity))
        return unwrap_tensor_subclass(model)

    return quantize


def static(model: nn.Module, x: torch.Tensor) -> nn.Module:
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    rows = ({0: Dim("rows", max=MOST_ROWS)},)
    prepared = prepare_pt2e(export(model, (x,), dynamic_shapes=rows).module(), quantizer)
    prepared(x)
    return convert_pt2e(prepared)


# The largest error relative to the largest result of the row: from rounding, from activations that eager rounds to
# another int8 value, and from scales that the kernels keep in bfloat16.
SCHEMES = {
    "f32": (floats, 1e-5),
    "f16": (halves, 4e-3),
    "8da8w": (dynamic(torch.int8, PerAxis(0)), 0.01),
    "8da4w": (dynamic(torch.int4, PerGroup(32)), 0.02),
    "8da4w-channels": (dynamic(torch.int4, PerAxis(0)), 0.01),
    "int8": (static, 0.02),
}
ODD = [name for name in SCHEMES if name != "8da4w"]  # its groups of 32 must divide the number of inputs


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = portable_lib._threadpool_get_thread_count()
    yield portable_lib._unsafe_reset_threadpool
    portable_lib._unsafe_reset_threadpool(before)


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "inputs"), [*((name, 256) for name in SCHEMES), *((name, 37) for name in ODD)])
def test_each_number_of_rows(name: str, inputs: int, threads: Callable[[int], None]) -> None:
    """XNN-11, QNT-07: every row equals that of eager mode. Rows have different ranges, so each needs a separate
    scale."""
    torch.manual_seed(0)
    scheme, tolerance = SCHEMES[name]
    x = torch.randn(MOST_ROWS, inputs)
    if name != "int8":  # int8 has one range for all rows
        x = x * torch.logspace(0, 2, MOST_ROWS)[torch.randperm(MOST_ROWS)][:, None]
    model = scheme(nn.Sequential(nn.Linear(inputs, 51)).eval(), x)
    x = x.half() if name == "f16" else x
    program = export(model, (x,), dynamic_shapes=({0: Dim("rows", max=MOST_ROWS)},))
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert not get_non_lowered_nodes(lowered.exported_program().graph)
    buffer = lowered.to_executorch().buffer
    with torch.no_grad():
        wanted = model(x).float()
    for count in (1, 2, 3, 8):
        threads(count)
        loaded = portable_lib._load_for_executorch_from_buffer(buffer)
        for rows in range(1, MOST_ROWS + 1):
            found = loaded.forward([x[:rows].contiguous()])[0].float()
            errors = (found - wanted[:rows]).abs().amax(1) / wanted[:rows].abs().amax(1)
            assert errors.max() < tolerance, f"{rows} rows on {count} threads: {errors}"
