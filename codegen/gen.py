# SPDX-License-Identifier: BSD-3-Clause
"""Generates the registration code of a kernel library: ``python -m codegen.gen --library portable ...``.

Writes into the output folder

* ``NativeFunctions.h``: the declaration of every kernel,
* ``RegisterKernels.h`` and ``RegisterKernels.cpp``: the table and ``register_<library>_kernels()``,
* ``RegisterKernelsAtLoad.cpp``: a static initialiser that calls it. It is its own object, which the linker takes from
  the archive only where the symbol ``executorch_<library>_kernels_at_load`` is asked for.

Files whose content would not change are left alone, so that nothing is rebuilt for nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
from itertools import groupby
from pathlib import Path

import jinja2
from yaml import YAMLError

from .functions_yaml import KernelEntry, load_functions, select
from .schema import SchemaError

TEMPLATES = Path(__file__).with_name("templates")
OUTPUTS = ("NativeFunctions.h", "RegisterKernels.h", "RegisterKernels.cpp", "RegisterKernelsAtLoad.cpp")


def render(entries: list[KernelEntry], library: str, include_prefix: str) -> dict[str, str]:
    """The generated files: name -> text."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    declared = sorted({(entry.namespace, entry.unqualified, entry.schema) for entry in entries}, key=_declaration_order)
    values = {
        "library": library,
        "include_prefix": include_prefix,
        "entries": entries,
        "namespaces": [(name, list(group)) for name, group in groupby(declared, key=lambda item: item[0])],
    }
    return {name: environment.get_template(f"{name}.jinja").render(values) for name in OUTPUTS}


def write_if_changed(path: Path, text: str) -> bool:
    """Writes ``text`` unless the file already holds it; returns whether it wrote."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m codegen.gen", description="Generate kernel registration code.")
    parser.add_argument("--functions-yaml", type=Path, required=True, action="append", help="may be repeated")
    parser.add_argument("--library", required=True, help="its name, as in register_<name>_kernels()")
    parser.add_argument("--output-dir", type=Path, required=True)
    parser.add_argument("--include-prefix", default="", help="folder of the generated headers in #include lines")
    parser.add_argument("--ops", action="append", help="only these operators, comma separated (aten::add.out,...)")
    options = parser.parse_args(arguments)
    if not re.fullmatch(r"[A-Za-z_]\w*", options.library):
        parser.error(f"--library '{options.library}' is not a C identifier")
    operators = None
    if options.ops is not None:
        operators = [name.strip() for item in options.ops for name in item.split(",") if name.strip()]
    try:
        entries = [entry for path in options.functions_yaml for entry in load_functions(path)]
        files = render(select(entries, operators), options.library, options.include_prefix)
    except (SchemaError, OSError, YAMLError) as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 1
    for name, text in files.items():
        write_if_changed(options.output_dir / name, text)
    return 0


def _declaration_order(item: tuple[str, str, object]) -> tuple[str, str]:
    return item[0], item[1]


if __name__ == "__main__":
    sys.exit(main())
