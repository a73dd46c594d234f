# SPDX-License-Identifier: BSD-3-Clause
"""`XNNPACKRecipeProvider`: makes the recipes of `XNNPackRecipeType`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdk.backends.xnnpack.recipes.xnnpack_recipe_types import XNNPackRecipeType
from sdk.export.recipe import AOQuantizationConfig, ExportRecipe, LoweringRecipe, QuantizationRecipe, RecipeType
from sdk.export.recipe_provider import BackendRecipeProvider

_SMALLEST_GROUP = 32

_STATIC = {
    XNNPackRecipeType.PT2E_INT8_DYNAMIC_PER_CHANNEL: {"is_per_channel": True, "is_dynamic": True},
    XNNPackRecipeType.PT2E_INT8_STATIC_PER_CHANNEL: {"is_per_channel": True},
    XNNPackRecipeType.PT2E_INT8_STATIC_PER_TENSOR: {"is_per_channel": False},
}
_GROUPED = XNNPackRecipeType.TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR


class XNNPACKRecipeProvider(BackendRecipeProvider):
    """The recipe for int4 weights "per tensor" has the option `group_size`, 32 by default: the number of weights of a
    row that share a scale."""

    @property
    def backend_name(self) -> str:
        return "xnnpack"

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        return list(XNNPackRecipeType)

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """Raises ValueError for options that the recipe does not have, and for group sizes without a kernel."""
        if recipe_type not in self.get_supported_recipes():
            return None
        known = {"group_size"} if recipe_type is _GROUPED else set()
        if set(kwargs) - known:
            raise ValueError(
                f"{recipe_type.value} has no option {', '.join(sorted(set(kwargs) - known))}; it has "
                f"{', '.join(known) or 'none'}"
            )
        import torch

        return ExportRecipe(
            recipe_type.value,
            quantization_recipe=_quantization(recipe_type, kwargs.get("group_size", _SMALLEST_GROUP)),
            lowering_recipe=LoweringRecipe([_partitioner()]),
            dtype=torch.float16 if recipe_type is XNNPackRecipeType.FP16 else None,
        )


def _partitioner() -> Any:
    from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return XnnpackPartitioner()


def _quantization(recipe_type: RecipeType, group_size: Any) -> QuantizationRecipe | None:
    if recipe_type in (XNNPackRecipeType.FP32, XNNPackRecipeType.FP16):
        return None
    if not isinstance(group_size, int) or group_size < _SMALLEST_GROUP or group_size % _SMALLEST_GROUP:
        raise ValueError(f"group_size is {group_size!r}; expected a multiple of {_SMALLEST_GROUP}")
    try:
        if recipe_type in _STATIC:
            from sdk.backends.xnnpack.quantizer.xnnpack_quantizer import (
                XNNPACKQuantizer,
                get_symmetric_quantization_config,
            )

            config = get_symmetric_quantization_config(**_STATIC[recipe_type])
            return QuantizationRecipe(quantizers=[XNNPACKQuantizer().set_global(config)])
        import torch
        from torchao.quantization.granularity import PerAxis, PerGroup
        from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig
    except ImportError as error:
        raise ValueError(
            f"{recipe_type.value} quantises, which needs the package `torchao` ({error}); install it with "
            f"`pip install torchao`"
        ) from error
    granularity = PerGroup(group_size) if recipe_type is _GROUPED else PerAxis(0)
    layers = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=granularity)
    return QuantizationRecipe(ao_quantization_configs=[AOQuantizationConfig(layers)])
