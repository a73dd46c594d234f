# SPDX-License-Identifier: BSD-3-Clause
"""What the user may type, and what each part of it means. Imports no torch: `--help` must answer at once."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from sdk import __version__
from sdk.export.cli.backends import BACKENDS
from sdk.export.cli.errors import closest

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
    # The short spellings that torch and numpy users type.
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

_DESCRIPTION = """\
Turn a PyTorch model into a .pte program, run the program once, and compare it with PyTorch.
"""

_EPILOG = """\
the model
  file.py:name          a name in a Python file
  package.module:name   a name in an importable module
  program.pt2           a program saved by torch.export.save()

  The name is an nn.Module, a class of one that needs no arguments, or a function without
  arguments that returns one. The model is exported in eval mode.

its inputs, in this order of preference
  --input SPEC          once for every positional input of forward():
                          1x3x224x224:float32      random values (normal, seed 0)
                          1x128:int64=0..30521     random whole numbers from 0 to 30521
                          1x128:int64=1            every element 1 (unless told, 0 or 1)
                          scalar:float32=0.5       a tensor without dimensions
                          =3    =0.5    =true      a Python number, not a tensor
  --inputs FILE.pt      a file written by torch.save(): a tensor, a tuple or list of inputs,
                        or a dict of keyword inputs
  example_inputs()      a method of the model, or a function in its file, that returns such
                        a tuple or dict

examples
  Export, verify and write mobilenet_v2.pte:
    python -m sdk.export examples/mobilenet_v2/model.py:mobilenet_v2

  Say the input and the file:
    python -m sdk.export net.py:Net --input 1x3x32x32:float32 --output net.pte

  A batch from 1 to 16 and a sentence from 1 to 512 tokens:
    python -m sdk.export net.py:build --input 2x64:int64 \\
        --dynamic tokens.0=1..16 --dynamic tokens.1=1..512

  Weights in a file of their own, and a page that shows where the memory goes:
    python -m sdk.export net.py:Net --input 1x8:float32 --external-weights --report report.html

exit status
  0   the program is written, and verified unless you said --no-verify
  1   the export failed; nothing was written
  2   the arguments are wrong
