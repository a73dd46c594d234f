# SPDX-License-Identifier: BSD-3-Clause
"""Find the first operator of a program that computes something else than the model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sdk.command import (
    BAD_INPUT,
    FAILED,
    OK,
    CommandError,
    OneLineParser,
    check_writable,
    existing,
    print_json,
    write_json,
)
from sdk.util.paths import file_path

_FILES = ("program", "etrecord", "data", "inputs", "bundled", "etdump", "debug_buffer")
"""The options that name files to read."""

_EPILOG = """\
how it works
  What the runtime recorded is compared with eager mode, operator by operator. Each operator is judged on the inputs
  that it had in the runtime, so an error is named where it is made. Operators inside of delegates that record their
  results are compared too. For a quantised model, layers are ranked by the gain from keeping each in float.

where the operators' names come from
  --etrecord, or the file PROGRAM.etrecord beside the program; without one, MODEL is exported again, and that must give
  the same instructions. After `--`, repeat the arguments that sdk.export was given.

examples
  sdk debug net.py:Net net.pte
  sdk debug net.py:Net net_int8.pte -- --quantize int8 --calibrate data.py:samples
  sdk debug net.pte --etrecord net.etrecord --inputs picture.pt
  sdk debug net.pte --etrecord net.etrecord --bundled net.bpte --etdump phone.etdp --debug-buffer phone.bin

exit status
  0   no operator departs from eager mode by more than rounding
  1   an operator departs by more than that
  2   the arguments are wrong, or a file cannot be read or is of another program
"""


def main(argv: Sequence[str] | None = None, prog: str = "python -m sdk.debug") -> int:
    """Prints the findings. Returns the exit status, as the epilog describes."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    own, export = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        own, export = arguments[:at], arguments[at + 1 :]
    options = _parser(prog).parse_args(own)
    written = Path(options.json) if options.json not in (None, "-") else None
    try:
        _check_combination(options, export)
        for name in _FILES:
            if getattr(options, name) is not None:
                existing(getattr(options, name))
        if written is not None:
            check_writable([written])
        # Imported here so that `--help` and a wrong argument answer without waiting for torch.
        from sdk.debug.report import as_json, as_text
        from sdk.debug.session import debug

        result = debug(options, export)
        if written is not None:
            write_json(written, as_json(result))
    except (CommandError, OSError, RuntimeError, ValueError, KeyError) as error:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        print(f"error: {text}", file=sys.stderr)
        return BAD_INPUT
    if options.json == "-":
        print_json(as_json(result))
    else:
        print(as_text(result))
    return FAILED if result.departing else OK


def _check_combination(options: argparse.Namespace, export: Sequence[str]) -> None:
    """Raises CommandError if an option has no effect together with another one, or without one."""
    without_effect = (
        (options.debug_buffer and not options.etdump, "--debug-buffer has the tensors of an ETDump: pass --etdump too"),
        (options.data and options.etdump, "--data is for a run here, and --etdump is of a run before: leave one out"),
        (options.inputs and options.bundled, "--inputs and --bundled are both inputs of the run: leave one out"),
        (options.inputs and options.case is not None and not options.etdump,
         "--case chooses inputs of a bundled program, and --inputs gives them: leave one out"),
        (export and options.etrecord,
         "the arguments after `--` are for exporting the model again, which --etrecord makes needless: leave one out"),
        (export and not options.model, "the arguments after `--` are for exporting the model again: pass MODEL too"),
    )  # fmt: skip
    for wrong, message in without_effect:
        if wrong:
            raise CommandError(message)


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = OneLineParser(prog, __doc__ or "", _EPILOG)
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="what was exported, as sdk.export takes it: file.py:name"
    )
    parser.add_argument("program", metavar="PROGRAM", type=file_path, help="the .pte, or a .bpte with its cases")
    parser.add_argument("--method", default="forward", help="the method to look at (default: forward)")
    parser.add_argument("--etrecord", type=file_path, help="the ETRecord that was saved when the program was exported")
    parser.add_argument("--data", type=file_path, metavar="FILE.ptd", help="the program's external weights")
    inputs = parser.add_argument_group("inputs (default: those that the model was exported with)")
    inputs.add_argument("--inputs", type=file_path, metavar="FILE", help="inputs of torch.save(), or .npy, .npz")
    inputs.add_argument("--bundled", type=file_path, metavar="FILE.bpte", help="a bundled program: its cases' inputs")
    inputs.add_argument("--case", type=int, metavar="N", help="which of its cases (default: the first that ran)")
    device = parser.add_argument_group("the ETDump of a device (default: the program runs here)")
    device.add_argument("--etdump", type=file_path, help="the ETDump, with intermediate outputs")
    device.add_argument("--debug-buffer", type=file_path, metavar="FILE", help="the tensors that were written with it")
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="print everything that was found as one JSON object, or write it to this file beside the text",
    )
    parser.add_argument("--no-losses", action="store_true", help="do not rank the layers of a quantised model")
    return parser


if __name__ == "__main__":
    sys.exit(main())
