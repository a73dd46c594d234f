# SPDX-License-Identifier: BSD-3-Clause
"""The arguments of the command. Imports no torch, so that `--help` answers at once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from sdk import __version__
from sdk.backends import registry
from sdk.backends.registry import PORTABLE, BackendError
from sdk.export.cli.backends import check_float16, default_backends, known_backend, scheme, schemes
from sdk.export.cli.errors import closest, closest_option
from sdk.export.cli.specs import DynamicDim, InputSpec, dynamic_dim, input_spec
from sdk.util.paths import file_path

WRAPPER_LANGUAGES = ("kotlin", "swift", "cpp")

_DESCRIPTION = """\
Turn a PyTorch model into a .pte program, run the program once, and compare it with PyTorch.
"""

_EPILOG = """\
the model
  file.py:name            a name in a Python file
  package.module:name     a name in an importable module
  program.pt2             a program saved by torch.export.save(), or several in one archive
  torchvision:NAME        a model of torchvision with its pretrained weights; NAME@none has
                          random ones
  transformers:NAME       a model of Hugging Face, by the name or the folder of its checkpoint

  The name is an nn.Module, a class of one that needs no arguments, or a function without
  arguments that returns one. The model is exported in eval mode.

several methods in one program
  A name may also be (or return) a dict from method name to nn.Module, and --method NAME,
  repeated, exports methods of one module other than forward(). With several methods,
  --input and --dynamic begin with the method's name (--input encode:1x8:float32), and
  example_inputs() and --inputs give a dict from method name to inputs.

inputs, in this order of preference
  --input SPEC          once for every positional input of forward():
                          1x3x224x224:float32      random values (normal, seed 0)
                          1x128:int64=0..30521     random whole numbers from 0 to 30521
                          1x128:int64=1            every element 1 (by default 0 or 1)
                          scalar:float32=0.5       a tensor without dimensions
                          =3    =0.5    =true      a Python number, not a tensor
  --inputs FILE.pt      a file written by torch.save(): a tensor, a tuple or list of inputs,
                        or a dict of keyword inputs; or an array of NumPy (.npy), or
                        several (.npz), by the names of inputs if they have names
  example_inputs()      a method of the model, or a function in its file, that returns such
                        a tuple or dict

examples
  Export, verify and write mobilenet_v2.pte:
    sdk export examples/mobilenet_v2/model.py:mobilenet_v2

  With an example input and an output file:
    sdk export net.py:Net --input 1x3x32x32:float32 --output net.pte

  A batch from 1 to 16 and a sentence from 1 to 512 tokens:
    sdk export net.py:build --input 2x64:int64 \\
        --dynamic tokens.0=1..16 --dynamic tokens.1=1..512

  Weights in a separate file, and a page that draws the memory plan:
    sdk export net.py:Net --input 1x8:float32 --external-weights --report report.html

  In int8, with ranges from a function that returns sample inputs:
    sdk export net.py:Net --input 1x8:float32 --quantize int8 --calibrate data.py:samples

  With float16 weights and intermediate results, half as large:
    sdk export net.py:Net --input 1x8:float32 --dtype float16

  By your own recipe, with losses as errors:
    sdk export net.py:Net --input 1x8:float32 --recipe recipes.py:int8 --strict

exit status
  0   the program is written, and verified unless --no-verify was given
  1   the export failed; nothing was written
  2   the arguments are wrong
