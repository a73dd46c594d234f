# SPDX-License-Identifier: BSD-3-Clause
"""Makes the recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdk.backends.qualcomm.recipes.qnn_recipe_types import QNNRecipeType
from sdk.backends.recipes import BackendRecipes
from sdk.export.recipe import QuantizationRecipe


class QNNRecipeProvider(BackendRecipes):
    """Recipes have the option `soc_model`, a chip or its name, which is "SM8650" by default, and those of
    `QnnPartitioner`. Weights have a scale for each output channel."""

    types = QNNRecipeType

    def options(self, recipe_type: QNNRecipeType) -> Sequence[str]:
        return ("soc_model", "skip_node_id_set", "skip_node_op_set", "skip_mutable_buffer")

    def partitioner(self, recipe_type: QNNRecipeType, options: Mapping[str, Any]) -> Any:
        from sdk.backends.qualcomm.partition.qnn_partitioner import QnnPartitioner
        from sdk.backends.qualcomm.utils.compile_specs import (
            generate_htp_compiler_spec,
            generate_qnn_executorch_compiler_spec,
        )

        htp = generate_htp_compiler_spec(use_fp16=recipe_type in (QNNRecipeType.FP16, QNNRecipeType.FP16A8W))
        given = {key: value for key, value in options.items() if key != "soc_model"}
        return QnnPartitioner(generate_qnn_executorch_compiler_spec(_chip(options), htp), **given)

    def quantization(self, recipe_type: QNNRecipeType, options: Mapping[str, Any]) -> QuantizationRecipe | None:
        if recipe_type is QNNRecipeType.FP16:
            return None
        from sdk.backends.qualcomm.quantizer import QnnQuantizer, QuantDtype

        quantizer = QnnQuantizer(soc_model=_chip(options))
        scheme = QuantDtype[f"use_{recipe_type.value.removeprefix('qnn_')}"]
        quantizer.set_default_quant_config(scheme, is_conv_per_channel=True, is_linear_per_channel=True)
        return QuantizationRecipe(quantizers=[quantizer])


def _chip(options: Mapping[str, Any]) -> Any:
    from sdk.backends.qualcomm.utils.compile_specs import get_soc_to_chipset_map

    given, known = options.get("soc_model", "SM8650"), get_soc_to_chipset_map()
    if given in known.values():
        return given
    if given not in known:
        raise ValueError(f"soc_model is {given!r}; expected one of {', '.join(known)}")
    return known[given]
