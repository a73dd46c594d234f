# SPDX-License-Identifier: BSD-3-Clause
"""Prompts of Hugging Face's processors: tokens, with a run of one token in the place of each picture."""

from __future__ import annotations

import math
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
    """Calls `runner.generate()` with the tensors that a processor returned.

    Args:
        runner: The runner; `runner.generate_hf(...)` is the same call.
        inputs: The tensors of a processor, with `return_tensors="pt"`: `input_ids`, [tokens] or [1, tokens], and
            `pixel_values`, a picture or [pictures, channels, height, width], or, with `image_grid_thw`, the patches of
            pictures of several sizes. Parts of a prompt are taken as they are.
        config: The settings of `generate()`.
        image_token_id: The token that stands in the place of pictures.
        token_callback: Called with each piece of text.
        stats_callback: Called with the times at the end.

    Raises RuntimeError if the number of pictures differs from the number of runs of the token.
    """
    runner.generate(_parts(inputs, image_token_id), config, token_callback, stats_callback)


def generate_text_hf(
    runner: MultimodalRunner, inputs: Prompt, config: GenerationConfig, image_token_id: int | None = None
) -> str:
    """Calls `runner.generate_text()` with the tensors that a processor returned; see `generate_hf`."""
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
    pixels, grids = inputs.get("pixel_values"), inputs.get("image_grid_thw")
    runs = [list(run) for _, run in groupby(_tokens(inputs), key=lambda token: token == image_token_id)]
    lengths = [len(run) for run in runs if run[0] == image_token_id]
    places = len(lengths)
    pictures = _pictures(pixels) if grids is None else _from_patches(pixels, grids, lengths)
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


def _from_patches(pixels: Any, grids: Any, lengths: list[int]) -> list[torch.Tensor]:
    """The pictures whose patches Qwen2-VL's processor returned: [patches, channels * frames * side * side], in units
    that become one position each. `grids`: frames, rows and columns of patches of each picture; `lengths`: its
    positions."""
    import torch

    shapes = _shapes(grids)
    counts = [rows * columns for _, rows, columns in shapes]
    side = math.isqrt(pixels.shape[-1] // 6) if isinstance(pixels, torch.Tensor) and pixels.dim() == 2 else 0
    if not side or pixels.shape != (sum(counts), 6 * side * side) or any(frames != 1 for frames, _, _ in shapes):
        found = list(pixels.shape) if isinstance(pixels, torch.Tensor) else type(pixels).__name__
        raise RuntimeError(
            "'pixel_values': expected the patches of the pictures in 'image_grid_thw' (no videos), of 3 channels and 2 "
            f"equal frames, found {found}"
        )
    if len(lengths) != len(shapes):
        return list(pixels.split(counts))  # the caller reports the different number
    pictures = []
    for patches, (_, rows, columns), length in zip(pixels.split(counts), shapes, lengths, strict=True):
        merge = math.isqrt(rows * columns // length)
        if rows * columns != length * merge**2 or rows % merge or columns % merge:
            raise RuntimeError(
                f"a picture has {rows} x {columns} patches and {length} tokens; expected a token for a square of them"
            )
        units = patches.unflatten(1, (3, 2, side, side))[:, :, 0]
        units = units.unflatten(0, (rows // merge, columns // merge, merge, merge))
        pictures.append(units.permute(4, 0, 2, 5, 1, 3, 6).reshape(3, rows * side, columns * side))
    return pictures


def _shapes(grids: Any) -> list[list[int]]:
    """Returns `image_grid_thw` as lists of integers. Raises RuntimeError for tensors that no processor returns."""
    import torch

    is_tensor = isinstance(grids, torch.Tensor)
    whole = is_tensor and not grids.is_floating_point() and not grids.is_complex() and grids.dtype != torch.bool
    if not whole or grids.dim() != 2 or grids.shape[1] != 3 or not bool((grids > 0).all()):
        found = f"{grids.dtype} {list(grids.shape)}: {grids.tolist()}" if is_tensor else type(grids).__name__
        raise RuntimeError(
            "'image_grid_thw': expected a tensor of whole numbers above 0, [pictures, 3]: the frames, rows and columns "
            f"of patches of each picture, found {found}"
        )
    shapes: list[list[int]] = grids.tolist()
    return shapes


# As in ExecuTorch, both are methods, too.
MultimodalRunner.generate_hf = generate_hf
MultimodalRunner.generate_text_hf = generate_text_hf
