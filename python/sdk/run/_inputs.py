# SPDX-License-Identifier: BSD-3-Clause
"""Converts `--input` to the values of a method."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sdk.command import CommandError, existing
from sdk.command.programs import Slot, from_raw
from sdk.export.cli.arrays import read_npy, read_npz, read_saved
from sdk.run import _pictures, _sound
from sdk.run._pictures import PictureOptions
from sdk.util.words import counted

_SHAPED = re.compile(r"(?P<path>.+):(?P<shape>\d+(?:x\d+)*)")
_NUMBER = r"[-+]?\.?\d[\d.eE+-]*"
_NUMBERS = re.compile(rf"[(\[]?{_NUMBER}([x, ]+{_NUMBER})*[)\]]?(:\w+)?|true|false", re.IGNORECASE)
"""Texts that are meant as a shape or as a number."""
_FILLS = ("zeros", "ones", "random")
_SPARE = 1 << 16
"""The largest size of a file's headers, in bytes, in addition to its array."""


@dataclass(frozen=True)
class InputOptions:
    """Options for converting files to inputs."""

    picture: PictureOptions = field(default_factory=PictureOptions)
    channel: str = "mix"
    sample_rate: int | None = None
    fit: bool = False
    cast: bool = False


def read_inputs(given: Sequence[str], slots: Sequence[Slot], options: InputOptions) -> list[Any]:
    """The values for a method's inputs, in order.

    Args:
        given: What `--input` named: files, which may hold several values, `zeros`, `ones`, `random`, or `=NUMBER`.
        slots: The inputs of the method.
        options: The options for converting files to inputs.

    Raises:
        CommandError: A file cannot be read, or the number of values differs from the number of inputs.
    """
    values: list[Any] = []
    for text in given:
        if len(values) >= len(slots):
            raise _count(slots, f"more ({text} is one too many)")
        values += _values(text, slots, len(values), options)
    if len(values) != len(slots):
        raise _count(slots, str(len(values)))
    return [_cast(value, slot, options.cast) for value, slot in zip(values, slots, strict=True)]


def filled(slot: Slot, fill: str, generator: np.random.Generator, shape: tuple[int, ...] | None = None) -> Any:
    """A value of a shape, the input's largest one by default: `zeros`, `ones`, or `random` (normally distributed; 0 and
    1 for integers). For an input that is a number, 1 (or True) whatever `fill` is."""
    if slot.tag != "Tensor":
        return {"Int": 1, "Double": 1.0, "Bool": True}.get(slot.tag)
    shape = slot.shape if shape is None else shape
    if fill != "random":
        data = np.full(shape, float(fill == "ones"), np.float32)
    elif "float" in slot.dtype:
        data = generator.standard_normal(shape, np.float32)
    else:
        data = generator.integers(0, 2, shape).astype(np.float32)
    if hasattr(np, slot.dtype) or slot.dtype == "bool":
        return data.astype(slot.dtype)
    import torch

    return torch.from_numpy(data).to(getattr(torch, slot.dtype))


def _count(slots: Sequence[Slot], found: str) -> CommandError:
    expected = f"{counted(len(slots), 'value')} ({', '.join(map(str, slots)) or 'no inputs'})"
    return CommandError(f"expected {expected}, found {found}: pass --input once for each")


