# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes must be in the same part: quantising nodes with the layer that reads them, views of integers with the
lookup that reads them, constants with the operators that read them (XNN-02)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import export
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.utils import unwrap_tensor_subclass

from sdk.backends.xnnpack.partition.config import ConfigPrecisionType
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import GRAPH, XNNGraph
from sdk.backends.xnnpack.serialization.xnnpack_graph_serialize import XNNHeader
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir._serialize._flatbuffer import read_root
from sdk.exir.backend.utils import get_delegated_payload
from sdk.runtime import Runtime

Inputs = tuple[torch.Tensor, ...]

ROWS = (torch.linspace(-4, 4, 2 * 5 * 64).mul(5).sin().reshape(2, 5, 64),)
TOKENS = (torch.arange(12).remainder(7),)


class Call(nn.Module):
    """A function of some layers and the inputs."""

    def __init__(self, function: Callable[..., torch.Tensor], *layers: nn.Module) -> None:
        super().__init__()
        self.function, self.layers = function, nn.ModuleList(layers)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*self.layers, *inputs)


def lower(model: nn.Module, inputs: Inputs, partitioner: XnnpackPartitioner) -> EdgeProgramManager:
    return to_edge_transform_and_lower(export(model, inputs), partitioner=[partitioner])


def kinds(lowered: EdgeProgramManager) -> list[list[str]]:
    """The nodes of each payload."""
    found = []
    for _, _, payload in get_delegated_payload(lowered.exported_program().graph_module).values():
        graph: XNNGraph = read_root(
            GRAPH, payload[(at := XNNHeader.from_bytes(payload).flatbuffer_offset) :], payload[at + 4 : at + 8]
        )
        found.append([type(node.xnode_union).__name__.removeprefix("XNN") for node in graph.xnodes])
    return found


def check(model: nn.Module, inputs: Inputs, partitioner: XnnpackPartitioner, atol: float = 1e-5) -> list[list[str]]:
    lowered = lower(model, inputs, partitioner)
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    expected = torch.utils._pytree.tree_leaves(model(*inputs))
    found = [torch.as_tensor(output) for output in method.execute(inputs)]
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)
    return kinds(lowered)


def attend(query: nn.Module, key: nn.Module, value: nn.Module, x: torch.Tensor) -> torch.Tensor:
    heads = (layer(x).unflatten(-1, (4, 16)).transpose(1, 2) for layer in (query, key, value))
    return F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)


def by_pt2e(model: nn.Module) -> nn.Module:
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
    prepared = prepare_pt2e(export(model, ROWS).module(), quantizer)
    prepared(*ROWS)
    return convert_pt2e(prepared)


def by_torchao(dtype: torch.dtype, granularity: PerAxis | PerGroup) -> Callable[[nn.Module], nn.Module]:
    def quantize(model: nn.Module) -> nn.Module:
        quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=dtype, weight_granularity=granularity))
        return unwrap_tensor_subclass(model)

    return quantize


@pytest.mark.parametrize("precisions", [ConfigPrecisionType.DYNAMIC_QUANT, None])
@pytest.mark.parametrize(
    "quantize",
    [by_pt2e, by_torchao(torch.int8, PerAxis(0)), by_torchao(torch.int4, PerGroup(32))],
    ids=["pt2e", "8da8w", "8da4w"],
)
def test_dynamic_layers_each_in_a_part(
    quantize: Callable[[nn.Module], nn.Module], precisions: ConfigPrecisionType | None
) -> None:
    """XNN-02, QNT-07: choose_qparams is in the part of the layer whose input it quantises."""
    torch.manual_seed(0)
    model = quantize(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.Softmax(-1)).eval())
    parts = check(model, ROWS, XnnpackPartitioner(config_precisions=precisions, per_op_mode=True), atol=0.02)
    layers = [part for part in parts if "FullyConnected" in part]
    assert [sorted(part) for part in layers] == [
        ["Convert", "FullyConnected", *["StaticReshape"] * (len(p) - 2)] for p in layers
    ]
    assert (["Softmax"] in parts) == (precisions is None)


