# SPDX-License-Identifier: BSD-3-Clause
"""Generates the registration code of a kernel library: ``python -m codegen.gen --library portable ...``.

Writes into the output folder

* ``NativeFunctions.h``: the declaration of every kernel,
* ``Functions.h``: the operators by their names, ``torch::executor::aten::add_outf()``,
* ``RegisterKernels.h`` and ``RegisterKernels.cpp``: the table and ``register_<library>_kernels()``,
* ``RegisterKernelsAtLoad.cpp``: a static initialiser that calls it. It is a separate object, which the linker takes
  from the archive only if the symbol ``executorch_<library>_kernels_at_load`` is referenced.

With ``--for-pytorch``, ``NativeFunctions.h`` and ``RegisterToPyTorch.cpp`` are written instead; the latter registers
the kernels as PyTorch's operators.
With ``--dispatched``, the table has PyTorch's kernels for the operators of ATen.

Files whose content does not change are not written, so that nothing is rebuilt.
"""

from __future__ import annotations

import argparse
import re
import sys
import zlib
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import jinja2

from .flatbuffer import ProgramError
from .functions_yaml import KernelEntry, load_merged, select
from .kernel_keys import dtypes_key
from .literals import cmake_argument, comment, cpp_literal, is_identifier
from .schema import Schema, SchemaError
from .selection import Selection, SelectionError, from_list, from_yaml, is_prim_operator

TEMPLATES = Path(__file__).with_name("templates")
OUTPUTS = (
    "NativeFunctions.h",
    "Functions.h",
    "RegisterKernels.h",
    "RegisterKernels.cpp",
    "RegisterKernelsAtLoad.cpp",
)


