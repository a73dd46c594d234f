# SPDX-License-Identifier: BSD-3-Clause
"""`XNNPACKRecipeProvider`: makes the recipes of `XNNPackRecipeType`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdk.backends.recipes import BackendRecipes
from sdk.backends.xnnpack.recipes.xnnpack_recipe_types import XNNPackRecipeType
from sdk.export.recipe import AOQuantizationConfig, QuantizationRecipe

_SMALLEST_GROUP = 32

_STATIC = {
    XNNPackRecipeType.PT2E_INT8_DYNAMIC_PER_CHANNEL: {"is_per_channel": True, "is_dynamic": True},
    XNNPackRecipeType.PT2E_INT8_STATIC_PER_CHANNEL: {"is_per_channel": True},
    XNNPackRecipeType.PT2E_INT8_STATIC_PER_TENSOR: {"is_per_channel": False},
}
_GROUPED = XNNPackRecipeType.TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR


class XNNPACKRecipeProvider(BackendRecipes):
    """The recipe for int4 weights "per tensor" has the option `group_size`, 32 by default: the number of weights of a
    row that share a scale. XNNPACK has kernels for multiples of 32."""

    types = XNNPackRecipeType

    def options(self, recipe_type: XNNPackRecipeType) -> Sequence[str]:
        return ("group_size",) if recipe_type is _GROUPED else ()

    def partitioner(self, recipe_type: XNNPackRecipeType, options: Mapping[str, Any]) -> Any:
        from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

        return XnnpackPartitioner()

    def dtype(self, recipe_type: XNNPackRecipeType) -> Any:
        import torch

        return torch.float16 if recipe_type is XNNPackRecipeType.FP16 else None

    def quantization(self, recipe_type: XNNPackRecipeType, options: Mapping[str, Any]) -> QuantizationRecipe | None:
        if recipe_type in (XNNPackRecipeType.FP32, XNNPackRecipeType.FP16):
            return None
        if recipe_type in _STATIC:
            return _pt2e(_STATIC[recipe_type])
        return _int4(options.get("group_size", _SMALLEST_GROUP) if recipe_type is _GROUPED else None)


def _pt2e(options: dict[str, bool]) -> QuantizationRecipe:
    from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

    config = get_symmetric_quantization_config(**options)
    return QuantizationRecipe(quantizers=[XNNPACKQuantizer().set_global(config)])


def _int4(group_size: Any) -> QuantizationRecipe:
    """`group_size` is None where all weights of a row share a scale."""
    is_group = isinstance(group_size, int) and group_size >= _SMALLEST_GROUP and group_size % _SMALLEST_GROUP == 0
    if group_size is not None and not is_group:
        raise ValueError(f"group_size is {group_size!r}; expected a multiple of {_SMALLEST_GROUP}")
    import torch
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig

    granularity = PerAxis(0) if group_size is None else PerGroup(group_size)
    layers = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=granularity)
    return QuantizationRecipe(ao_quantization_configs=[AOQuantizationConfig(layers)])
