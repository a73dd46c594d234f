# SPDX-License-Identifier: BSD-3-Clause
"""Converts WAV files to arrays."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sdk.command import CommandError
from sdk.command.programs import Slot
from sdk.exir._serialize._regular_file import read_file

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE


@dataclass
class Sound:
    """Samples from -1 to 1, `[frames, channels]`, and the sample rate in frames per second."""

    samples: Any
    rate: int


def read_wav(path: Path) -> Sound:
    """Reads a RIFF WAVE file with PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64 bits.

    PCM is divided by the magnitude of its most negative value, so that -32768 in 16 bits becomes -1. Raises
    CommandError, and OSError where the file cannot be read.
    """
    data = read_file(path)
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise CommandError(f"`{path}`: expected a WAV file (RIFF, WAVE), found one that begins with {data[:12]!r}")
    chunks: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        if at + 8 + size > len(data):
            raise CommandError(
                f"`{path}`: expected {size} bytes in its part {name!r}, found {len(data) - at - 8}: the file is cut off"
            )
        chunks.setdefault(name, data[at + 8 : at + 8 + size])
        at += 8 + size + size % 2
    header, content = chunks.get(b"fmt ", b""), chunks.get(b"data")
    if len(header) < 16 or content is None:
        raise CommandError(f"`{path}`: expected the parts `fmt ` and `data` of a WAV file: the file is damaged")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", header)
    if kind == _EXTENSIBLE and len(header) >= 26:
        (kind,) = struct.unpack_from("<H", header, 24)
    if (kind, bits) not in [(_PCM, 8), (_PCM, 16), (_PCM, 24), (_PCM, 32), (_FLOAT, 32), (_FLOAT, 64)] or not channels:
        raise CommandError(
            f"`{path}`: expected PCM of 8, 16, 24 or 32 bits or floats of 32 or 64, found the format {kind} with "
            f"{bits} bits and {channels} channels: convert it, for example with `ffmpeg -i IN -c:a pcm_s16le OUT.wav`"
        )
    frame = channels * bits // 8
    content = content[: len(content) // frame * frame]
    return Sound(_samples(content, kind, bits).reshape(-1, channels), rate)


def _samples(content: bytes, kind: int, bits: int) -> Any:
    if kind == _FLOAT:
        return np.frombuffer(content, f"<f{bits // 8}").astype(np.float32)
    if bits == 8:  # the only unsigned format
        return (np.frombuffer(content, np.uint8).astype(np.float32) - 128) / 128
    if bits == 24:
        parts = np.frombuffer(content, np.uint8).reshape(-1, 3)
        widened = np.zeros((len(parts), 4), np.uint8)
        widened[:, 1:] = parts  # in the upper bytes, which preserves the sign
        return (widened.view("<i4")[:, 0] / 2.0**31).astype(np.float32)
    return (np.frombuffer(content, f"<i{bits // 8}") / 2.0 ** (bits - 1)).astype(np.float32)


def as_input(path: Path, slot: Slot, channel: str, rate: int | None, fit: bool) -> Any:
    """A WAV file as an input of a method: `[N]`, `[1, N]` or `[channels, N]`, with further leading dimensions of size 1
    if the input has them.

    Args:
        path: The file.
        slot: The input; int16 takes samples from -32768 to 32767, floats take -1 to 1.
        channel: `mix` for the mean of all, `all`, or the number of one.
        rate: The sampling rate that the method expects; None takes any.
        fit: Truncate sound that is too long, and fill up sound that is too short with zeros.

    Raises:
        CommandError: The file cannot be read, or does not fit.
    """
    sound = read_wav(path)
    if rate is not None and sound.rate != rate:
        raise CommandError(
            f"`{path}`: expected {rate} samples a second, found {sound.rate}: convert it, for example with "
            f"`ffmpeg -i {path} -ar {rate} OUT.wav`"
        )
    if channel == "mix":
        samples = sound.samples.mean(axis=1, keepdims=True)
    elif channel == "all":
        samples = sound.samples
    elif int(channel) < sound.samples.shape[1]:
        samples = sound.samples[:, int(channel) : int(channel) + 1]
    else:
        raise CommandError(f"--channel {channel}: `{path}` has the channels 0 to {sound.samples.shape[1] - 1}")
    waves = samples.T
    length = slot.shape[-1] if slot.shape else 1
    if fit:
        waves = waves[:, :length]
        waves = np.pad(waves, ((0, 0), (0, length - waves.shape[1])))
    elif waves.shape[1] > length:
        raise CommandError(
            f"`{path}`: expected at most {length} samples for {slot}, found {waves.shape[1]}: pass --fit to cut it off"
        )
    shape = [1] * (len(slot.shape) - 2) + list(waves.shape) if len(slot.shape) >= 2 else [waves.size]
    if slot.dtype == "int16":
        waves = np.clip(np.rint(waves * 32768), -32768, 32767)
    elif not slot.dtype.startswith("float"):
        raise CommandError(f"`{path}`: expected a method that takes float or int16 samples, found {slot}")
    return waves.reshape(shape).astype(slot.dtype)
