# SPDX-License-Identifier: BSD-3-Clause
"""Converts images to arrays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sdk.command import CommandError, describe
from sdk.command.programs import Slot

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")


@dataclass(frozen=True)
class PictureOptions:
    """Options for converting an image to an input.

    Attributes:
        resize: `crop` scales the picture until it covers the input and cuts out the middle, `stretch` changes the ratio
            of its sides, `pad` adds black bars.
        resize_to: For `crop`, the length of the shorter side before the middle is cut out; None for the input's length.
        mean, std: One for each channel or one for all: `(value / 255 - mean) / std`.
        bgr: Whether channels are in the order blue, green, red.
    """

    resize: str = "crop"
    resize_to: int | None = None
    mean: Sequence[float] = (0.0,)
    std: Sequence[float] = (1.0,)
    bgr: bool = False


def as_input(path: Path, slot: Slot, options: PictureOptions) -> Any:
    """An image as an input of a method: `[1, C, H, W]`, `[1, H, W, C]`, either without the 1, or `[H, W]`. C is 1 or 3.

    Floats are normalised; integers remain 0 to 255. Raises CommandError.
    """
    channels, height, width, first = _layout(slot)
    pixels = np.asarray(_open(path, channels, height, width, options), np.float32)
    pixels = pixels.reshape(height, width, channels)
    if options.bgr:
        pixels = pixels[:, :, ::-1]
    if slot.dtype.startswith("float"):
        mean, std = (np.asarray(values, np.float32) for values in (options.mean, options.std))
        for name, values in (("--mean", mean), ("--std", std)):
            if values.size not in (1, channels):
                raise CommandError(f"{name}: expected 1 or {channels} numbers for {slot}, found {values.size}")
        if (std == 0).any():
            raise CommandError("--std: expected numbers that are not 0")
        pixels = (pixels / np.float32(255) - mean) / std
    elif slot.dtype not in ("uint8", "int16", "int32", "int64"):
        raise CommandError(f"`{path}`: expected a method that takes floats or 0 to 255, found {slot}")
    if first:
        pixels = pixels.transpose(2, 0, 1)
    return np.ascontiguousarray(pixels.reshape(slot.shape).astype(slot.dtype))


def _layout(slot: Slot) -> tuple[int, int, int, bool]:
    """Channels, height, width, and whether channels come first."""
    shape = slot.shape[1:] if len(slot.shape) == 4 and slot.shape[0] == 1 else slot.shape
    if len(shape) == 3 and shape[0] in (1, 3):
        return shape[0], shape[1], shape[2], True
    if len(shape) == 3 and shape[2] in (1, 3):
        return shape[2], shape[0], shape[1], False
    if len(shape) == 2:
        return 1, shape[0], shape[1], True
    raise CommandError(
        f"expected an input for a picture, [1, 3, height, width] or [1, height, width, 3] (or 1 channel), found {slot}"
    )


def opened(path: Path, channels: int) -> Any:
    """The image of Pillow in its upright orientation, in colours or, for one channel, in grey. Raises CommandError."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise CommandError("pictures need Pillow: pip install 'pte-sdk[pictures]'") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as file:
                return ImageOps.exif_transpose(file).convert("RGB" if channels == 3 else "L")
    except Exception as error:  # Pillow's decoders raise various exceptions
        raise CommandError(f"`{path}` cannot be read as a picture: {describe(error)}") from error


def _open(path: Path, channels: int, height: int, width: int, options: PictureOptions) -> Any:
    """The image with the requested size and colours."""
    image = opened(path, channels)
    from PIL import Image, ImageOps

    if options.resize == "stretch":
        return image.resize((width, height), Image.Resampling.BILINEAR)
    if options.resize == "pad":
        return ImageOps.pad(image, (width, height), Image.Resampling.BILINEAR)
    if options.resize_to is None:
        return ImageOps.fit(image, (width, height), Image.Resampling.BILINEAR)
    scale = options.resize_to / min(image.size)
    if options.resize_to < max(width, height):
        raise CommandError(f"--resize-to: expected {max(width, height)} or more for this input")
    size = [max(round(side * scale), options.resize_to) for side in image.size]
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    return image.resize(size, Image.Resampling.BILINEAR).crop((left, top, left + width, top + height))
