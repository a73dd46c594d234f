# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of Ethos-U: int8 weights, with activations in int8 or int16, for each family of NPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdk.backends.recipes import BackendRecipes
from sdk.export.recipe import QuantizationRecipe, RecipeType


class EthosURecipeType(RecipeType):
    """The names of the recipes."""

    U55_INT8 = "arm_ethos_u55_int8"
    U55_A16W8 = "arm_ethos_u55_a16w8"
    U65_INT8 = "arm_ethos_u65_int8"
    U65_A16W8 = "arm_ethos_u65_a16w8"
    U85_INT8 = "arm_ethos_u85_int8"
    U85_A16W8 = "arm_ethos_u85_a16w8"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend of the recipes."""
        return "ethos-u"


_MACS = {"u55": 128, "u65": 256, "u85": 256}
_OPTIONS = ("system_config", "memory_mode", "extra_flags", "config_ini")


class EthosURecipeProvider(BackendRecipes):
    """Recipes have the options of `EthosUCompileSpec`, with `macs` (128 for an Ethos-U55, 256 for the others) in place
    of the target, and `is_per_channel` (True by default)."""

    types = EthosURecipeType

    def options(self, recipe_type: EthosURecipeType) -> Sequence[str]:
        return ("macs", *_OPTIONS, "is_per_channel")

    def partitioner(self, recipe_type: EthosURecipeType, options: Mapping[str, Any]) -> Any:
        from sdk.backends.arm.ethosu import EthosUPartitioner

        return EthosUPartitioner(_spec(recipe_type, options))

    def quantization(self, recipe_type: EthosURecipeType, options: Mapping[str, Any]) -> QuantizationRecipe:
        from sdk.backends.arm.quantizer import (
            EthosUQuantizer,
            get_symmetric_a16w8_quantization_config,
            get_symmetric_quantization_config,
        )

        is_int8 = recipe_type.value.endswith("int8")
        configure = get_symmetric_quantization_config if is_int8 else get_symmetric_a16w8_quantization_config
        config = configure(is_per_channel=options.get("is_per_channel", True))
        return QuantizationRecipe(quantizers=[EthosUQuantizer(_spec(recipe_type, options)).set_global(config)])


def _spec(recipe_type: EthosURecipeType, options: Mapping[str, Any]) -> Any:
    from sdk.backends.arm.ethosu import EthosUCompileSpec

    family = recipe_type.value.split("_")[2]
    chosen = {name: options[name] for name in _OPTIONS if name in options}
    return EthosUCompileSpec(f"ethos-{family}-{options.get('macs', _MACS[family])}", **chosen)
