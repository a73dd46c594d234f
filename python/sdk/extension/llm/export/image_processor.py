# SPDX-License-Identifier: BSD-3-Clause
"""Converts the settings of an image processor of transformers, which prepares pictures for a vision encoder, to the
JSON of a program's method `get_image_processor`, which `MultimodalRunner` reads:

    height, width      the size of the encoder's input
    resample           1, 2 or 3: Lanczos, bilinear or bicubic filter, as Pillow numbers them
    shortest_edge      scale until the shorter side has this length, then cut the middle out; otherwise both sides are
                       scaled to height and width
    longest_edge       scale until the longer side has this length, then cut into tiles of height and width
    patch, merge       cut into patches with sides of `patch` pixels, in units of `merge` by `merge` patches
    least_pixels, most_pixels
                       with patches, in place of height and width: both sides are scaled to multiples of a unit's
                       side, so that the number of pixels is within these bounds
    place              the text that stands for a picture in a conversation
    token              the text of the token that stands for a position of a picture
    before, after      texts around a picture, or around the last tile, which is the whole picture
    tile, row_end      the text before a tile, with {row} and {column}, and the one after a row of tiles
    after_tiles        the text between the tiles and `before`
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sdk.exir._serialize._regular_file import JSONFileError, read_json
from sdk.extension.llm.export.checkpoint import CheckpointError

_RESAMPLE = {1: "Lanczos", 2: "bilinear", 3: "bicubic"}
_DEFAULT_RESAMPLE = {
    "CLIPImageProcessor": 3,
    "ConvNextImageProcessor": 3,
    "Gemma3ImageProcessor": 2,
    "Idefics3ImageProcessor": 1,
    "LlavaImageProcessor": 3,
    "Qwen2VLImageProcessor": 3,
    "SiglipImageProcessor": 3,
    "SmolVLMImageProcessor": 1,
    "ViTImageProcessor": 2,
}
"""The filter of a processor whose file does not name one, by its class in transformers."""


def image_settings(folder: Path) -> dict[str, Any]:
    """Returns the settings of the image processor; {} if the folder has none. Raises CheckpointError for a file that is
    not JSON."""
    for name in ("preprocessor_config.json", "processor_config.json"):
        if not (folder / name).is_file():
            continue
        found = _json(folder / name)
        if "image_mean" in found or "image_processor" in found:
            inner = found.get("image_processor")
            return inner if isinstance(inner, dict) else found
    return {}


def picture_steps(settings: dict[str, Any], size: int, tiles: bool) -> dict[str, Any]:
    """Returns the steps that convert a picture of any size to pictures of `size` by `size`; {} if the settings do not
    scale pictures.

    `tiles`: whether the model cuts pictures into tiles. Raises CheckpointError for settings that this version does not
    have, and for those that lead to another size.
    """
    if not settings.get("do_resize", True) or not isinstance(settings.get("size"), dict):
        return {}
    if settings.get("do_pan_and_scan"):
        raise CheckpointError("do_pan_and_scan of the image processor: expected false, found true")
    resample = _resample(settings)
    steps = {"height": size, "width": size, "resample": resample}
    if tiles:
        return steps | _tiles(settings, size)
    given = settings["size"]
    if "shortest_edge" in given:
        crop = settings.get("crop_size") if settings.get("do_center_crop", True) else None
        _expect(crop, {"height": size, "width": size}, "crop_size")
        return steps | {"shortest_edge": _length(given, "shortest_edge")}
    _expect(given, {"height": size, "width": size}, "size")
    if settings.get("do_center_crop") and settings.get("crop_size") != given:
        _expect(settings.get("crop_size"), given, "crop_size")
    return steps


_MOST_PIXELS = 4096 * 4096
"""The largest picture that a runner scales to."""


def patch_steps(settings: dict[str, Any], vision: Any, most_positions: int) -> dict[str, Any]:
    """Returns the steps that convert a picture to patches for a model with this `vision_config`.

    `most_positions`: bounds `most_pixels`, because a larger picture does not fit. Raises CheckpointError for settings
    that do not belong to the model, or that do not scale pictures.
    """
    if not settings or not settings.get("do_resize", True):
        raise CheckpointError(
            "the image processor: expected a preprocessor_config.json with do_resize, as the vision encoder takes only "
            f"sides of certain lengths; found {'do_resize=false' if settings else 'none'}"
        )
    lengths = {"patch_size": "patch_size", "merge_size": "spatial_merge_size", "temporal_patch_size": None}
    for name, of_model in lengths.items():
        expected = getattr(vision, of_model or name)
        if settings.get(name, expected) != expected:
            raise CheckpointError(
                f"{name} of the image processor: expected {expected}, as in the vision_config, found {settings[name]!r}"
            )
    size = settings.get("size") or {}
    unit = (vision.patch_size * vision.spatial_merge_size) ** 2
    least = _pixels(settings, "min_pixels", size, "shortest_edge", 56 * 56)
    most = _pixels(settings, "max_pixels", size, "longest_edge", 28 * 28 * 1280)
    most = min(most, unit * most_positions, _MOST_PIXELS)
    if not unit <= most or least > most:
        raise CheckpointError(
            f"size of the image processor: the smallest picture has {least} pixels, and a unit of patches {unit}; "
            f"expected at most {most}, with which a picture fits into the context"
        )
    found = {"patch": vision.patch_size, "merge": vision.spatial_merge_size, "resample": _resample(settings)}
    return found | {"least_pixels": least, "most_pixels": most}


def _pixels(settings: dict[str, Any], name: str, size: dict[str, Any], edge: str, otherwise: int) -> int:
    """A number of pixels: the setting `name`, which is older, else the entry `edge` of "size", else `otherwise`."""
    found = settings.get(name)
    if found is None:
        found = size.get(edge, otherwise) if isinstance(size, dict) else size
    if type(found) is not int or found < 1:
        raise CheckpointError(f"{name} of the image processor: expected a whole number, found {found!r}")
    return found


def _resample(settings: dict[str, Any]) -> int:
    names = ", ".join(f"{number} ({name})" for number, name in _RESAMPLE.items())
    if "resample" in settings:
        found = settings["resample"]
        if type(found) is not int or found not in _RESAMPLE:
            raise CheckpointError(f"resample of the image processor: expected one of {names}, found {found!r}")
        return found
    kind = settings.get("image_processor_type", settings.get("feature_extractor_type"))
    name = re.sub("(Fast|Pil)$", "", kind) if isinstance(kind, str) else ""
    name = re.sub("FeatureExtractor$", "ImageProcessor", name)
    if name not in _DEFAULT_RESAMPLE:
        raise CheckpointError(
            f"resample of the image processor: expected one of {names}, or an image_processor_type whose filter is "
            f"known ({', '.join(_DEFAULT_RESAMPLE)}); found neither: image_processor_type is {kind!r}"
        )
    return _DEFAULT_RESAMPLE[name]


def _tiles(settings: dict[str, Any], size: int) -> dict[str, Any]:
    _expect(settings.get("max_image_size"), {"longest_edge": size}, "max_image_size")
    if not settings.get("do_image_splitting", True):
        return {}
    longest = _length(settings["size"], "longest_edge")
    if longest > 4096:
        raise CheckpointError(f"size of the image processor: expected a longest_edge of at most 4096, found {longest}")
    return {"longest_edge": longest}


def _expect(found: Any, expected: dict[str, int], name: str) -> None:
    if found != expected:
        raise CheckpointError(
            f"{name} of the image processor: expected {expected}, as the vision encoder takes pictures of that size, "
            f"found {found!r}"
        )


def _length(given: dict[str, Any], name: str) -> int:
    found = given.get(name)
    if type(found) is not int or found < 1:
        raise CheckpointError(f"size of the image processor: expected a whole number as {name}, found {found!r}")
    return found


def token_text(folder: Path, id: int, otherwise: str) -> str:
    """Returns the text of a token that the folder's tokenizer adds, or `otherwise` if the folder has no such
    tokenizer."""
    if not (folder / "tokenizer.json").is_file():
        return otherwise
    added = _json(folder / "tokenizer.json").get("added_tokens")
    entries = [entry for entry in added if isinstance(entry, dict)] if isinstance(added, list) else []
    return next((str(entry.get("content")) for entry in entries if entry.get("id") == id), otherwise)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path)
    except JSONFileError as error:
        raise CheckpointError(str(error)) from None
    return found if isinstance(found, dict) else {}
