# SPDX-License-Identifier: BSD-3-Clause
"""Models of one operator, and the result of a quantizer with a global configuration. Usage, in the original's
environment: ``python lone_operators.py OUT.json``."""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fx import Node
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

IMAGE, ROWS = (2, 8, 9, 11), (3, 5, 16)
PAIR = (ROWS, ROWS)

ALONE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "permute": (lambda x: x.permute(2, 0, 1), (ROWS,)),
    "transpose": (lambda x: x.transpose(0, 1), (ROWS,)),
    "t": (lambda x: x.t(), ((4, 6),)),
    "movedim": (lambda x: x.movedim(0, 1), (ROWS,)),
    "select": (lambda x: x.select(1, 2), (ROWS,)),
    "slice": (lambda x: x[:, 1:4], (ROWS,)),
    "expand": (lambda x: x.unsqueeze(0).expand(2, 3, 5, 16), (ROWS,)),
    "expand as": (lambda x: x[:1].expand_as(x), (ROWS,)),
    "unsqueeze": (lambda x: x.unsqueeze(1), (ROWS,)),
    "squeeze": (lambda x: x.squeeze(1), ((3, 1, 5),)),
    "squeeze of all": (lambda x: x.squeeze(), ((3, 1, 5),)),
    "view": (lambda x: x.view(3, 80), (ROWS,)),
    "flatten": (lambda x: x.flatten(1), (ROWS,)),
    "flip": (lambda x: x.flip(0), (ROWS,)),
    "repeat": (lambda x: x.repeat(2, 1, 1), (ROWS,)),
    "tile": (lambda x: x.tile(2, 2), (ROWS,)),
    "repeat interleave": (lambda x: x.repeat_interleave(2, 0), (ROWS,)),
    "roll": (lambda x: x.roll(2, 1), (ROWS,)),
    "pixel shuffle": (lambda x: F.pixel_shuffle(x, 2), (IMAGE,)),
    "pad": (lambda x: F.pad(x, (1, 2)), (ROWS,)),
    "split": (lambda x: x.split(2, 1)[1], (ROWS,)),
    "chunk": (lambda x: x.chunk(2, 1)[0], (ROWS,)),
    "unbind": (lambda x: x.unbind(0)[1], (ROWS,)),
    "index": (lambda x: x[[0, 2]], (ROWS,)),
    "stack": (lambda x, y: torch.stack([x, y * 3], 1), PAIR),
    "concatenation": (lambda x, y: torch.cat([x, y * 3]), PAIR),
    "max pool": (lambda x: F.max_pool2d(x, 2), (IMAGE,)),
    "average pool": (lambda x: F.avg_pool2d(x, 2), (IMAGE,)),
    "adaptive pool": (lambda x: F.adaptive_avg_pool2d(x, 1), (IMAGE,)),
    "adaptive pool of uneven windows": (lambda x: F.adaptive_avg_pool2d(x, (4, 5)), (IMAGE,)),
    "adaptive pool with more results than pixels": (lambda x: F.adaptive_avg_pool2d(x, (11, 3)), (IMAGE,)),
    "nearest": (lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), (IMAGE,)),
    "bilinear": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (IMAGE,)),
    "bilinear with aligned corners": (
        lambda x: F.interpolate(x, size=(17, 21), mode="bilinear", align_corners=True),
        (IMAGE,),
    ),
    "largest": (lambda x: x.max(), (ROWS,)),
    "largest of rows": (lambda x: x.max(-1)[0], (ROWS,)),
    "smallest of rows": (lambda x: x.min(1, keepdim=True)[0], (ROWS,)),
    "amax": (lambda x: x.amax((0, 2)), (ROWS,)),
    "in-place SiLU": (lambda x: F.silu(x + 1, inplace=True), (ROWS,)),
    "in-place quotient": (lambda x: (x + 2).div_(2.0), (ROWS,)),
    "gated": (lambda x: F.glu(x, -1), (ROWS,)),
    "number less a tensor": (lambda x: 1.0 - x, (ROWS,)),
    "mean of all": (lambda x: x.mean(), (ROWS,)),
    "product and sum": (lambda a, b, c: torch.addmm(a, b, c), ((4, 5), (4, 3), (3, 5))),
    "scaled product and sum": (lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=3), ((5,), (4, 3), (3, 5))),
    "products and sums": (lambda a, b, c: torch.baddbmm(a, b, c), ((2, 4, 5), (2, 4, 3), (2, 3, 5))),
    "sum of a multiple": (lambda x, y: torch.add(x, y, alpha=2), PAIR),
    "products of elements": (lambda x, y: torch.addcmul(x, x, y, value=0.5), PAIR),
    "between": (lambda x, y: torch.lerp(x, y, 0.3), PAIR),
    "product by letters": (lambda x, y: torch.einsum("ij,jk->ik", x, y), ((3, 4), (4, 5))),
    "instance norm": (lambda x: F.instance_norm(x), (IMAGE,)),
    "distances by sums": (lambda x, y: torch.cdist(x, y, 1.0), ((3, 16), (4, 16))),
    "distances by extremes": (lambda x, y: torch.cdist(x, y, float("inf")), ((2, 3, 16), (2, 4, 16))),
}
"""Functions that PyTorch may write with several operators, and the shapes of their operands."""

DEVIATIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "variance of rows": (lambda x: x.var(-1), (ROWS,)),
    "variance of images": (lambda x: torch.var(x, (2, 3), keepdim=True), (IMAGE,)),
    "variance of all": (lambda x: torch.var(x), (ROWS,)),
    "variance of a population": (lambda x: x.var(-1, unbiased=False), (ROWS,)),
    "deviation": (lambda x: x.std(-1), (ROWS,)),
    "distances": (lambda x, y: torch.cdist(x, y), ((3, 16), (4, 16))),
}

INT, INT16 = "TOSA-1.0+INT", "TOSA-1.0+INT+int16"


class Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


def floats_of(converted: Any) -> list[str]:
    """The operators with operands or results that are floats and not quantised."""
    left = []
    for node in converted.graph.nodes:
        if node.op != "call_function" or _is(node, "quantize", "dequantize"):
            continue
        reads = any(_is_float(each) and not _is(each, "dequantize") for each in node.all_input_nodes)
        gives = _is_float(node) and not all(_is(user, "quantize") for user in node.users)
        if node.target is not operator.getitem and (reads or gives):
            left.append(str(node.target))
    return left


def _is_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.is_floating_point()


def _is(node: Any, *names: str) -> bool:
    return (
        isinstance(node, Node)
        and node.op == "call_function"
        and str(node.target).rpartition(".")[0].removeprefix("quantized_decomposed.")
        in [f"{name}_per_tensor" for name in names]
    )


def _parameters(node: Node) -> list[Any]:
    scale, zero_point, low, high, dtype = node.args[1:6]
    return [scale, zero_point, low, high, str(dtype)]


def summary(converted: Any) -> dict[str, Any]:
    """Returns what stays in floats, and how the inputs and the results are quantised."""
    inputs, results = [], []
    for node in converted.graph.nodes:
        if node.op == "placeholder":
            inputs.append(sorted({tuple(_parameters(user)) for user in node.users if _is(user, "quantize")}))
        elif node.op == "output":
            results = [_parameters(each) if _is(each, "dequantize") else [] for each in node.all_input_nodes]
    return {"floats": floats_of(converted), "inputs": [list(map(list, each)) for each in inputs], "results": results}


def summaries(make_quantizer: Callable[[str], Any]) -> dict[str, dict[str, Any]]:
    """Returns summaries by specification and by name of the model. `make_quantizer` gets the specification."""
    found: dict[str, dict[str, Any]] = {INT: {}, INT16: {}}
    for spec in found:
        for name, (function, shapes) in {**ALONE, **DEVIATIONS}.items():
            torch.manual_seed(0)
            inputs = tuple(torch.randn(shape) for shape in shapes)
            captured = torch.export.export(Function(function).eval(), inputs).module(check_guards=False)
            try:
                prepared = prepare_pt2e(captured, make_quantizer(spec))
                prepared(*inputs)
                found[spec][name] = summary(convert_pt2e(prepared))
            except Exception as error:  # of a pass of the original
                found[spec][name] = {"error": str(error)}
    return found


def main() -> None:
    from executorch.backends.arm import quantizer
    from executorch.backends.arm.tosa.specification import TosaSpecification

    def make(spec: str) -> Any:
        wide = spec == INT16
        config = (
            quantizer.get_symmetric_a16w8_quantization_config()
            if wide
            else quantizer.get_symmetric_quantization_config()
        )
        return quantizer.TOSAQuantizer(TosaSpecification.create_from_string(spec)).set_global(config)

    Path(sys.argv[1]).write_text(json.dumps(summaries(make)))


if __name__ == "__main__":
    main()
