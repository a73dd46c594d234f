# SPDX-License-Identifier: BSD-3-Clause
"""Merges several selected_operators.yaml: ``python -m codegen.tools.gen_all_oplist --model_file_list_path LIST ...``.

LIST is one selected_operators.yaml, or ``@FILE``: a file with a path on each line. The output is the merged
selected_operators.yaml, which names the files that select each operator, and selected_op_variants.h.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..functions_yaml import read_yaml
from ..gen import write_if_changed
from ..regular_file import read_text
from ..schema import SchemaError
from ..selection import Selection, SelectionError, as_yaml, from_yaml
from .gen_selected_op_variants import write_selected_op_variants


def merge_selections(paths: list[Path], check_not_overlapping: bool = False) -> Selection:
    """The union of the files' selections. If there are several files, they become the `sources`.

    Raises SelectionError if `check_not_overlapping` and two of them select the same operator.
    """
    merged = Selection()
    for path in paths:
        one = from_yaml(path)
        if len(paths) > 1:
            one.sources = {operator: [str(path)] for operator in one.keys}
        merged.merge(one)
    if check_not_overlapping and len(paths) > 1:
        for operator, files in merged.sources.items():
            if len(files) > 1:
                raise SelectionError(
                    f"Operator {operator} is used in {len(files)} models: {', '.join(files)}; their kernel libraries "
                    "would register it twice. Build one library for all, or select it for one of them"
                )
    return merged


def main(argv: list[str] | None = None) -> None:
    """The command line. Raises SelectionError, SchemaError or OSError."""
    parser = argparse.ArgumentParser(
        prog="python -m codegen.tools.gen_all_oplist",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--output_dir", "--output-dir", type=Path, required=True, metavar="FOLDER")
    add("--model_file_list_path", "--model-file-list-path", required=True, metavar="LIST")
    add("--allow_include_all_overloads", "--allow-include-all-overloads", action="store_true")
    add("--check_ops_not_overlapping", "--check-ops-not-overlapping", action="store_true")
    options = parser.parse_args(argv)
    listed: str = options.model_file_list_path
    if listed.startswith("@"):
        paths = [Path(line.strip()) for line in read_text(Path(listed[1:])).splitlines() if line.strip()]
    else:
        paths = [Path(listed)]
    if not options.allow_include_all_overloads:
        _refuse_overloads(paths)
    options.output_dir.mkdir(parents=True, exist_ok=True)
    written = options.output_dir / "selected_operators.yaml"
    write_if_changed(written, as_yaml(merge_selections(paths, options.check_ops_not_overlapping)))
    write_selected_op_variants(written, options.output_dir)


def _refuse_overloads(paths: list[Path]) -> None:
    for path in paths:
        document = read_yaml(path)
        for operator, info in (document.get("operators") or {}).items() if isinstance(document, dict) else ():
            if isinstance(info, dict) and info.get("include_all_overloads"):
                raise SelectionError(
                    f"{path}: {operator} is selected with all its overloads; name those that are used, or pass "
                    "--allow_include_all_overloads"
                )


if __name__ == "__main__":
    try:
        main()
    except (SelectionError, SchemaError, OSError) as error:
        print(f"gen_all_oplist: {error}", file=sys.stderr)
        sys.exit(1)
