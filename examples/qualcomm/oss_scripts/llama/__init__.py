# SPDX-License-Identifier: BSD-3-Clause
"""The decoders that `llama.py` exports: how each is quantised and split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from sdk.backends.qualcomm.quantizer.custom_annotation import annotate_kv_8bit, custom_annotate_llama_last_conv_16a8w
from sdk.backends.qualcomm.quantizer.quantizer import QnnQuantizer, QuantDtype

SUPPORTED_LLM_MODELS: dict[str, LLMModelConfig] = {}


class StaticLLMQuantRecipe:
    """Keys and values have 8 bits, activations 16, and the head weights of 8 bits (16a8w)."""

    default_quant_dtype: ClassVar[QuantDtype] = QuantDtype.use_16a4w
    annotations: ClassVar[tuple[Callable[..., Any], ...]] = (annotate_kv_8bit, custom_annotate_llama_last_conv_16a8w)

    def quantizer(self) -> QnnQuantizer:
        """Returns the quantizer with the recipe's scheme and annotations."""
        quantizer = QnnQuantizer()
        quantizer.set_default_quant_config(
            self.default_quant_dtype, is_conv_per_channel=True, is_linear_per_channel=True
        )
        quantizer.add_custom_quant_annotations(self.annotations)
        return quantizer


class StoriesQuantRecipe(StaticLLMQuantRecipe):
    """For the small models of stories."""

    default_quant_dtype = QuantDtype.use_16a8w


class Llama3_1BQuantRecipe(StaticLLMQuantRecipe):  # noqa: N801
    """For Llama 3.2 of 1B parameters."""


class Llama3_3BQuantRecipe(StaticLLMQuantRecipe):  # noqa: N801
    """For Llama 3.2 of 3B parameters."""


_UNSUPPORTED = (
    "repo_id", "params_path", "convert_weights", "instruct_model", "masked_softmax", "r1", "r2", "r3",
)  # fmt: skip


@dataclass(init=False, frozen=True)
class LLMModelConfig:
    """How a decoder is exported. `refuse_unsupported` checks that attributes with one supported value have it.

    Attributes:
        transform_weight: Whether the checkpoint's rotations pair adjacent elements, as Meta's do. Otherwise they pair
            elements of the two halves of each head, and the weights are used unchanged.
        num_sharding: The parts of the program.
        seq_mse_candidates: How many ranges are tried for each channel of a weight; with 0, all have the largest one.
        quant_recipe: The scheme and the annotations.
    """

    repo_id: str | None = None
    params_path: str | None = None
    convert_weights: Callable[..., Any] | None = None
    transform_weight: bool = True
    instruct_model: bool = False
    num_sharding: int = 1
    masked_softmax: bool = False
    seq_mse_candidates: int = 0
    r1: bool = False
    r2: bool = False
    r3: bool = False
    quant_recipe: type[StaticLLMQuantRecipe] = StaticLLMQuantRecipe

    def refuse_unsupported(self) -> None:
        """Raises ValueError for unsupported values: downloads and conversions of checkpoints, for which the script has
        arguments, chat templates, masked softmax and rotations of weights."""
        asked = [name for name in _UNSUPPORTED if getattr(self, name)]
        if asked:
            raise ValueError(f"not supported by this script: {', '.join(asked)} of {type(self).__name__}")


def register_llm_model(name: str) -> Callable[[type[LLMModelConfig]], type[LLMModelConfig]]:
    """Registers a configuration under a name for `--decoder_model`. Raises ValueError if the name is taken."""

    def register(kind: type[LLMModelConfig]) -> type[LLMModelConfig]:
        key = name.lower()
        if key in SUPPORTED_LLM_MODELS:
            raise ValueError(f"{name!r} is registered already, for {type(SUPPORTED_LLM_MODELS[key]).__name__}")
        SUPPORTED_LLM_MODELS[key] = kind()
        return kind

    return register


@register_llm_model("stories260k")
@dataclass(init=False, frozen=True)
class Stories260K(LLMModelConfig):
    """Karpathy's model of 260 thousand parameters."""

    quant_recipe: type[StaticLLMQuantRecipe] = StoriesQuantRecipe


@register_llm_model("stories110m")
@dataclass(init=False, frozen=True)
class Stories110M(LLMModelConfig):
    """Karpathy's model of 110 million parameters."""

    quant_recipe: type[StaticLLMQuantRecipe] = StoriesQuantRecipe


@register_llm_model("llama3_2-1b_instruct")
@dataclass(init=False, frozen=True)
class Llama3_2_1B_Instruct(LLMModelConfig):  # noqa: N801
    """Llama 3.2 of 1B parameters; the tokenizer has no chat template."""

    quant_recipe: type[StaticLLMQuantRecipe] = Llama3_1BQuantRecipe


@register_llm_model("llama3_2-3b_instruct")
@dataclass(init=False, frozen=True)
class Llama3_2_3B_Instruct(LLMModelConfig):  # noqa: N801
    """Llama 3.2 of 3B parameters, in four parts."""

    num_sharding: int = 4
    quant_recipe: type[StaticLLMQuantRecipe] = Llama3_3BQuantRecipe
