# SPDX-License-Identifier: BSD-3-Clause
"""Build with only the operators that models use."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

DESCRIPTION = """\
Builds with only the operators that models use.

  size       what a build for some models links, and how big it gets
  select     the operators and dtypes of models, a list or a YAML file, as selected_operators.yaml
  merge      two functions.yaml into one
  generate   the C++ code that registers kernels
  variants   selected_op_variants.h: the dtypes that kernels are compiled for

`python -m sdk.codegen COMMAND --help` describes each. CMake projects call gen_selected_ops() and its companions instead
(docs/selective_build.md); other build systems call these commands, or the Python functions behind them, with paths.
"""

SIZE = """\
Builds the smallest program that runs the models, with -Os, without log messages, and prints what the linker kept: for
each operator its dtypes, the kernel, and the bytes of the kernel's source file (code and constants); then what kernels
share, the runtime, and the sum.

Examples:
  python -m sdk.codegen size model.pte
  python -m sdk.codegen size models/                 a folder: one build for all the programs in it
  python -m sdk.codegen size model.pte --all-dtypes  what selecting dtypes saves
  python -m sdk.codegen size model.pte --json

Needs CMake, a C++ compiler, and GNU ld or one that writes its map; the first build takes about a minute. Backends are
not part of it: what a delegate runs needs no kernels.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Prints one line instead of the whole usage."""
        self.exit(2, f"{self.prog}: {message}. See `{self.prog} --help`.\n")


def size(arguments: list[str], prog: str = "python -m sdk.codegen size") -> int:
    """The command `size`; returns the exit code: 1 if the build fails, 2 for files that cannot be used."""
    from .flatbuffer import ProgramError
    from .schema import SchemaError
    from .selection import SelectionError
    from .size import as_table, measure

    parser = _Parser(
        prog=prog,
        description=SIZE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("programs", type=Path, nargs="+", metavar="model.pte", help="a program, or a folder of programs")
    add("--all-dtypes", action="store_true", help="kernels for all dtypes, not those of the programs alone")
    add("--root", type=Path, help="source tree of the SDK, or the prefix it is installed in (default: where this is)")
    add("--build-folder", type=Path, metavar="FOLDER", help="where to build (default: one in the user's cache)")
    add("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args(arguments)
    missing = [path for path in options.programs if not path.exists()]
    if missing:
        print(f"{prog}: there is no file `{missing[0]}`: pass a program, or a folder of programs", file=sys.stderr)
        return 2
    try:
        sizes = measure(options.programs, options.root, options.build_folder, not options.all_dtypes)
    except (SelectionError, SchemaError, ProgramError, OSError) as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 1
    print(sizes.as_json() if options.json else as_table(sizes))
    return 0


def main(argv: Sequence[str] | None = None, prog: str = "python -m sdk.codegen") -> int:
    """The command line; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _Parser(prog=prog, description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("size", "select", "merge", "generate", "variants"))
    command = parser.parse_args(arguments[:1]).command
    if command == "size":
        return size(arguments[1:], f"{prog} size")
    from . import gen
    from .tools import gen_oplist, gen_selected_op_variants, merge_yaml

    modules = {"select": gen_oplist, "merge": merge_yaml, "generate": gen, "variants": gen_selected_op_variants}
    return int(modules[command].main(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main())
