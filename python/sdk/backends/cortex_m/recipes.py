# SPDX-License-Identifier: BSD-3-Clause
"""The recipe of Cortex-M."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sdk.backends.recipes import OperatorRecipes
from sdk.export.recipe import QuantizationRecipe, RecipeType

if TYPE_CHECKING:
    from sdk.exir import EdgeCompileConfig
    from sdk.exir.pass_base import PassType


class CortexMRecipeType(RecipeType):
    """The names of the recipes."""

    INT8 = "cortex_m_int8"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend of the recipes."""
        return "cortex-m"


class CortexMRecipeProvider(OperatorRecipes):
    """The recipe has the option `target`, such as "cortex-m4", which is "cortex-m55" by default. Convolutions compute
    in the memory format channels_last, whatever the format of the inputs."""

    types = CortexMRecipeType

    def options(self, recipe_type: CortexMRecipeType) -> Sequence[str]:
        return ("target",)

    def quantization(self, recipe_type: CortexMRecipeType, options: Mapping[str, Any]) -> QuantizationRecipe:
        from sdk.backends.cortex_m.channels_last import with_channels_last
        from sdk.backends.cortex_m.quantizer import CortexMQuantizer

        return QuantizationRecipe([CortexMQuantizer()], captured_transforms=[with_channels_last])

    def edge_compile_config(self) -> EdgeCompileConfig:
        from sdk.backends.cortex_m.edge import edge_compile_config

        return edge_compile_config()

    def passes(self, recipe_type: CortexMRecipeType, options: Mapping[str, Any]) -> Sequence[PassType]:
        from sdk.backends.cortex_m.edge import ToCortexM
        from sdk.backends.cortex_m.target_config import CortexMTargetConfig

        return [ToCortexM(CortexMTargetConfig.from_target_string(options.get("target", "cortex-m55")))]
