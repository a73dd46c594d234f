# SPDX-License-Identifier: BSD-3-Clause
"""Writes a selected_operators.yaml: ``python -m codegen.tools.gen_oplist --model_file_path M --output_path FILE``.

Exactly one of the four ways to choose operators is given. To build for several models, give --model_file_path several
times, or a folder: their operators and dtypes are merged.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..flatbuffer import ProgramError
from ..gen import write_if_changed
from ..schema import SchemaError
from ..selection import Selection, SelectionError, as_yaml, from_list, from_programs, from_yaml

CHOICES = ("--model_file_path", "--ops_schema_yaml_path", "--root_ops", "--include_all_operators")


def make_selection(
    models: list[Path] | None = None,
    ops_schema_yaml: Path | None = None,
    root_ops: str | None = None,
    include_all_operators: bool = False,
    dtype_selective: bool = False,
) -> Selection:
    """The selection that one of the four arguments makes. Raises SelectionError unless exactly one is given."""
    given = [
        name
        for name, value in zip(CHOICES, (models, ops_schema_yaml, root_ops, include_all_operators), strict=True)
        if value
    ]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        raise SelectionError(
            f"exactly one of {', '.join(CHOICES)} chooses the operators, found {found}. Give one; for the operators of "
            "several models give --model_file_path more than once or a folder"
        )
    if models:
        return from_programs(models)
    selection = Selection(include_all=True)
    if ops_schema_yaml:
        selection = from_yaml(ops_schema_yaml)
    elif root_ops:
        selection = from_list(root_ops)
        if not selection.keys:
            raise SelectionError(f"--root_ops: expected names like aten::add.out,aten::mm.out, found {root_ops!r}")
    unknown = selection.operators_without_dtypes()
    if dtype_selective and (selection.include_all or unknown):
        what = "all operators are" if selection.include_all else f"{unknown[0]} is"
        raise SelectionError(
            f"{what} selected without dtypes, so nothing can be left out. Choose them from models "
            "(--model_file_path, in CMake OPS_FROM_MODEL), or turn the selection of dtypes off"
        )
    return selection


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m codegen.tools.gen_oplist",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--output_path", "--output-path", type=Path, required=True, metavar="FILE", help="the selected_operators.yaml")
    add(
        "--model_file_path", "--model-file-path", type=Path, action="append", metavar="FILE", help="a .pte, or a folder"
    )
    add("--ops_schema_yaml_path", "--ops-schema-yaml-path", type=Path, metavar="FILE", help="a functions.yaml")
    add("--root_ops", "--root-ops", metavar="OPS", help="names, comma separated: aten::add.out,aten::mm.out")
    add("--include_all_operators", "--include-all-operators", action="store_true", help="do not select")
    add("--dtype_selective", "--dtype-selective", action="store_true", help="fail if the dtypes are not known")
    options = parser.parse_args(arguments)
    try:
        selection = make_selection(
            options.model_file_path,
            options.ops_schema_yaml_path,
            options.root_ops,
            options.include_all_operators,
            options.dtype_selective,
        )
        write_if_changed(options.output_path, as_yaml(selection))
    except (SelectionError, SchemaError, ProgramError, OSError) as error:
        print(f"gen_oplist: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
