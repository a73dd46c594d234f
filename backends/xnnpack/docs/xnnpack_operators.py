# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/generated/xnnpack-operators.md from the partitioner's config of each operator. Reasons are the texts
that their methods return; a value in a text is shown as `…`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torchao.quantization.pt2e
import torchao.quantization.quant_primitives  # noqa: F401  (registers torchao's operators)

from sdk.backends.xnnpack.operators import operator as base
from sdk.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS, ConfigPrecisionType, XNNPartitionerConfig

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "generated" / "xnnpack-operators.md"

HELPERS = (
    "refusal_of_line",
    "refusal_of_two_scales",
    "refusal_of_scale",
)  # functions, not methods, that return reasons of a config
OWN_FORMAT = "this SDK's"
SOMETIMES = "both"

HEAD = """# Operators of the XNNPACK backend

`scripts/pages` writes this page from the configs of `XnnpackPartitioner`
(`sdk.backends.xnnpack.partition.config.ALL_PARTITIONER_CONFIGS`), and a test compares the two. How to use the backend
is in [XNNPACK](../backends-xnnpack.md).

- **dtypes** of the tensors that an operator reads and writes; `int64` is the dtype of indices. A call does not mix
  float32 and float16 unless it converts.
- **int8**: computed on integers between `dequantize_per_tensor` and `quantize_per_tensor`. *moves* are operators that
  need no arithmetic for that. Where the column says no, the delegate converts to floats and back.
- **dynamic**: layers whose weights are quantised, and whose input is quantised when the model runs.
- **format** of the payload: the original's, which its runtime also takes; {own}, where the call is a step between
  XNNPACK's nodes, and which `compat="1.4"` leaves outside; or both, depending on the call.
- **stays outside if**: the reasons of the partitioner, as they stand in the summary of an export.

All operators stay outside if a tensor that they read or write is one of these:

{general}

| operator | dtypes | constants | int8 | dynamic | format | stays outside if |
|---|---|---|---|---|---|---|
"""


def page() -> str:
    rows = sorted(row(cls, name) for cls in ALL_PARTITIONER_CONFIGS for name in cls.target_names)
    general = "\n".join(f"- {text}" for text in reasons_of(base.refusal_of_tensor, XNNPartitionerConfig))
    tail = [
        "",
        "Layers with quantised weights (**int8**, **dynamic**) have these reasons besides their own:",
        "",
        *(f"- {text}" for text in weight_reasons()),
        "",
    ]
    return HEAD.format(own=OWN_FORMAT, general=general) + "\n".join([*rows, *tail])


def row(cls: type[XNNPartitionerConfig], name: str) -> str:
    reasons = list(dict.fromkeys(reasons_of(method(cls, "refusal"), cls)))
    if cls.refusal is XNNPartitionerConfig.refusal:
        reasons = list(dict.fromkeys(reasons_of(method(cls, "refusal_of_call"), cls)))
    cells = [f"`{name}`", dtypes(cls), constants(cls, name), integers(cls), dynamic(cls), payload(cls)]
    return "| " + " | ".join([*cells, "; ".join(reasons).replace("|", "\\|") or "–"]) + " |"


def dtypes(cls: type[XNNPartitionerConfig]) -> str:
    found = ["float32", "float16"] if cls.takes_half else ["float32"]
    if cls.supported_precision_types != tuple(ConfigPrecisionType):
        return ", ".join([*found, "int8"])
    found += ["bool"] if cls.takes_truth else []
    found += ["int64"] if cls.takes_integers or cls.integers else []
    return ", ".join(found)


def constants(cls: type[XNNPartitionerConfig], name: str) -> str:
    """The arguments that have to be known when the model is lowered, by their names in the schema."""
    if not cls.weights:
        return "–"
    namespace, packet, overload = name.split(".")
    schema = getattr(getattr(getattr(torch.ops, namespace), packet), overload)._schema
    return ", ".join(schema.arguments[position].name for position in cls.weights)


