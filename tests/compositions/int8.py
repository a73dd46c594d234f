# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of the layers that models are quantised with, and their quantised forms.

A quantised program is compared with the quantised module in eager. Where a sum lies between two integers, a target may
round it to the other one, and kernels for integers round once more than eager does. So results may differ from
eager's as much as eager's own results with such roundings do.
"""

from __future__ import annotations

import copy
import random
from dataclasses import replace
from typing import Any
from unittest import mock

import torch
from torch import Tensor, fx, nn
from torch.export import ExportedProgram
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import quantize_
from torchao.utils import unwrap_tensor_subclass

import declared
from compositions import steps
from compositions.draw import BATCH, Draw
from compositions.examine import SIZES, Call, NotCapturedError, call_of, captured_with
from compositions.program import Family, Program, make
from compositions.steps import Maker, step
from sdk.export.recipe import QuantizationRecipe

OWN: dict[str, tuple[str, Maker]] = {}
"""Steps of this family, a whole block of a model each."""


def activation(draw: Draw) -> nn.Module:
    kinds = [nn.ReLU, nn.ReLU6, nn.Hardswish, nn.SiLU, nn.Hardtanh, nn.Sigmoid, nn.Tanh, nn.GELU, nn.LeakyReLU]
    return draw.of([*kinds, nn.ReLU, nn.ReLU, nn.Identity])()


def norm(channels: int) -> nn.Module:
    made = nn.BatchNorm2d(channels)
    made.running_mean.normal_()
    made.running_var.uniform_(0.5, 2)
    nn.init.uniform_(made.weight, 0.5, 1.5)
    nn.init.normal_(made.bias)
    return made


@step("f", OWN)
def convolution_block(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() != 4:
        return None
    channels, size = draw.of([8, 16, 24]), draw.of([1, 3, 3, 5])
    options = {"stride": draw.number(1, 2), "padding": size // 2, "bias": draw.chance(0.3)}
    return nn.Sequential(nn.Conv2d(x.shape[1], channels, size, **options), norm(channels), activation(draw))


@step("f", OWN)
def depthwise_block(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() != 4:
        return None
    channels, size, stride = x.shape[1], draw.of([3, 3, 5]), draw.number(1, 2)
    layer = nn.Conv2d(channels, channels, size, stride, size // 2, groups=channels, bias=False)
    return nn.Sequential(layer, norm(channels), activation(draw))


class Residual(nn.Module):
    """x + inner(x), with an activation."""

    def __init__(self, inner: nn.Module, after: nn.Module) -> None:
        super().__init__()
        self.inner, self.after = inner, after

    def forward(self, x: Tensor) -> Tensor:
        return self.after(x + self.inner(x))


@step("f", OWN)
def residual_block(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() != 4:
        return None
    channels = x.shape[1]
    first = nn.Conv2d(channels, 2 * channels, 1), norm(2 * channels), activation(draw)
    second = nn.Conv2d(2 * channels, channels, 3, padding=1, bias=False), norm(channels)
    return Residual(nn.Sequential(*first, *second), activation(draw))


class Gated(nn.Module):
    """Squeeze and excitation."""

    def __init__(self, channels: int, after: nn.Module) -> None:
        super().__init__()
        self.pool, self.after = nn.AdaptiveAvgPool2d(1), after
        self.down, self.up = nn.Conv2d(channels, 4, 1), nn.Conv2d(4, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.after(self.up(self.down(self.pool(x)).relu()))


@step("f", OWN)
def gated_block(draw: Draw, x: Tensor) -> Maker | None:
    return Gated(x.shape[1], draw.of([nn.Sigmoid, nn.Hardsigmoid])()) if x.dim() == 4 else None


@step("f", OWN)
def feed_forward(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() > 3:
        return None
    width, hidden = x.shape[-1], draw.of([32, 64, 96])
    layers = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, hidden), activation(draw), nn.Linear(hidden, width))
    return Residual(layers, nn.Identity())


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.project(x).chunk(3, -1)
        )
        attended = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.out(attended.transpose(1, 2).flatten(2))


@step("f", OWN)
def attention_block(draw: Draw, x: Tensor) -> Maker | None:
    if x.dim() != 3 or x.shape[-1] % 4:
        return None
    return Residual(Attention(x.shape[-1], draw.of([1, 2, 4])), nn.LayerNorm(x.shape[-1]))


@step("f", OWN)
def mean_of_pixels(draw: Draw, x: Tensor) -> Maker | None:
    keepdim = draw.chance(0.5)
    return (lambda x: x.mean([2, 3], keepdim=keepdim)) if x.dim() == 4 else None


BORROWED = [
    "binary", "with_parameter", "cat", "cat_itself", "unary", "convolution", "linear", "linear_activated", "pool",
    "adaptive_pool", "resize", "normalization", "matmul", "flatten", "reshape_rows", "transpose", "permute", "chunk",
    "slices", "select", "pad",
]  # fmt: skip

INPUTS = (
    (BATCH, 3, 32, 32),
    (BATCH, 8, 28, 28),
    (BATCH, 16, 14, 14),
    (BATCH, 24, 17, 9),
    (BATCH, 32, 7, 7),
    (BATCH, 12, 64),
    (BATCH, 49, 32),
    (BATCH, 96),
    (BATCH, 128),
)
INT8 = Family({**{name: steps.MAKERS[name] for name in BORROWED}, **OWN}, INPUTS, 100_000)


def recipes() -> dict[str, QuantizationRecipe]:
    """The default backend's ways to quantise, by name."""
    provider = declared.default().make("recipes")
    made = {kind.value: provider.create_recipe(kind) for kind in provider.get_supported_recipes()}
    return {name: one.quantization_recipe for name, one in made.items() if one.quantization_recipe}


