# SPDX-License-Identifier: BSD-3-Clause
"""Write a class for a program: its methods as functions in Kotlin, Swift or C++."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sdk.command import OK, CommandError, Parser, describe, existing, finish, print_json, write_bytes
from sdk.util.paths import file_path

_EPILOG = """\
The export writes such a class with --wrapper, and knows the names of the inputs. A program does not: inputs are called
input_0, input_1 and so on. The class checks dynamic sizes against the bounds that the program stores. A program that
ExecuTorch exported stores only the largest sizes: a dimension of a dynamic tensor may have any size up to that. Names
of methods become identifiers of the language: `my.method` is my_method or myMethod.

examples
  sdk wrap net.pte --language swift                     writes Net.swift beside net.pte
  sdk wrap net.pte --language kotlin --package com.example.models --output Net.kt
"""


def main(argv: Sequence[str] | None = None, prog: str = "python -m sdk.wrap") -> int:
    """Writes the class; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "is not used", _EPILOG)
    parser.add_argument("program", type=file_path, help="a program (.pte)")
    parser.add_argument("--language", required=True, choices=("kotlin", "swift", "cpp"), help="the language")
    parser.add_argument("--output", type=file_path, metavar="FILE", help="the source file (beside the program)")
    parser.add_argument("--name", help="the class (after the program's file)")
    parser.add_argument("--package", metavar="A.B", help="package in Kotlin, namespace in C++ (model)")
    return finish(parser, argv, _run)


def _run(options: argparse.Namespace) -> int:
    if options.package is not None and options.language == "swift":
        raise CommandError("--package: Swift has no packages in source files: leave it out")
    try:
        from sdk.exir._serialize._program import deserialize_pte_binary
        from sdk.export.wrappers import LANGUAGES, describe_program, render, wrapper_name
    except ModuleNotFoundError as error:
        if error.name != "jinja2":
            raise
        raise CommandError("this needs jinja2: pip install 'pte-sdk[export]'") from None
    file = existing(options.program)
    try:
        program = describe_program(deserialize_pte_binary(file.read_bytes()).program, file)
    except ValueError as error:
        raise CommandError(f"`{file}` cannot be read as a program (.pte): {describe(error)}") from error
    name = options.name or wrapper_name(file.name)
    output = options.output or file.with_name(name + LANGUAGES[options.language])
    try:
        text = render(program, options.language, name, "model" if options.package is None else options.package)
    except ValueError as error:
        raise CommandError(str(error)) from error
    write_bytes(output, text.encode())
    if options.json:
        print_json({"class": name, "file": str(output)})
    else:
        print(f"{output}: {name}")
    return OK


if __name__ == "__main__":
    sys.exit(main())