def integers(cls: type[XNNPartitionerConfig]) -> str:
    if cls.supported_precision_types != tuple(ConfigPrecisionType):
        return "converts"
    if cls.refusal_in_integers is not XNNPartitionerConfig.refusal_in_integers:
        reasons = dict.fromkeys(reasons_of(cls.refusal_in_integers, cls))
        own = dict.fromkeys(reasons_of(method(cls, "refusal_of_call"), cls))
        left = [reason for reason in reasons if reason not in own]
        return f"yes, unless {'; '.join(left)}" if left else "yes"
    return "moves" if cls.keeps_scale else "no"


def dynamic(cls: type[XNNPartitionerConfig]) -> str:
    if cls.refusal_when_dynamic is XNNPartitionerConfig.refusal_when_dynamic:
        return "–"
    reasons = dict.fromkeys(reasons_of(cls.refusal_when_dynamic, cls))
    return f"yes, unless {'; '.join(reasons)}" if reasons else "yes"


def payload(cls: type[XNNPartitionerConfig]) -> str:
    """The column **format**, from the expressions that `needs_step` returns."""
    found = {ast.unparse(node.value) for node in returns(cls.needs_step) if node.value is not None}
    if found == {"True"}:
        return OWN_FORMAT
    if found == {"False"}:
        return "the original's"
    takes_others = cls.takes_truth or cls.takes_integers or cls.integers
    if cls.needs_step is XNNPartitionerConfig.needs_step and not takes_others:
        return "the original's"
    return SOMETIMES


def weight_reasons() -> list[str]:
    from sdk.backends.xnnpack import weights

    texts = [
        *reasons_of(weights.find_weight, XNNPartitionerConfig),
        *reasons_of(weights._checked, XNNPartitionerConfig),
    ]
    return list(dict.fromkeys(texts))


def method(cls: type[XNNPartitionerConfig], name: str) -> Callable[..., object]:
    return getattr(cls, name)


def returns(function: Callable[..., object]) -> Iterator[ast.Return]:
    source = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return iter(sorted((node for node in ast.walk(source) if isinstance(node, ast.Return)), key=lambda n: n.lineno))


def reasons_of(function: Callable[..., object], cls: type[XNNPartitionerConfig]) -> Iterator[str]:
    """Yields the texts that a function returns, and those of the methods of `cls` and its bases whose results it
    returns."""
    for node in returns(function):
        if node.value is not None:
            yield from _texts(node.value, function, cls)
    for call in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if not isinstance(call, ast.Call):
            continue
        called: Callable[..., object] | None = None
        if isinstance(call.func, ast.Attribute):
            called = _method_called(call.func, function, cls)
        elif isinstance(call.func, ast.Name) and call.func.id in HELPERS:
            called = function.__globals__[call.func.id]
        if called is not None:
            yield from reasons_of(called, cls)


def _texts(value: ast.expr, function: Callable[..., object], cls: type[XNNPartitionerConfig]) -> Iterator[str]:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.Name) and value.id.isupper():
        yield inspect.unwrap(function).__globals__[value.id]
    elif isinstance(value, ast.JoinedStr):
        parts = (p.value if isinstance(p, ast.Constant) else _known(p, function) for p in value.values)
        yield "".join(map(str, parts))
    elif isinstance(value, ast.IfExp):
        yield from _texts(value.body, function, cls)
        yield from _texts(value.orelse, function, cls)
    elif isinstance(value, ast.BoolOp):
        for operand in value.values:
            yield from _texts(operand, function, cls)


def _known(part: ast.expr, function: Callable[..., object]) -> str:
    """Returns a constant of the function's module unchanged, and `…` for everything else."""
    if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name) and part.value.id.isupper():
        return str(inspect.unwrap(function).__globals__[part.value.id])
    return "…"


def _method_called(
    func: ast.Attribute, function: Callable[..., object], cls: type[XNNPartitionerConfig]
) -> Callable[..., object] | None:
    """Returns the method that `self.refusal…`, `super().refusal…` or `SomeConfig.refusal…` calls."""
    if not func.attr.startswith("refusal"):
        return None
    of = ast.unparse(func.value)
    if of == "self":
        return getattr(cls, func.attr)
    if of == "super()":
        defined = next(c for c in cls.__mro__ if vars(c).get(function.__name__) is function)
        later = cls.__mro__[cls.__mro__.index(defined) + 1 :]
        return next(vars(c)[func.attr] for c in later if func.attr in vars(c))
    return getattr(function.__globals__[of], func.attr)
