# SPDX-License-Identifier: BSD-3-Clause
"""Makes a program from the hyperparameters and weights of a GGUF file."""

from __future__ import annotations

from sdk.extension.gguf_util.converters.llama_converter import convert_to_pte as _of_decoder
from sdk.extension.gguf_util.load_gguf import GGUFModelArgs, GGUFWeights


def convert_to_pte(model_args: GGUFModelArgs, weights: GGUFWeights) -> bytes:
    """The program of a model that `load_file` returned, for all architectures that it reads."""
    return _of_decoder(model_args, weights)