"""


@dataclass(frozen=True)
class Options:
    """One call of the command."""

    model: str
    methods: tuple[str, ...]
    inputs: tuple[InputSpec, ...]
    inputs_file: Path | None
    dynamic: tuple[DynamicDim, ...]
    backends: tuple[str, ...]
    by_default: bool  # the command line names no backends
    recipe: str | None
    quantize: str | None
    dtype: str
    calibrate: str | None
    output: Path | None
    external_weights: bool
    verify: bool
    tolerance: float | None
    strict: bool
    report: Path | None
    wrappers: tuple[str, ...]
    json: bool
    verbose: bool


def parse(argv: Sequence[str], prog: str) -> Options:
    """Reads the command line. Exits with status 2 and one line on stderr if it is invalid."""
    parser = _parser(prog)
    known = parser.parse_args(argv)
    if known.recipe is not None and known.backend:
        parser.error("--recipe says which backends to use; leave --backend out.")
    if known.quantize and known.recipe is not None:
        parser.error("--recipe says how to quantise; leave --quantize out.")
    if known.dtype == "float16" and known.recipe is not None:
        parser.error("--recipe says in which dtype to compute; leave --dtype out.")
    if known.dtype == "float16" and known.quantize:
        parser.error("--quantize says how weights and activations are stored; leave --dtype out.")
    try:
        backends = tuple(known.backend) or ((PORTABLE,) if known.recipe is not None else default_backends())
        if known.quantize:
            scheme(known.quantize, backends)
        if known.dtype == "float16":
            check_float16(backends)
    except BackendError as error:
        parser.error(str(error))
    if known.calibrate is not None and not known.quantize:
        parser.error("--calibrate goes with --quantize.")
    if known.tolerance is not None and not known.verify:
        parser.error("--tolerance is for the verification; leave --no-verify out.")
    return Options(
        model=known.model,
        methods=tuple(known.method),
        inputs=tuple(known.input),
        inputs_file=known.inputs,
        dynamic=tuple(known.dynamic),
        backends=backends,
        by_default=not known.backend and known.recipe is None,
        recipe=known.recipe,
        quantize=known.quantize,
        dtype=known.dtype,
        calibrate=known.calibrate,
        output=known.output,
        external_weights=known.external_weights,
        verify=known.verify,
        tolerance=known.tolerance,
        strict=known.strict,
        report=known.report,
        wrappers=tuple(known.wrapper),
        json=known.json,
        verbose=known.verbose,
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print only the error: the usage, with a dozen options, would hide it."""
        proposed = closest_option(message, self._option_string_actions)
        self.exit(2, f"error: {message}{proposed and '.' + proposed}\n({self.prog} --help describes every option.)\n")


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
        "model",
        metavar="MODEL",
        help="what to export: file.py:name, package.module:name, program.pt2, torchvision:NAME or transformers:NAME",
    )
    parser.add_argument(
        "-o", "--output", type=file_path, metavar="FILE", help="the .pte to write (default: the model's name, here)"
    )
    parser.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="NAME",
        help="export this method of the module in place of forward(); repeat it for a program with several",
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
    choice.add_argument(
        "--inputs",
        type=file_path,
        metavar="FILE",
        help="example inputs that torch.save() wrote, arrays (.npy, .npz), or file.py:name, a value or a function "
        "without arguments",
    )
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
        help=_backend_help(),
    )
    lowering.add_argument(
        "--recipe",
        metavar="NAME",
        help="quantise and lower by this recipe: the name of one that a backend offers, or file.py:name or "
        "package.module:name of an ExportRecipe or of a function that returns one",
    )
    lowering.add_argument(
        "--quantize",
        choices=tuple(schemes()),
        help=_quantize_help(),
    )
    lowering.add_argument(
        "--dtype",
        choices=("float32", "float16"),
        default="float32",
        help="float16: halve the weights and intermediate results of a float32 model. Inputs, outputs, state and what "
        "loses accuracy stay float32; the summary says what, and why",
    )
    lowering.add_argument(
        "--calibrate",
        metavar="FILE",
        help="inputs like those of the application, with which --quantize finds the ranges of activations: a list "
        "that torch.save() wrote, or file.py:name or package.module:name of a function that returns one",
    )
    lowering.add_argument(
        "--external-weights",
        action="store_true",
        help="write the weights to FILE.ptd beside FILE.pte, to share them or, with --backend portable, to replace "
        "them",
    )
    lowering.add_argument(
        "--strict",
        action="store_true",
        help="fail where something would be lost: an operator that a backend named by --backend leaves (unless you "
        "name --backend portable as well), one without a kernel, a dropped tag or initial value, a downcast, an "
        "unplanned tensor, or any note",
    )
    parser.add_argument(
        "--wrapper",
        type=_languages,
        default=(),
        metavar="LANGUAGES",
        help="write a small class for this model beside the program, with named inputs and outputs: kotlin, swift, cpp",
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
        "--report",
        type=_report_path,
        metavar="FILE",
        help="write everything known about the export, every node and where it runs: .json or .html",
    )
    checks.add_argument(
        "--json", action="store_true", help="print the report as one JSON object in place of the summary"
    )
    checks.add_argument("-v", "--verbose", action="store_true", help="show tracebacks and warnings in full")
    parser.add_argument("--version", action="version", version=f"sdk {__version__}")
    return parser


def _backend(text: str) -> str:
    try:
        return known_backend(text)
    except BackendError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _backend_help() -> str:
    try:
        default = default_backends()[0]
    except BackendError:
        default = "none, because more than one backend is the default"
    known = [f"{backend.name} ({backend.about})" for backend in registry.backends().values()]
    known += [f"{name} (its declaration is broken)" for name in registry.broken()]
    return (
        f"lower the model to this backend; repeat it in order of preference. Operators that no backend takes run on "
        f"the portable and optimized kernels. Known: {'; '.join(known)}; {PORTABLE} (the kernels alone). Default: "
        f"{default}"
    ).replace("%", "%%")


def _quantize_help() -> str:
    kinds = [
        f"{name}: {backend.quantization[name].about} ({backend.name})"
        for name, backends in schemes().items()
        for backend in backends
    ]
    return ("quantise the model for the first backend. " + "; ".join(kinds)).replace("%", "%%")


def _languages(text: str) -> tuple[str, ...]:
    languages = tuple(dict.fromkeys(text.split(",")))
    for language in languages:
        if language not in WRAPPER_LANGUAGES:
            raise argparse.ArgumentTypeError(
                f"there are no wrappers in `{language}`; the languages are: {', '.join(WRAPPER_LANGUAGES)}."
                f"{closest(language, WRAPPER_LANGUAGES)}"
            )
    return languages


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
