# SPDX-License-Identifier: BSD-3-Clause
"""Writes selected_op_variants.h: ``python -m codegen.tools.gen_selected_op_variants --yaml_file_path FILE ...``.

The header has the dtypes with which each operator is called, and, with --functions_yaml and --sources, the dtypes for
which each source file of the kernels has to be compiled. Your own kernels may use it, too:

    if constexpr (should_include_kernel_dtype("my::op.out", ScalarType::Double)) { ... }
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..functions_yaml import load_merged, select
from ..gen import template, write_if_changed
from ..kernel_keys import MAX_DTYPES, dtype_name
from ..kernel_sources import functions_of_sources, needed_sources
from ..schema import SchemaError
from ..selection import Selection, from_yaml

ALL_DTYPES = (1 << MAX_DTYPES) - 1


def render_header(selection: Selection, functions_yaml: Sequence[Path] = (), folders: Sequence[Path] = ()) -> str:
    """The text of selected_op_variants.h."""
    operators = {name: selection.dtypes(name) for name in selection.operators or ()}
    entries = select(load_merged(functions_yaml), selection.operators)
    # The generated code gets a source's file name from the compiler; several libraries may have files of one name.
    dtypes_of: dict[str, list[set[int] | None]] = {}
    for source, functions in functions_of_sources([entry.unqualified for entry in entries], folders).items():
        names = {entry.schema.qualified_name for entry in entries if entry.unqualified in functions}
        dtypes_of.setdefault(source.name, []).extend(selection.dtypes(name) for name in names)
    all_dtypes = ALL_DTYPES if selection.include_all else _mask_number(list(operators.values()))
    return template("selected_op_variants.h").render(
        operators=[(name.removeprefix("aten::"), *_mask([dtypes])) for name, dtypes in operators.items()],
        sources=[(source, *_mask(dtypes)) for source, dtypes in sorted(dtypes_of.items())],
        include_all=selection.include_all,
        all_dtypes=f"0x{all_dtypes:x}u",
    )


def write_selected_op_variants(yaml_file_path: Path | str, output_dir: Path | str) -> None:
    """Writes selected_op_variants.h for a selected_operators.yaml. Raises SchemaError, OSError."""
    write_if_changed(Path(output_dir) / "selected_op_variants.h", render_header(from_yaml(Path(yaml_file_path))))


def _mask_number(groups: Sequence[set[int] | None]) -> int:
    if any(group is None for group in groups):
        return ALL_DTYPES
    return sum(1 << dtype for dtype in set().union(*(group or () for group in groups)))


def _mask(groups: Sequence[set[int] | None]) -> tuple[str, str]:
    number = _mask_number(groups)
    words = ", ".join(dtype_name(dtype) for dtype in range(MAX_DTYPES) if number >> dtype & 1)
    return f"0x{number:x}u", "all" if number == ALL_DTYPES else words or "no tensors"


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m codegen.tools.gen_selected_op_variants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--yaml_file_path", "--yaml-file-path", type=Path, required=True, metavar="FILE", help="selected_operators.yaml"
    )
    add("--output_dir", "--output-dir", type=Path, required=True, metavar="FOLDER")
    add("--functions_yaml", "--functions-yaml", type=Path, action="append", default=[], metavar="FILE")
    add("--sources", type=Path, action="append", default=[], metavar="FOLDER", help="of the kernels' source files")
    add("--print_sources", "--print-sources", action="store_true", help="print the source files that are needed")
    options = parser.parse_args(arguments)
    try:
        selection = from_yaml(options.yaml_file_path)
        header = render_header(selection, options.functions_yaml, options.sources)
        if options.print_sources:
            entries = select(load_merged(options.functions_yaml), selection.operators)
            functions = [entry.unqualified for entry in entries]
            print("\n".join(map(str, needed_sources(functions, options.sources))))
        write_if_changed(options.output_dir / "selected_op_variants.h", header)
    except (SchemaError, OSError) as error:
        print(f"gen_selected_op_variants: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
