# SPDX-License-Identifier: BSD-3-Clause
"""The syntax of `--input SHAPE:DTYPE` and `--dynamic NAME.DIM=MIN..MAX`.

If a model has several methods, both may begin with the name of a method and a colon.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from dataclasses import dataclass
from difflib import get_close_matches

DTYPES = {
    "bool": "bool",
    "uint8": "uint8",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
    # Short names, as in torch and numpy.
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "long": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "u8": "uint8",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
}
"""Spelling of a dtype -> its name in torch."""

_RANGES = {
    "bool": (0, 1),
    "uint8": (0, 255),
    **{f"int{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
}
_LARGEST_FLOATS = {"float16": 65504.0, "bfloat16": 0xFF * 2.0**120, "float32": 0xFFFFFF * 2.0**104}
_LARGEST_SIZE = (1 << 31) - 2
"""Sizes in programs are int32, whose largest value means that a size has no bound."""


@dataclass(frozen=True)
class DynamicDim:
    """`--dynamic NAME.DIM=MIN..MAX`: dimension `dim` of the input at `path` may have every size from `low` to
    `high`."""

    path: str
    dim: int
    low: int
    high: int
    method: str | None = None

    def __str__(self) -> str:
        method = f"{self.method}:" if self.method else ""
        return f"{method}{self.path}.{self.dim}={self.low}..{self.high}"


@dataclass(frozen=True)
class InputSpec:
    """`--input`: a tensor of `shape` and `dtype`, or (both None) a Python number."""

    text: str
    shape: tuple[int, ...] | None
    dtype: str | None
    low: float | None  # the value, or the lower end of a range; an int of whole dtypes
    high: float | None  # the upper end of a range, inclusive
    number: int | float | bool | None = None
    method: str | None = None


def input_spec(text: str) -> InputSpec:
    """Parses `SHAPE:DTYPE`, `SHAPE:DTYPE=VALUE`, `SHAPE:DTYPE=MIN..MAX` or `=NUMBER`, each optionally after
    `METHOD:`."""
    method, rest = _method(text)
    what, equals, fill = rest.partition("=")
    if equals and not what:
        number = _number(fill)
        if isinstance(number, int):
            _check_range(number, text, "int64")
        return InputSpec(text, None, None, None, None, number=number, method=method)
    shape_text, colon, dtype_text = what.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(
            f"`{text}` is not SHAPE:DTYPE. Write the sizes joined by x, a colon and the dtype, for example "
            f"{_like(text)}."
        )
    dtype = DTYPES.get(dtype_text.removeprefix("torch."))
    if dtype is None:
        names = ", ".join(sorted(set(DTYPES.values())))
        raise argparse.ArgumentTypeError(
            f"`{dtype_text}` in `{text}` is not a dtype; the dtypes are {names}. Write for example {_like(text)}."
        )
    low, high = _fill(fill, text, dtype) if equals else (None, None)
    return InputSpec(text, _shape(shape_text, text), dtype, low, high, method=method)


def dynamic_dim(text: str) -> DynamicDim:
    """Parses `NAME.DIM=MIN..MAX`, optionally after `METHOD:`."""
    method, rest = _method(text)
    match = re.fullmatch(r"(?P<path>[^=]+)\.(?P<dim>-?\d+)=(?P<low>\d+)\.\.(?P<high>\d+)", rest)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"`{text}` is not NAME.DIM=MIN..MAX. Name a parameter of forward(), one of its dimensions and the sizes "
            f"it takes, for example {_dynamic_like(text)}."
        )
    low, high = int(match["low"]), int(match["high"])
    if low >= high:
        raise argparse.ArgumentTypeError(
            f"`{text}`: the smallest size {low} is not below the largest {high}. A dimension of one size is not "
            f"dynamic: leave it out."
        )
    if high > _LARGEST_SIZE:
        raise argparse.ArgumentTypeError(f"`{text}`: the largest size of a dimension is {_LARGEST_SIZE}, found {high}.")
    return DynamicDim(match["path"], int(match["dim"]), low, high, method)


def _method(text: str) -> tuple[str | None, str]:
    """`encode:1x8:float32` -> ("encode", "1x8:float32"). A shape is never mistaken for a name: it begins with a digit
    or is `scalar`."""
    match = re.match(r"(?P<name>[A-Za-z_]\w*):", text)
    if match is None or match["name"] == "scalar":
        return None, text
    return match["name"], text[match.end() :]


def _like(text: str) -> str:
    """A suggestion in the syntax of `--input` for `1,8`, `(1, 8), int64`, `float32:1x8`, `2x8:floaty=1` and the
    like. `input_spec` accepts the suggestion."""
    for method, rest in (_method(text), (None, text)):
        what, equals, fill = rest.partition("=")
        lower = what.lower()
        dtype = _nearest_dtype(re.findall(r"[a-wyz]+\d*", lower))
        # Digits are sizes, unless they are part of a name such as `int8`.
        parts = [re.findall(r"\d+", re.sub(r"[a-wyz]+\d*", " ", part)) for part in lower.split(":")]
        shape = "x".join(next(filter(None, parts), ())) or ("scalar" if "scalar" in lower.split(":") else "")
        if shape and method not in DTYPES:
            suggestion = f"{f'{method}:' if method else ''}{shape}:{dtype}"
            return f"{suggestion}={fill}" if equals and _is_fill(fill, text, dtype) else suggestion
    return "1x3x224x224:float32"


def _nearest_dtype(words: list[str]) -> str:
    """The dtype that one of the words names, exactly or nearly; float32 if none does."""
    named = [word for word in words if word in DTYPES]
    near = [match for word in words if word != "torch" for match in get_close_matches(word, DTYPES, n=1)]
    return DTYPES[(named or near or ["float32"])[0]]


def _is_fill(text: str, whole: str, dtype: str) -> bool:
    """Whether `text` can follow the `=` of an input of this dtype."""
    try:
        _fill(text, whole, dtype)
    except argparse.ArgumentTypeError:
        return False
    return not re.search(r"\s", text)


def _dynamic_like(text: str) -> str:
    """Suggests the correct form of a `--dynamic` argument: `x.0=1..8` for `x.0=1-8`, `x:0=1,8` or `x[0]=1..8`."""
    match = re.search(r"(?P<path>[A-Za-z_]\w*(?:\.\w+)*?)\W+(?P<dim>\d+)\W+(?P<low>\d+)\D+(?P<high>\d+)\W*$", text)
    if match is None or int(match["low"]) >= int(match["high"]):
        return "tokens.1=1..512"
    return f"{match['path']}.{match['dim']}={match['low']}..{match['high']}"


def _shape(text: str, whole: str) -> tuple[int, ...]:
    if text == "scalar":
        return ()
    if not re.fullmatch(r"\d+(x\d+)*", text):
        raise argparse.ArgumentTypeError(
            f"`{text}` in `{whole}` is not a shape. Join the sizes by x, for example {_like(whole)}, or write `scalar` "
            f"for a tensor without dimensions."
        )
    return tuple(int(size) for size in text.split("x"))


def _fill(text: str, whole: str, dtype: str) -> tuple[float, float | None]:
    low_text, dots, high_text = text.partition("..")
    if not dots:
        return _value(text, whole, dtype), None
    low, high = _value(low_text, whole, dtype), _value(high_text, whole, dtype)
    if not math.isfinite(high - low):
        raise argparse.ArgumentTypeError(f"`{whole}`: a range has two finite ends, found {text}.")
    if high < low:
        raise argparse.ArgumentTypeError(f"`{whole}`: the range ends at {high_text}, below its start {low_text}.")
    return low, high


def _value(text: str, whole: str, dtype: str) -> float:
    """A value of the dtype; whole numbers stay exact."""
    number = _number(text)
    if dtype not in _RANGES:
        largest = _LARGEST_FLOATS.get(dtype, sys.float_info.max)
        if "inf" not in text.lower() and abs(number) > largest:  # 1e400 is read as infinity
            raise argparse.ArgumentTypeError(f"`{whole}`: the largest {dtype} is {largest:g}, found {text}.")
        return float(number)
    if number % 1:  # true of infinity and NaN, too
        raise argparse.ArgumentTypeError(f"`{whole}`: {text} is not a whole number, which {dtype} needs.")
    _check_range(number, whole, dtype)
    return int(number)


def _check_range(number: float, whole: str, dtype: str) -> None:
    low, high = _RANGES[dtype]
    if not low <= number <= high:
        raise argparse.ArgumentTypeError(f"`{whole}`: {dtype} has the numbers from {low} to {high}, found {number}.")


def _number(text: str) -> int | float | bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise argparse.ArgumentTypeError(f"`{text}` is not a number; write for example =3, =0.5 or =true.")