"""


@dataclass(frozen=True)
class DynamicDim:
    """`--dynamic NAME.DIM=MIN..MAX`: dimension `dim` of the input at `path` takes every size from `low` to `high`."""

    path: str
    dim: int
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.path}.{self.dim}={self.low}..{self.high}"


@dataclass(frozen=True)
class InputSpec:
    """`--input`: a tensor of `shape` and `dtype`, or (both None) a Python number."""

    text: str
    shape: tuple[int, ...] | None
    dtype: str | None
    low: float | None  # the value, or the lower end of a range
    high: float | None  # the upper end of a range, inclusive
    number: int | float | bool | None = None


@dataclass(frozen=True)
class Options:
    """One call of the command."""

    model: str
    inputs: tuple[InputSpec, ...]
    inputs_file: Path | None
    dynamic: tuple[DynamicDim, ...]
    backends: tuple[str, ...]
    output: Path | None
    external_weights: bool
    verify: bool
    tolerance: float | None
    strict: bool
    report: Path | None
    verbose: bool


def parse(argv: Sequence[str], prog: str) -> Options:
    """Reads the command line; exits with status 2 and one line on stderr where it cannot be understood."""
    known = _parser(prog).parse_args(argv)
    return Options(
        model=known.model,
        inputs=tuple(known.input),
        inputs_file=known.inputs,
        dynamic=tuple(known.dynamic),
        backends=tuple(known.backend) or ("portable",),
        output=known.output,
        external_weights=known.external_weights,
        verify=known.verify,
        tolerance=known.tolerance,
        strict=known.strict,
        report=known.report,
        verbose=known.verbose,
    )


def input_spec(text: str) -> InputSpec:
    """Reads `SHAPE:DTYPE`, `SHAPE:DTYPE=VALUE`, `SHAPE:DTYPE=MIN..MAX` or `=NUMBER`."""
    what, equals, fill = text.partition("=")
    if equals and not what:
        return InputSpec(text, None, None, None, None, number=_number(fill))
    shape_text, colon, dtype_text = what.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(
            f"`{text}` is not SHAPE:DTYPE. Write the sizes joined by x, a colon and the dtype, for example "
            f"{shape_text or '1x3x224x224'}:float32."
        )
    dtype = DTYPES.get(dtype_text.removeprefix("torch."))
    if dtype is None:
        names = ", ".join(sorted(set(DTYPES.values())))
        raise argparse.ArgumentTypeError(
            f"`{dtype_text}` in `{text}` is not a dtype; the dtypes are {names}.{closest(dtype_text, DTYPES)}"
        )
    low, high = _fill(fill, text, dtype) if equals else (None, None)
    return InputSpec(text, _shape(shape_text, text), dtype, low, high)


def dynamic_dim(text: str) -> DynamicDim:
    """Reads `NAME.DIM=MIN..MAX`."""
    match = re.fullmatch(r"(?P<path>[^=]+)\.(?P<dim>-?\d+)=(?P<low>\d+)\.\.(?P<high>\d+)", text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"`{text}` is not NAME.DIM=MIN..MAX. Name a parameter of forward(), one of its dimensions and the sizes "
            f"it takes, "
            f"for example tokens.1=1..512."
        )
    low, high = int(match["low"]), int(match["high"])
    if low >= high:
        raise argparse.ArgumentTypeError(
            f"`{text}`: the smallest size {low} is not below the largest {high}. A dimension of one size is not "
            f"dynamic: leave it out."
        )
    return DynamicDim(match["path"], int(match["dim"]), low, high)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One paragraph; the usage of a dozen options would bury it."""
        self.exit(2, f"error: {message}\n({self.prog} --help describes every option.)\n")


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=prog,
        usage=f"{prog} MODEL [options]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=30, width=100),
        allow_abbrev=False,
    )
    parser.add_argument(
        "model", metavar="MODEL", help="what to export: file.py:name, package.module:name or program.pt2"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the .pte to write (default: the model's name, here)"
    )
    inputs = parser.add_argument_group("inputs")
    choice = inputs.add_mutually_exclusive_group()
    choice.add_argument(
        "--input",
        action="append",
        default=[],
        type=input_spec,
        metavar="SHAPE:DTYPE",
        help="an example input, for example 1x3x224x224:float32; repeat it for every input",
    )
    choice.add_argument("--inputs", type=Path, metavar="FILE.pt", help="example inputs written by torch.save()")
    inputs.add_argument(
        "--dynamic",
        action="append",
        default=[],
        type=dynamic_dim,
        metavar="NAME.DIM=MIN..MAX",
        help="let a dimension of the input NAME take every size in a range; repeat it for more",
    )
    lowering = parser.add_argument_group("lowering")
    lowering.add_argument(
        "--backend",
        action="append",
        default=[],
        type=_backend,
        metavar="NAME",
        help=f"give the model to this backend; repeat it, first come first. Known: {', '.join(BACKENDS)} (the default)",
    )
    lowering.add_argument(
        "--external-weights",
        action="store_true",
        help="write the weights to FILE.ptd beside FILE.pte, to share or replace them",
    )
    lowering.add_argument(
        "--strict",
        action="store_true",
        help="fail where the exporter would only warn, for example about an operator left behind",
    )
    checks = parser.add_argument_group("checks and reports")
    checks.add_argument(
        "--verify",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run the written program and compare it with PyTorch (on unless --no-verify)",
    )
    checks.add_argument(
        "--tolerance",
        type=_tolerance,
        metavar="REL",
        help="the largest difference allowed, as a share of an output's largest value (default: 1e-4 for float32)",
    )
    checks.add_argument(
        "--report", type=_report_path, metavar="FILE", help="write everything known about the export: .json or .html"
    )
    checks.add_argument("-v", "--verbose", action="store_true", help="show tracebacks and warnings in full")
    parser.add_argument("--version", action="version", version=f"sdk {__version__}")
    return parser


def _backend(text: str) -> str:
    if text not in BACKENDS:
        raise argparse.ArgumentTypeError(
            f"there is no backend `{text}`; the known ones are: {', '.join(BACKENDS)}.{closest(text, BACKENDS)}"
        )
    return text


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"`{text}` is not a number from 0 up, for example 1e-3.")
    return value


def _report_path(text: str) -> Path:
    path = Path(text)
    if path.suffix not in (".json", ".html"):
        raise argparse.ArgumentTypeError(
            f"`{text}` ends neither in .json nor in .html: the ending chooses the kind of report."
        )
    return path


def _shape(text: str, whole: str) -> tuple[int, ...]:
    if text == "scalar":
        return ()
    if not re.fullmatch(r"\d+(x\d+)*", text):
        raise argparse.ArgumentTypeError(
            f"`{text}` in `{whole}` is not a shape. Join the sizes by x, for example 1x3x224x224, or write `scalar` "
            f"for a "
            f"tensor without dimensions."
        )
    return tuple(int(size) for size in text.split("x"))


def _fill(text: str, whole: str, dtype: str) -> tuple[float, float | None]:
    low_text, dots, high_text = text.partition("..")
    low = float(_number(low_text))
    high = float(_number(high_text)) if dots else None
    if high is not None and high < low:
        raise argparse.ArgumentTypeError(f"`{whole}`: the range ends at {high_text}, below its start {low_text}.")
    if not dtype.startswith(("float", "bfloat")) and any(value is not None and value % 1 for value in (low, high)):
        raise argparse.ArgumentTypeError(f"`{whole}`: {text} is not a whole number, which {dtype} needs.")
    return low, high


def _number(text: str) -> int | float | bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise argparse.ArgumentTypeError(f"`{text}` is not a number; write for example =3, =0.5 or =true.")
