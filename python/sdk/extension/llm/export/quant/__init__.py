# SPDX-License-Identifier: BSD-3-Clause
"""Quantises the weights of any module by rules over their names, and converts what other programs quantised.

A `QuantRecipe` chooses a `QuantConfig` for each name. `quantize_model` gives the state dict of a module that follows
it, and `sdk.extension.llm.export.load.assign_state_dict` puts one into a module.
"""

from sdk.extension.llm.export.quant.convert import Convert, fuse_along_output, identity, to_default, to_exportable
from sdk.extension.llm.export.quant.quantize import (
    dequantize_weight,
    quantize_model,
    quantize_stream,
    quantize_weight,
)
from sdk.extension.llm.export.quant.recipe import QuantConfig, QuantRecipe, QuantRule

__all__ = [
    "Convert",
    "QuantConfig",
    "QuantRecipe",
    "QuantRule",
    "dequantize_weight",
    "fuse_along_output",
    "identity",
    "quantize_model",
    "quantize_stream",
    "quantize_weight",
    "to_default",
    "to_exportable",
]
