# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites codegen/aten_schemas.txt from the schemas that the installed torch registers.

The table lets the build run without torch. It holds the ATen operators that write to a Tensor argument and that a
kernel can implement, without those of training and of other vendors' libraries unless a functions.yaml of this
repository names them.

    python -m codegen.update_schemas          rewrites the table
    python -m codegen.update_schemas --check  exits with 1 when it is out of date
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import yaml

from .schema import SCHEMA_TABLE, SchemaError, parse_schema

REPOSITORY = Path(__file__).resolve().parent.parent
HEADER = """\
# Schemas of the ATen operators that write to their arguments, one on each line, sorted.
# Generated from torch by `python -m codegen.update_schemas`; do not edit.
"""


# Parts of names of operators that no exported program calls.
_LEFT_OUT = re.compile(
    r"backward|foreach|fused|cudnn|miopen|mkldnn|fbgemm|sparse|nested|quantize|_test_|_thnn_|_amp_|_scaled_"
)


def named_operators() -> set[str]:
    """The ATen operators that the repository's functions.yaml files name."""
    names = set()
    for path in REPOSITORY.glob("kernels/*/functions.yaml"):
        for item in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
            names.add(f"aten::{item.get('op', '')}")
    return names


def current_table() -> str:
    """The text of the table for the installed torch."""
    import torch

    named = named_operators()
    lines = []
    for schema in torch._C._jit_get_all_schemas():
        text = str(schema)
        name = text.partition("(")[0]
        if not name.startswith("aten::") or (_LEFT_OUT.search(name) and name not in named):
            continue
        try:
            parse_schema(text)
        except SchemaError:
            continue  # functional, TorchScript only, or with types that kernels cannot take
        lines.append(text)
    return HEADER + "".join(f"{line}\n" for line in sorted(lines))


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m codegen.update_schemas", description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only say whether the table is current")
    options = parser.parse_args(arguments)
    table = current_table()
    current = SCHEMA_TABLE.exists() and SCHEMA_TABLE.read_text(encoding="utf-8") == table
    if options.check and not current:
        print("codegen/aten_schemas.txt is out of date; run python -m codegen.update_schemas", file=sys.stderr)
        return 1
    if not current:
        SCHEMA_TABLE.write_text(table, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