def _values(text: str, slots: Sequence[Slot], at: int, options: InputOptions) -> list[Any]:
    slot = slots[at]
    if text.startswith("="):
        return [_number(text)]
    shape: tuple[int, ...] | None = None
    match = _SHAPED.fullmatch(text)
    if match and not _is_there(text):
        text, shape = match["path"], tuple(map(int, match["shape"].split("x")))
        _check_shape(text, slot, shape)
    if text in _FILLS and not _is_there(text):
        return [filled(slot, text, np.random.default_rng(at), shape)]
    if _NUMBERS.fullmatch(text) and not _is_there(text):
        raise CommandError(
            f"--input {text}: expected a file, zeros, ones or random (random:2x3 for a smaller shape), or =NUMBER"
        )
    path = existing(text)
    ending = path.suffix.lower()
    if shape is not None and ending in (".npz", ".pt", ".pth", ".npy", ".wav", *_pictures.ENDINGS):
        raise CommandError(f"`{path}` has its own shape: leave out `:{'x'.join(map(str, shape))}`")
    several: dict[str, Callable[[Path, Sequence[Slot]], list[Any]]] = {".npz": _npz, ".pt": _torch, ".pth": _torch}
    if ending in several:
        return several[ending](path, slots[at:])
    if slot.tag != "Tensor":
        raise CommandError(f"{slot} takes a number: pass --input =NUMBER, found the file `{path}`")
    if ending == ".npy":
        return [read_npy(path)]
    if ending in _pictures.ENDINGS:
        return [_pictures.as_input(path, slot, options.picture)]
    if ending == ".wav":
        return [_sound.as_input(path, slot, options.channel, options.sample_rate, options.fit)]
    return [_raw(path, slot, shape)]


def _is_there(text: str) -> bool:
    """Whether there is a file of this name."""
    try:
        return Path(text).exists()
    except OSError:  # the text is longer than names of files: a list of numbers, for example
        return False


def _number(text: str) -> int | float | bool:
    if text in ("=true", "=false"):
        return text == "=true"
    try:
        number = int(text[1:])
    except ValueError:
        pass
    else:
        if not -(1 << 63) <= number < 1 << 63:
            raise CommandError(
                f"--input {text}: expected an integer that fits into 64 bits, or a float (={text[1:]}.0)"
            )
        return number
    try:
        return float(text[1:])
    except ValueError:
        raise CommandError(f"--input {text}: expected a number, true or false after `=`") from None


def _npz(path: Path, slots: Sequence[Slot]) -> list[Any]:
    return list(read_npz(path, 8 * max((slot.nbytes for slot in slots), default=0) + _SPARE).values())


def _torch(path: Path, slots: Sequence[Slot]) -> list[Any]:
    value = read_saved(path)
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
    flat: list[Any] = []
    for item in items:
        flat += item if isinstance(item, (list, tuple)) else [item]
    return flat


def _raw(path: Path, slot: Slot, shape: tuple[int, ...] | None) -> Any:
    order = slot.dim_order
    if path.stat().st_size > slot.nbytes:
        raise CommandError(f"`{path}`: expected at most {slot.nbytes} bytes for {slot}, found {path.stat().st_size}")
    return from_raw(path.read_bytes(), slot.dtype, shape or slot.shape, order, f"`{path}`")


def _check_shape(what: str, slot: Slot, shape: tuple[int, ...]) -> None:
    """Raises CommandError for a shape larger than the method's, before memory is allocated."""
    if len(shape) != len(slot.shape) or any(map(int.__gt__, shape, slot.shape)):
        raise CommandError(f"`{what}`: expected a shape of at most {list(slot.shape)} for {slot}, found {list(shape)}")


def _cast(value: Any, slot: Slot, cast: bool) -> Any:
    """Checks the dtype, so that the message can say what to do, or converts it. The runtime checks everything else."""
    found = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if slot.tag != "Tensor" or not found or found == slot.dtype:
        return value
    if not _is_real(value.dtype):
        raise CommandError(f"expected {slot.dtype} for {slot}, found {found}, which cannot be converted to it")
    if not cast:
        raise CommandError(f"expected {slot.dtype} for {slot}, found {found}: pass --cast to convert it")
    if hasattr(value, "detach"):
        import torch

        return value.to(getattr(torch, slot.dtype))
    if not hasattr(np, slot.dtype):
        import torch

        return torch.from_numpy(value).to(getattr(torch, slot.dtype))
    return value.astype(slot.dtype)


def _is_real(dtype: Any) -> bool:
    """Whether values of a dtype of NumPy or torch are real numbers or booleans."""
    return dtype.kind in "biuf" if isinstance(dtype, np.dtype) else not dtype.is_complex
