# SPDX-License-Identifier: BSD-3-Clause
"""`CoreMLRecipeProvider`: makes the recipes of `CoreMLRecipeType`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdk.backends.apple.coreml.recipes.coreml_recipe_types import CoreMLRecipeType
from sdk.backends.recipes import BackendRecipes
from sdk.export.recipe import AOQuantizationConfig, QuantizationRecipe

_PT2E = {CoreMLRecipeType.PT2E_INT8_STATIC: "quint8", CoreMLRecipeType.PT2E_INT8_WEIGHT_ONLY: "float32"}
"""The dtype of activations."""

_AFFINE = {
    CoreMLRecipeType.TORCHAO_INT4_WEIGHT_ONLY_PER_CHANNEL: ("int4", False, "iOS18"),
    CoreMLRecipeType.TORCHAO_INT4_WEIGHT_ONLY_PER_GROUP: ("int4", True, "iOS18"),
    CoreMLRecipeType.TORCHAO_INT8_WEIGHT_ONLY_PER_CHANNEL: ("int8", False, "iOS16"),
    CoreMLRecipeType.TORCHAO_INT8_WEIGHT_ONLY_PER_GROUP: ("int8", True, "iOS18"),
}
"""For each recipe: the dtype of weights, whether groups of weights share a scale, and the oldest deployment target."""


class CoreMLRecipeProvider(BackendRecipes):
    """All recipes have the options `minimum_deployment_target` and `compute_unit` of
    `CoreMLBackend.generate_compile_specs`; a target that is too old for a recipe raises ValueError. Recipes
    that quantise with torchao have `filter_fn`, a function of a module and its name (embeddings and linear layers by
    default). Recipes for groups have `group_size` (32 by default). The codebook's recipe needs `bits` (1 to 8) and
    `block_size` (the rows and columns of a table, -1 for all)."""

    types = CoreMLRecipeType
    needs = ("torchao", "coremltools==9.0")

    def options(self, recipe_type: CoreMLRecipeType) -> Sequence[str]:
        return ("minimum_deployment_target", "compute_unit", *_options(recipe_type))

    def partitioner(self, recipe_type: CoreMLRecipeType, options: Mapping[str, Any]) -> Any:
        """Raises ImportError without coremltools."""
        return _partitioner(recipe_type, options)

    def quantization(self, recipe_type: CoreMLRecipeType, options: Mapping[str, Any]) -> QuantizationRecipe | None:
        if recipe_type in (CoreMLRecipeType.FP32, CoreMLRecipeType.FP16):
            return None
        if recipe_type in _PT2E:
            return _pt2e(_PT2E[recipe_type])
        config = (
            _codebook(options)
            if recipe_type is CoreMLRecipeType.CODEBOOK_WEIGHT_ONLY
            else _affine(*_AFFINE[recipe_type][:2], options.get("group_size", 32))
        )
        chosen = options.get("filter_fn") or _is_matrix
        return QuantizationRecipe(ao_quantization_configs=[AOQuantizationConfig(config, chosen)])


def _options(recipe_type: CoreMLRecipeType) -> set[str]:
    if recipe_type is CoreMLRecipeType.CODEBOOK_WEIGHT_ONLY:
        return {"bits", "block_size", "filter_fn"}
    if recipe_type in _AFFINE:
        return {"filter_fn", "group_size"} if _AFFINE[recipe_type][1] else {"filter_fn"}
    return set()


def _partitioner(recipe_type: CoreMLRecipeType, options: Mapping[str, Any]) -> Any:
    from sdk.backends.apple.coreml._coremltools import coremltools
    from sdk.backends.apple.coreml.compiler import CoreMLBackend
    from sdk.backends.apple.coreml.partition import CoreMLPartitioner

    ct = coremltools()
    needed = "iOS17" if recipe_type in _PT2E else _AFFINE[recipe_type][2] if recipe_type in _AFFINE else None
    if recipe_type is CoreMLRecipeType.CODEBOOK_WEIGHT_ONLY:
        needed = "iOS18"
    target = options.get("minimum_deployment_target")
    if target is not None and needed is not None and target < ct.target[needed]:
        raise ValueError(f"minimum_deployment_target is {target.name}; {recipe_type.value} needs {needed} or later")
    if target is None and needed is not None:
        target = ct.target[needed]
    precision = ct.precision.FLOAT32 if recipe_type is CoreMLRecipeType.FP32 else ct.precision.FLOAT16
    specs = CoreMLBackend.generate_compile_specs(options.get("compute_unit"), target, precision)
    # States need iOS 18; for older systems buffers are inputs and outputs of the delegate.
    return CoreMLPartitioner(compile_specs=specs, take_over_mutable_buffer=target is None or target >= ct.target.iOS18)


def _pt2e(activations: str) -> QuantizationRecipe:
    import torch

    from sdk.backends.apple.coreml._coremltools import coremltools
    from sdk.backends.apple.coreml.quantizer import CoreMLQuantizer

    quantization = coremltools().optimize.torch.quantization
    each = quantization.ModuleLinearQuantizerConfig(
        quantization_scheme="symmetric",
        activation_dtype=getattr(torch, activations),
        weight_dtype=torch.qint8,
        weight_per_channel=True,
    )
    return QuantizationRecipe(quantizers=[CoreMLQuantizer(quantization.LinearQuantizerConfig(global_config=each))])


def _affine(dtype: str, groups: bool, group_size: Any) -> Any:
    import torch
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import IntxWeightOnlyConfig

    if not isinstance(group_size, int) or isinstance(group_size, bool) or group_size < 1:
        raise ValueError(f"group_size is {group_size!r}; expected a positive integer")
    granularity = PerGroup(group_size) if groups else PerAxis(0)
    return IntxWeightOnlyConfig(weight_dtype=getattr(torch, dtype), granularity=granularity)


def _codebook(options: Mapping[str, Any]) -> Any:
    import torch
    from torchao.prototype.quantization.codebook_coreml import CodebookWeightOnlyConfig

    if not {"bits", "block_size"} <= set(options):
        raise ValueError("codebooks need the parameters 'bits' (1 to 8) and 'block_size', for example bits=3, "
                         "block_size=[16, -1]")  # fmt: skip
    bits, block = options["bits"], options["block_size"]
    if not isinstance(bits, int) or isinstance(bits, bool) or not 1 <= bits <= 8:
        raise ValueError(f"bits is {bits!r}; expected an integer from 1 to 8")
    if (
        not isinstance(block, list)
        or len(block) != 2
        or not all(isinstance(n, int) and (n == -1 or n > 0) for n in block)
    ):
        raise ValueError(f"block_size is {block!r}; expected a list of two numbers, each positive or -1")
    return CodebookWeightOnlyConfig(dtype=getattr(torch, f"uint{bits}"), block_size=block)


def _is_matrix(module: Any, name: str) -> bool:
    import torch

    return isinstance(module, (torch.nn.Embedding, torch.nn.Linear))
