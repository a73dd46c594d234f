# SPDX-License-Identifier: BSD-3-Clause
"""The text of eager_cases.txt: calls of operators with the results that PyTorch eager gives (described at the top of
eager_call.h), and what cases are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
REALS = (*FLOATS, *INTEGERS)
ALL = (*REALS, torch.bool)
NAN, INF = float("nan"), float("inf")


class Fails:
    """Marks a call that must be refused; ``like`` is the output tensor that it gets."""

    def __init__(self, *like: torch.Tensor) -> None:
        self.like = like


def tensor(*shape: int, dtype: torch.dtype = torch.float32, low: float = -4, high: float = 4) -> torch.Tensor:
    """Reproducible values in [low, high], rounded to what the text holds exactly."""
    values = torch.rand(shape) * (high - low) + low
    if dtype == torch.bool:
        return values > (low + high) / 2
    if dtype == torch.uint8:
        return values.abs().to(dtype)
    return (values * 64).round().div(64).to(dtype)


def of(*values: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def channels_last(*shape: int, **options: Any) -> torch.Tensor:
    return tensor(*shape, **options).to(memory_format=torch.channels_last)


def find_operators(name: str) -> tuple[Any, Any]:
    """The out variant and the functional operator (or the in-place one, twice) of a name such as ``add.out``."""
    packet_name, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, packet_name)
    out = getattr(packet, overload or "default")
    if packet_name.endswith("_"):
        return out, out
    signature = [(a.name, str(a.type)) for a in out._schema.arguments if not a.is_out]
    for candidate in packet.overloads():
        schema = getattr(packet, candidate)._schema
        inputs = [(a.name, str(a.type)) for a in schema.arguments if not a.is_out]
        factory = [a for a in inputs if a[0] not in ("dtype", "layout", "device", "pin_memory")]
        writes = any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
        if not writes and (inputs == signature or factory == signature):
            return out, getattr(packet, candidate)
    raise LookupError(f"{name} has no functional variant")


def encode_number(value: Any, dtype: torch.dtype | None = None) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return repr(value) if isinstance(value, int) else f"{value:.9g}" if dtype != torch.float64 else repr(value)


def encode(value: Any, kind: str) -> list[str]:
    """The lines of one argument; ``kind`` is the type in the schema."""
    if value is None:
        return ["none"]
    if isinstance(value, torch.Tensor):
        sizes = ",".join(map(str, value.shape)) or "-"
        order = ",".join(map(str, value.dim_order())) or "-"
        numbers = " ".join(encode_number(v, value.dtype) for v in value.flatten().tolist())
        return [f"tensor {str(value.dtype)[6:]} {sizes} {order} {numbers}".rstrip()]
    if isinstance(value, (list, tuple)) and "Tensor" in kind:
        lines = [line for item in value for line in encode(item, "Tensor")]
        return [f"{'optional_' if 'Optional' in kind else ''}tensors {len(value)}", *lines]
    if isinstance(value, (list, tuple)) and "float" in kind:
        return ["floats " + " ".join(repr(float(item)) for item in value)]
    if isinstance(value, (list, tuple)):
        return ["ints " + " ".join(map(str, value))]
    if isinstance(value, str):
        return [f"str {value}"]
    if isinstance(value, torch.dtype):
        return [f"int {DTYPE_CODES[value]}"]
    if isinstance(value, bool):
        return [f"bool {int(value)}"]
    return [f"int {value}"] if isinstance(value, int) and kind != "float" else [f"float {float(value)!r}"]


DTYPE_CODES = {
    dtype: code
    for code, dtype in enumerate((torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16))
} | {torch.float32: 6, torch.float64: 7, torch.bool: 11, torch.bfloat16: 15}


def encode_case(name: str, *given: Any) -> list[str]:
    arguments = list(given)
    fails = arguments.pop() if isinstance(arguments[-1], Fails) else None
    named = dict(arguments.pop()) if arguments and isinstance(arguments[-1], dict) else {}
    out_dtype = named.pop("out_dtype", None)
    tolerance = named.pop("tolerance", None)
    out, functional = find_operators(name)
    values: dict[str, Any] = {}
    for argument in out._schema.arguments:
        if argument.is_out:
            continue
        if arguments:
            values[argument.name] = arguments.pop(0)
        elif argument.name in named:
            values[argument.name] = named.pop(argument.name)
        elif argument.has_default_value():
            values[argument.name] = argument.default_value
        else:
            values[argument.name] = None
    assert not arguments and not named, f"{name}: too many arguments {arguments} {named}"
    kinds = {a.name: str(a.type) for a in out._schema.arguments}
    inputs = [line for key, value in values.items() for line in encode(value, kinds[key])]

    in_place = name.partition(".")[0].endswith("_")
    marks = (" fails" if fails else "") + (f" tolerance {tolerance}" if tolerance else "")
    lines = [f"case aten::{name}{marks}", *inputs]
    if fails:
        expected = list(fails.like)
    else:
        called = {k: v.clone() if isinstance(v, torch.Tensor) and in_place else v for k, v in values.items()}
        called |= {"dtype": out_dtype} if out_dtype is not None else {}
        result = functional(**called)
        expected = [] if in_place else list(result) if isinstance(result, (list, tuple)) else [result]
        if in_place:
            lines += ["self", *encode(result, "Tensor")]
    returns_list = "Tensor[]" in str(out._schema.arguments[-1].type) or "List[Tensor]" in str(
        out._schema.arguments[-1].type
    )
    if returns_list:
        lines.append(f"out_list {len(expected)}")
    elif expected:
        lines.append("out")
    lines += [line for item in expected for line in encode(item, "Tensor")]
    return lines


def write_cases(output: Path, generator: str, sections: Iterable[Callable[[], Iterator[tuple[Any, ...]]]]) -> None:
    """Writes the cases of the sections, sorted by operator."""
    torch.manual_seed(0)
    cases = [encode_case(*case) for section in sections for case in section()]
    cases.sort(key=lambda lines: re.split(r"[ ]", lines[0])[1])
    header = f"# Generated by {generator} from PyTorch {torch.__version__.partition('+')[0]}; do not edit."
    output.write_text("\n".join([header, *(line for lines in cases for line in lines)]) + "\n", encoding="utf-8")
    print(f"{len(cases)} cases, {output.stat().st_size} bytes")
