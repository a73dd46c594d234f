# SPDX-License-Identifier: BSD-3-Clause
"""The recipe of Neutron."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdk.backends.recipes import BackendRecipes
from sdk.export.recipe import QuantizationRecipe, RecipeType


class NeutronRecipeType(RecipeType):
    """The names of the recipes."""

    INT8 = "neutron_int8"

    @classmethod
    def get_backend_name(cls) -> str:
        """The backend of the recipes."""
        return "neutron"


class NeutronRecipeProvider(BackendRecipes):
    """The recipe has the option `target`, which is "imxrt700" by default."""

    types = NeutronRecipeType

    def options(self, recipe_type: NeutronRecipeType) -> Sequence[str]:
        return ("target",)

    def partitioner(self, recipe_type: NeutronRecipeType, options: Mapping[str, Any]) -> Any:
        from sdk.backends.nxp.neutron_partitioner import NeutronPartitioner
        from sdk.backends.nxp.nxp_backend import generate_neutron_compile_spec

        return NeutronPartitioner(generate_neutron_compile_spec(options.get("target", "imxrt700")))

    def quantization(self, recipe_type: NeutronRecipeType, options: Mapping[str, Any]) -> QuantizationRecipe:
        from sdk.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
        from sdk.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer

        return QuantizationRecipe(quantizers=[NeutronQuantizer(NeutronTargetSpec(options.get("target", "imxrt700")))])