def test_layers_that_share_what_quantises_their_input() -> None:
    """XNN-02, QNT-07, per_op_mode: PT2E quantises the input of three layers once; a delegate returns no scales."""
    torch.manual_seed(0)
    model = by_pt2e(Call(attend, *(nn.Linear(64, 64) for _ in range(3))).eval())
    parts = check(model, ROWS, XnnpackPartitioner(None, ConfigPrecisionType.DYNAMIC_QUANT, True), 0.02)
    assert [part.count("FullyConnected") for part in parts] == [3]


def test_view_of_integers_that_two_parts_read() -> None:
    """A sort between two look-ups makes two parts, and neither can give the view to the other."""
    torch.manual_seed(0)

    def look_up_twice(first: nn.Module, second: nn.Module, layer: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
        rows = tokens.view(3, 4)
        return first(rows) + second(rows) * layer(first(rows)).sort(-1)[0]

    model = Call(look_up_twice, nn.Embedding(7, 8), nn.Embedding(7, 8), nn.Linear(8, 8)).eval()
    assert len(check(model, TOKENS, XnnpackPartitioner())) == 2


@pytest.mark.parametrize("product", ["addmm", "mm"])
def test_attention_reads_a_product_through_views(product: str) -> None:
    """A matrix multiplication and its view become one layer, so attention reads the view."""
    torch.manual_seed(0)

    def multiply(layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        rows = x.view(-1, 64)
        made = torch.addmm(layer.bias, rows, layer.weight) if product == "addmm" else rows @ layer.weight
        return made.view(x.shape)

    def attend_to_products(*arguments: nn.Module | torch.Tensor) -> torch.Tensor:
        *layers, x = arguments
        return attend(*(lambda x, layer=layer: multiply(layer, x) for layer in layers), x)  # type: ignore[misc,arg-type]

    model = Call(attend_to_products, *(nn.Linear(64, 64) for _ in range(3))).eval()
    (part,) = check(model, ROWS, XnnpackPartitioner())
    assert part.count("FullyConnected") == 3


def test_constants_that_many_parts_read() -> None:
    """per_op_mode: the first state of a GRU is a constant that several parts read, which no part computes for all."""
    torch.manual_seed(0)
    model = Call(lambda layer, x: layer(x)[0], nn.GRU(8, 8)).eval()
    parts = check(model, (torch.linspace(-2, 2, 4 * 2 * 8).reshape(4, 2, 8),), XnnpackPartitioner(per_op_mode=True))
    assert ["Sigmoid"] in parts


@pytest.mark.parametrize("per_op_mode", [False, True])
def test_a_weight_whose_source_several_parts_read(per_op_mode: bool) -> None:
    """One part computes the tensor from which layers of several parts take their weights: to the other parts, these
    weights are not constants."""
    distances = torch.linspace(0.1, 2, 9)

    def spread(x: torch.Tensor) -> torch.Tensor:
        kernel = (-distances).exp()
        for _ in range(3):
            x = F.conv2d(x, kernel.view(1, 1, 3, 3), padding=1).relu()
            x = torch.atan2(x, x + 1)  # XNNPACK has no such operator
        return x

    check(Call(spread), (torch.linspace(0, 1, 64).reshape(1, 1, 8, 8),), XnnpackPartitioner(per_op_mode=per_op_mode))


@pytest.mark.parametrize("per_op_mode", [False, True])
def test_indices_whose_source_several_parts_read(per_op_mode: bool) -> None:
    """A part in which the indices are constants lowers an index of all positions as a reshape."""

    def gather(x: torch.Tensor) -> torch.Tensor:
        places = (torch.arange(4) + 0.5).long()
        x = (x * 2)[:, :, places[:, None], places]
        x = torch.atan2(x, x + 1)
        return (x * 2)[:, :, places[:, None], places] + 1

    check(Call(gather), (torch.linspace(-1, 1, 32).reshape(1, 2, 4, 4),), XnnpackPartitioner(per_op_mode=per_op_mode))
