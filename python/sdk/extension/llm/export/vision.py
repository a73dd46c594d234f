# SPDX-License-Identifier: BSD-3-Clause
"""The methods of a multimodal program that turn pictures into embeddings: modules over those of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.image_processor import image_settings, patch_steps, picture_steps, token_text
from sdk.extension.llm.export.part import Part
from sdk.extension.llm.export.vision_patches import PATCHED, patch_methods
from sdk.extension.llm.model.model_args import ModelArgs


class VisionEncoder(nn.Module):
    """The vision tower and projector of a model of transformers."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model: Any = model

    def forward(self, pixels: Tensor) -> Tensor:
        """Takes [1, channels, height, width] and returns [1, positions, dim]."""
        features = self.model.get_image_features(pixel_values=pixels, return_dict=True).pooler_output
        return torch.cat(list(features))[None]


class TileEncoder(nn.Module):
    """The vision tower and connector of SmolVLM for one tile without padding.

    The positions of its patches are constants here; transformers computes them from the mask of padding.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.vision, self.connector = model.model.vision_model, model.model.connector
        self.register_buffer("positions", self._positions(model.config.vision_config), persistent=False)

    def _positions(self, config: Any) -> Tensor:
        embeddings, found = self.vision.embeddings, []
        hook = embeddings.position_embedding.register_forward_pre_hook(lambda _, inputs: found.append(inputs[0]))
        side = config.image_size // config.patch_size
        with torch.no_grad():
            pixels = torch.zeros(1, config.num_channels, config.image_size, config.image_size)
            embeddings(pixels, torch.ones(1, side, side, dtype=torch.bool))
        hook.remove()
        positions: Tensor = found[0]
        return positions

    def forward(self, pixels: Tensor) -> Tensor:
        """Takes [1, channels, height, width] and returns [1, positions, dim]."""
        patches = self.vision.embeddings.patch_embedding(pixels).flatten(2).transpose(1, 2)
        x = patches + self.vision.embeddings.position_embedding(self.positions)
        x = self.vision.encoder(inputs_embeds=x, attention_mask=None).last_hidden_state
        embeddings: Tensor = self.connector(self.vision.post_layernorm(x))
        return embeddings


class VisionPreprocessor(nn.Module):
    """The steps that a processor of transformers applies to a picture of the right size."""

    def __init__(self, scale: float, mean: list[float], deviation: list[float]) -> None:
        super().__init__()
        self.scale = scale
        self.register_buffer("mean", torch.tensor(mean)[:, None, None], persistent=False)
        self.register_buffer("deviation", torch.tensor(deviation)[:, None, None], persistent=False)

    def forward(self, picture: Tensor) -> Tensor:
        """Takes uint8 [channels, height, width] and returns float32 [1, channels, height, width]."""
        return ((picture.to(torch.float32) * self.scale - self.mean) / self.deviation)[None]


TILED = ("smolvlm", "idefics3")
"""Values of `model_type` of models that cut pictures into tiles."""


def vision_methods(theirs: Any, folder: Path, text: ModelArgs) -> tuple[dict[str, Part], dict[str, Any]]:
    """The methods for pictures, and the steps of the processor for a picture of any size (see `image_processor`), {} if
    the folder does not have them. `text`: the hyperparameters of the decoder. Raises CheckpointError for settings of
    the processor that cannot be used."""
    vision, settings = theirs.config.vision_config, image_settings(folder)
    if theirs.config.model_type in PATCHED:
        steps = patch_steps(settings, vision, text.max_context_len)
        normalisation = _normalisation(settings, vision.in_channels)
        most = steps["most_pixels"] // (vision.patch_size * vision.spatial_merge_size) ** 2
        methods = patch_methods(theirs, normalisation, most, text.use_sdpa_with_kv_cache_op)
        return methods, {**steps, **_texts(theirs.config, folder)}
    size, channels = vision.image_size, vision.num_channels
    encoder = TileEncoder(theirs) if theirs.config.model_type in TILED else VisionEncoder(theirs)
    methods = {"vision_encoder": Part(encoder, (torch.zeros(1, channels, size, size),))}
    if not settings:
        return methods, {}
    picture = torch.zeros(channels, size, size, dtype=torch.uint8)
    methods["vision_preprocessor"] = Part(_normalisation(settings, channels), (picture,))
    steps = picture_steps(settings, size, theirs.config.model_type in TILED)
    return methods, {**steps, **_texts(theirs.config, folder)} if steps else {}


def _normalisation(settings: dict[str, Any], channels: int) -> VisionPreprocessor:
    scale = settings.get("rescale_factor", 1 / 255) if settings.get("do_rescale", True) else 1.0
    mean, deviation = [0.0] * channels, [1.0] * channels
    if settings.get("do_normalize", True):
        mean, deviation = settings.get("image_mean", mean), settings.get("image_std", deviation)
    for name, numbers in (("image_mean", mean), ("image_std", deviation)):
        if not isinstance(numbers, list) or len(numbers) != channels:
            raise CheckpointError(f"{name} of the image processor: expected {channels} numbers, found {numbers!r}")
    return VisionPreprocessor(float(scale), mean, deviation)


def _texts(config: Any, folder: Path) -> dict[str, str]:
    """The texts that the model's processor puts around pictures."""
    if config.model_type == "gemma3":
        begin = token_text(folder, config.boi_token_index, "<start_of_image>")
        end = token_text(folder, config.eoi_token_index, "<end_of_image>")
        token = token_text(folder, config.image_token_id, "<image_soft_token>")
        return {"place": begin, "token": token, "before": f"\n\n{begin}", "after": f"{end}\n\n"}
    if config.model_type in PATCHED:
        begin = token_text(folder, config.vision_start_token_id, "<|vision_start|>")
        end = token_text(folder, config.vision_end_token_id, "<|vision_end|>")
        token = token_text(folder, config.image_token_id, "<|image_pad|>")
        return {"place": begin + token + end, "token": token, "before": begin, "after": end}
    token = token_text(folder, config.image_token_id, "<image>")
    if config.model_type not in TILED:
        return {"place": token, "token": token, "before": "", "after": ""}
    edge, whole = "<fake_token_around_image>", "<global-img>"
    tiles = {"tile": edge + "<row_{row}_col_{column}>", "row_end": "\n", "after_tiles": "\n"}
    return {"place": token, "token": token, "before": edge + whole, "after": edge, **tiles}
