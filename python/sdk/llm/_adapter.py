# SPDX-License-Identifier: BSD-3-Clause
"""Turn a LoRA adapter into a file that a program loads (`sdk llm run --data`), without exporting the model again.

ADAPTER is a folder of PEFT's form: adapter_config.json and adapter_model.safetensors. The program was exported with an
adapter of at least this rank and these layers, and `export.lora_weights_file`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from sdk.command import OK, CommandError, Parser, check_writable, describe, existing, finish, print_json
from sdk.command.programs import program_file
from sdk.util.paths import file_path

_EPILOG = """\
examples
  sdk llm adapter formal/ --program model.pte -o formal.ptd
  sdk llm run model.pte --data base.ptd --data formal.ptd --prompt "Hello"
"""


def main(argv: Sequence[str], prog: str) -> int:
    """Writes the file of an adapter; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "is not used", _EPILOG, extra="llm")
    parser.add_argument("adapter", type=file_path, metavar="ADAPTER", help="a folder of PEFT's form")
    parser.add_argument("--program", type=file_path, required=True, metavar="MODEL.pte", help="the program to load it")
    parser.add_argument("-o", "--output", type=file_path, required=True, metavar="OUT.ptd", help="the file to write")
    return finish(parser, argv, _adapter)


def _adapter(options: argparse.Namespace) -> int:
    if options.output.suffix != ".ptd":
        raise CommandError(f"--output: expected a file that ends in .ptd, found `{options.output}`")
    if not options.adapter.is_dir():
        raise CommandError(f"expected a folder with adapter_config.json, found `{options.adapter}`")
    existing(options.adapter / "adapter_config.json")
    program = program_file(options.program)
    check_writable([options.output])
    from sdk.extension.llm.export.adapter_file import write_adapter

    try:
        layers = write_adapter(options.adapter, program, options.output)
    except ValueError as error:
        raise CommandError(describe(error)) from None
    if options.json:
        print_json({"file": str(options.output), "bytes": options.output.stat().st_size, "layers": layers})
    else:
        print(f"written: {options.output} ({options.output.stat().st_size / 1e6:.1f} MB, {len(layers)} layers)")
    return OK