def make_int8(seed: int) -> Program:
    """The program of a seed before it is quantised."""
    return make(seed, INT8)


def recipe_of(program: Program) -> str:
    """The name of the recipe that quantises a program."""
    return random.Random(program.seed).choice(list(recipes()))


def capture_int8(program: Program) -> tuple[ExportedProgram, list[Call]]:
    """The captured program in its quantised form, with its calls.

    Raises:
        NotCapturedError: torch.export or the quantiser refuses the program.
    """
    recipe = recipes()[recipe_of(program)]
    shapes, sizes = program.dynamic_shapes(), SIZES
    try:
        captured_with(program.model, program.inputs, shapes)
    except Exception:
        shapes, sizes = None, (BATCH,) * 3
    try:
        quantised = _quantised(program, recipe, shapes, sizes)
        # The module has a parameter for each input, the program's model one for all.
        captured = captured_with(quantised, program.inputs, shapes and shapes["inputs"])
    except Exception as error:
        raise NotCapturedError(f"{type(error).__name__}: {error}") from error
    calls = []
    for number, rows in enumerate(sizes):
        call = call_of(quantised, program.inputs_for(rows, number))
        calls.append(replace(call, model=Unsettled(quantised)))
    return captured, calls


def _quantised(program: Program, recipe: QuantizationRecipe, shapes: Any, sizes: tuple[int, ...]) -> fx.GraphModule:
    """The quantised module, calibrated with the inputs of its calls."""
    model = copy.deepcopy(program.model).eval()
    for config in recipe.ao_quantization_configs or ():
        quantize_(model, config.ao_base_config, _has_whole_groups)
    unwrap_tensor_subclass(model)
    module = captured_with(model, program.inputs, shapes).module(check_guards=False)
    for quantizer in recipe.quantizers or ():
        module = prepare_pt2e(module, quantizer)
        for number, rows in enumerate(sizes):
            module(*program.inputs_for(rows, number))
        # Without the search for patterns of quantisation-aware training, which would take half a minute in each call.
        with mock.patch("torchao.quantization.pt2e.quantize_pt2e._fold_conv_bn_qat", lambda module: module):
            module = convert_pt2e(module)
    return module


def _has_whole_groups(module: nn.Module, name: str) -> bool:
    """Whether a module is a linear layer whose rows torchao can divide into groups of weights."""
    return isinstance(module, nn.Linear) and module.in_features % 32 == 0


NEAR = 0.1
"""A value may be rounded to either neighbouring integer if its distance from their middle is at most this."""
ANY = 0.5
"""NEAR where scales are computed at run time. Any value may be rounded either way, because a target may use one scale
for each row."""


class Unsettled(nn.Module):
    """A quantised module that randomly rounds some values to the other of the two neighbouring integers."""

    def __init__(self, model: fx.GraphModule) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        return list(_Unsettled(self.model).run(*inputs))


class _Unsettled(fx.Interpreter):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        name = getattr(target, "__name__", "")
        if name.startswith("quantize_per_t"):  # quantize_per_tensor and quantize_per_token
            x, scale, *rest = args
            args = (_moved(x, scale), scale, *rest)
        elif name.startswith("quantize_affine"):
            x, blocks, scale, *rest = args
            args = (_moved(x, scale.reshape(*x.shape[:-1], -1)), blocks, scale, *rest)
        return super().call_function(target, args, kwargs)


def _moved(x: Tensor, scale: Tensor | float) -> Tensor:
    part = ANY if isinstance(scale, Tensor) else NEAR
    return (x + (torch.rand_like(x) * 2 - 1) * part * scale).to(x.dtype)
