# SPDX-License-Identifier: BSD-3-Clause
"""Prompts of Hugging Face's processors: tokens, with a run of one token in the place of each picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sdk.extension.llm.runner._llm_runner import (
    GenerationConfig,
    MultimodalInput,
    MultimodalRunner,
    Stats,
    make_image_input,
    make_token_input,
)

if TYPE_CHECKING:
    import torch

Prompt = Mapping[str, Any] | Sequence[MultimodalInput]


def generate_hf(
    runner: MultimodalRunner,
    inputs: Prompt,
    config: GenerationConfig,
    image_token_id: int | None = None,
    token_callback: Callable[[str], None] | None = None,
    stats_callback: Callable[[Stats], None] | None = None,
) -> None:
    """`runner.generate()` of what a processor returned.

    Args:
        runner: The runner; `runner.generate_hf(...)` is the same call.
        inputs: The tensors of a processor, with `return_tensors="pt"`: `input_ids`, [tokens] or [1, tokens], and
            `pixel_values`, a picture or [pictures, channels, height, width]. Parts of a prompt are taken as they are.
        config: The settings of `generate()`.
        image_token_id: The token that stands in the place of pictures.
        token_callback: Gets each piece of text.
        stats_callback: Gets the times.

    Raises RuntimeError if the pictures are not as many as the runs of the token.
    """
    runner.generate(_parts(inputs, image_token_id), config, token_callback, stats_callback)


def generate_text_hf(
    runner: MultimodalRunner, inputs: Prompt, config: GenerationConfig, image_token_id: int | None = None
) -> str:
    """`runner.generate_text()` of what a processor returned; see `generate_hf`."""
    return runner.generate_text(_parts(inputs, image_token_id), config)


def _parts(inputs: Prompt, image_token_id: int | None) -> list[MultimodalInput]:
    if not isinstance(inputs, Mapping):
        parts = list(inputs)
        if not all(isinstance(part, MultimodalInput) for part in parts):
            raise RuntimeError(
                "inputs: expected what a processor of Hugging Face returned (a BatchFeature), or a list of "
                f"MultimodalInput, found {type(inputs).__name__}"
            )
        return parts
    pictures = _pictures(inputs.get("pixel_values"))
    runs = [list(run) for _, run in groupby(_tokens(inputs), key=lambda token: token == image_token_id)]
    places = sum(run[0] == image_token_id for run in runs)
    if pictures and image_token_id is None:
        raise RuntimeError("inputs have 'pixel_values'; give the token in the place of pictures as image_token_id")
    if places != len(pictures):
        raise RuntimeError(
            f"inputs have {len(pictures)} pictures in 'pixel_values', and {places} runs of the token {image_token_id} "
            "in 'input_ids'; expected a run for each picture"
        )
    left = iter(pictures)
    return [make_image_input(next(left)) if run[0] == image_token_id else make_token_input(run) for run in runs]


def _tokens(inputs: Mapping[str, Any]) -> list[int]:
    import torch

    tokens = inputs.get("input_ids")
    if not isinstance(tokens, torch.Tensor):
        raise RuntimeError(
            f"inputs need 'input_ids', a tensor (call the processor with return_tensors='pt'), found "
            f"{type(tokens).__name__}"
        )
    if tokens.dim() not in (1, 2) or (tokens.dim() == 2 and len(tokens) != 1):
        raise RuntimeError(f"'input_ids': expected [tokens] or [1, tokens], found {list(tokens.shape)}")
    return [int(token) for token in tokens.flatten().tolist()]


def _pictures(pixels: Any) -> list[torch.Tensor]:
    import torch

    if pixels is None:
        return []
    if not isinstance(pixels, torch.Tensor) or pixels.dim() not in (3, 4):
        shape = list(pixels.shape) if isinstance(pixels, torch.Tensor) else type(pixels).__name__
        raise RuntimeError(
            f"'pixel_values': expected a tensor of a picture, or of [pictures, channels, height, width], found {shape}"
        )
    return [pixels] if pixels.dim() == 3 else list(pixels)


# As in ExecuTorch, both are methods, too.
MultimodalRunner.generate_hf = generate_hf
MultimodalRunner.generate_text_hf = generate_text_hf