def template(name: str) -> jinja2.Template:
    """The template of a generated file."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"cpp": cpp_literal, "comment": comment, "cmake": cmake_argument}
    return environment.get_template(f"{name}.jinja")


def render(entries: list[KernelEntry], library: str, include_prefix: str, dispatched: bool = False) -> dict[str, str]:
    """The generated files: name -> text. ``dispatched``: PyTorch runs the operators of ATen (USE_ATEN_LIB)."""

    def is_pytorchs(entry: KernelEntry) -> bool:
        return dispatched and entry.schema.namespace == "aten"

    def kernel(entry: KernelEntry) -> str:
        if is_pytorchs(entry):
            return f"DispatchedKernel<{cpp_literal(entry.schema.qualified_name)}>"
        return f"BoxedKernel<&::{entry.function}>"

    functions = [entry for entry in entries if not is_pytorchs(entry)]
    # By signature, because a function may be the kernel of several operators.
    signatures = {(entry.function, entry.schema.cpp_parameters()): entry for entry in reversed(functions)}
    declared = sorted(
        ((entry.namespace, entry.unqualified, entry.schema) for entry in signatures.values()), key=_declaration_order
    )
    operators: dict[tuple[str, str], KernelEntry] = {}
    for entry in functions:
        place = entry.schema.namespace, entry.schema.qualified_name
        # Among the kernels of an operator, the one for all tensors.
        if place not in operators or not entry.keys:
            operators[place] = entry
    by_namespace = groupby(sorted(operators.items(), key=lambda item: item[0]), key=lambda item: item[0][0])
    values = {
        "library": library,
        "include_prefix": include_prefix,
        "entries": entries,
        "dispatched": dispatched,
        "kernel": kernel,
        "guard_of": _guard,
        "by_operator_namespace": [
            (name, [(entry.schema, entry.function) for _, entry in group]) for name, group in by_namespace
        ],
        "namespaces": [(name, list(group)) for name, group in groupby(declared, key=lambda item: item[0])],
    }
    return {name: template(name).render(values) for name in OUTPUTS}


def render_for_pytorch(entries: list[KernelEntry], include_prefix: str) -> dict[str, str]:
    """The files that register the kernels as operators of PyTorch. Raises SchemaError for several of one operator."""
    for entry in entries:
        if entry.keys:
            raise SchemaError(
                f"{entry.schema.qualified_name} has kernels for some tensors only; PyTorch takes one for all: give it "
                "with 'arg_meta: null' in a separate YAML file"
            )
    groups = groupby(sorted(entries, key=_namespace), key=_namespace)
    values = {"include_prefix": include_prefix, "by_namespace": [(name, list(items)) for name, items in groups]}
    headers = {"NativeFunctions.h": render(entries, "custom", include_prefix)["NativeFunctions.h"]}
    return headers | {"RegisterToPyTorch.cpp": template("RegisterToPyTorch.cpp").render(values)}


def resolve(entries: list[KernelEntry], selection: Selection, dtype_selective: bool = False) -> list[KernelEntry]:
    """The kernels that a build for the selection registers.

    A specialised kernel is included if programs use its key or may use it. With ``dtype_selective``, a kernel for all
    tensors is registered for the dtypes that the programs use; other programs are refused when they are loaded.
    """
    kept = []
    for entry in select(entries, selection.operators):
        name = entry.schema.qualified_name
        dtypes = selection.dtypes(name)
        if entry.keys:
            keys = entry.keys if dtypes is None else tuple(key for key in entry.keys if key in selection.keys[name])
            if keys:
                kept.append(replace(entry, keys=keys))
        elif dtype_selective and dtypes:
            kept.append(replace(entry, keys=(dtypes_key(dtypes),)))
        else:
            kept.append(entry)
    return kept


def missing_operators(entries: list[KernelEntry], selection: Selection) -> list[str]:
    """The selected operators without a kernel."""
    names = {entry.schema.qualified_name for entry in entries}
    return [name for name in selection.operators or () if name not in names and not is_prim_operator(name)]


def write_if_changed(path: Path, text: str) -> bool:
    """Writes ``text`` unless the file already has this content. Returns whether it wrote."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m codegen.gen", description="Generate kernel registration code.")
    add = parser.add_argument
    add(
        "--functions-yaml",
        "--functions-yaml-path",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="which function implements which operator; if several files have an operator, the first one counts",
    )
    add(
        "--custom-ops-yaml",
        "--custom-ops-yaml-path",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="the same for operators that ATen does not have",
    )
    add("--library", required=True, help="its name, as in register_<name>_kernels()")
    add("--output-dir", "--install-dir", type=Path, required=True, metavar="FOLDER")
    add("--include-prefix", default="", help="folder of the generated headers in #include lines")
    selecting = parser.add_mutually_exclusive_group()
    selecting.add_argument("--ops", action="append", help="only these operators, comma separated (aten::add.out,...)")
    selecting.add_argument(
        "--op-selection-yaml",
        "--op-selection-yaml-path",
        type=Path,
        metavar="FILE",
        help="only the operators of a selected_operators.yaml (codegen.tools.gen_oplist)",
    )
    add("--dtype-selective", action="store_true", help="register kernels for the dtypes of the selection only")
    add("--require-all", action="store_true", help="fail if a selected operator has no kernel")
    add("--for-pytorch", action="store_true", help="write what registers the kernels in PyTorch, and nothing else")
    add("--dispatched", action="store_true", help="have PyTorch run the operators of ATen (USE_ATEN_LIB)")
    options = parser.parse_args(arguments)
    if not is_identifier(options.library):
        parser.error(f"--library '{options.library}' is not a C identifier")
    if not re.fullmatch(r"[A-Za-z0-9_./+-]*", options.include_prefix):
        parser.error(f"--include-prefix '{options.include_prefix}' is not the name of a folder in #include lines")
    if not options.functions_yaml and not options.custom_ops_yaml:
        parser.error("--functions-yaml or --custom-ops-yaml says which kernels there are; give one of them")
    try:
        selection = Selection(include_all=True)
        if options.ops is not None:
            selection = from_list(",".join(options.ops))
        elif options.op_selection_yaml is not None:
            selection = from_yaml(options.op_selection_yaml)
        paths = options.functions_yaml + options.custom_ops_yaml
        entries = load_merged(paths)
        if options.require_all and (missing := missing_operators(entries, selection)):
            raise SelectionError(
                f"no kernel for {', '.join(missing)} in {', '.join(map(str, paths))}. Add the functions.yaml of the "
                "library that has it, or export the model without it"
            )
        entries = resolve(entries, selection, options.dtype_selective)
        if options.for_pytorch:
            files = render_for_pytorch(entries, options.include_prefix)
        else:
            files = render(entries, options.library, options.include_prefix, options.dispatched)
    except (SchemaError, SelectionError, ProgramError, OSError) as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 1
    for name, text in files.items():
        write_if_changed(options.output_dir / name, text)
    return 0


def _namespace(entry: KernelEntry) -> str:
    return entry.schema.namespace


def _guard(namespace: str, name: str, schema: Schema) -> str:
    """A macro that says that a function with this signature is defined."""
    signature = zlib.crc32(f"{namespace}::{name}({schema.cpp_parameters()})".encode())
    return f"EXECUTORCH_KERNEL_{name.upper()}_{signature:08X}"


def _declaration_order(item: tuple[str, str, object]) -> tuple[str, str]:
    return item[0], item[1]


if __name__ == "__main__":
    sys.exit(main())
