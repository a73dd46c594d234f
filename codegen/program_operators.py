# SPDX-License-Identifier: BSD-3-Clause
"""The operators that a .pte needs, for selective builds: ``python -m codegen.program_operators model.pte``.

Prints one name (``aten::add.out``) a line; with ``--sources FOLDER``, the C++ files that a build of their kernels
compiles (codegen.kernel_sources). ``--operators add,mul`` adds operators that the program does not have. ``--backends``
prints the names of the backends to which it delegates. Needs neither torch nor the exporter: it reads the few tables of
the flatbuffer that have these names.
"""

from __future__ import annotations

import argparse
import re
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .flatbuffer import ProgramError, Table, read
from .kernel_keys import MAX_DTYPES, TensorMeta, kernel_key
from .regular_file import read_file
from .schema import SchemaError, check_operator_name

# Positions of fields in the tables of sdk/cpp/executorch/schema/program.fbs, counted from 0.
PROGRAM_EXECUTION_PLAN = 1
PLAN_VALUES, PLAN_CHAINS, PLAN_OPERATORS, PLAN_DELEGATES = 2, 5, 6, 7
DELEGATE_ID = 0
CHAIN_INSTRUCTIONS = 2
UNION_TYPE, UNION_VALUE = 0, 1
KERNEL_CALL, CALL_OPERATOR, CALL_ARGUMENTS = 1, 0, 1
OPERATOR_NAME, OPERATOR_OVERLOAD = 0, 1
VALUE_TENSOR, VALUE_TENSOR_LISTS = 5, (10, 11)
TENSOR_DTYPE, TENSOR_DIM_ORDER = 0, 3
LIST_ITEMS = 0


@dataclass
class OperatorUse:
    """The calls of one operator in programs: the keys of the kernels that they need, and the dtypes of all tensors."""

    keys: set[str] = field(default_factory=set)
    dtypes: set[int] = field(default_factory=set)


def program_uses(data: bytes) -> dict[str, OperatorUse]:
    """The operators of all methods of a program, by name, and the arguments of their calls."""
    uses: dict[str, OperatorUse] = {}
    with _damage_named():
        for plan in _plans(data):
            names = [_name(operator) for operator in plan.tables(PLAN_OPERATORS)]
            for name in names:
                uses.setdefault(name, OperatorUse())
            values = plan.tables(PLAN_VALUES)
            for operator, arguments in _calls(plan):
                _add_call(uses[names[operator]], [values[index] for index in arguments], values)
    return dict(sorted(uses.items()))


def program_backends(data: bytes) -> list[str]:
    """The names of the backends to which the methods of a program delegate, sorted, each once. Raises ProgramError."""
    with _damage_named():
        delegates = (delegate for plan in _plans(data) for delegate in plan.tables(PLAN_DELEGATES))
        return sorted({delegate.text(DELEGATE_ID) for delegate in delegates})


def _plans(data: bytes) -> list[Table]:
    if data[4:6] != b"ET" or not data[6:8].isdigit():
        raise ProgramError(f"bytes 4 to 7 are {data[4:8]!r}, expected b'ET12'; is it a .pte file?")
    return Table(data, read("<I", data, 0)).tables(PROGRAM_EXECUTION_PLAN)


@contextmanager
def _damage_named() -> Iterator[None]:
    """Reading beyond the file, or text that is not UTF-8, is a ProgramError."""
    try:
        yield
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise ProgramError(f"the program is damaged: {error}") from error


def program_calls(data: bytes) -> Iterator[tuple[str, list[tuple[int, TensorMeta | None]]]]:
    """Each call of an operator: its name and, for each argument, the number of its type in the schema's union
    `KernelTypes` and the properties of its tensor, or of the first tensor of a list. Raises ProgramError."""
    program_uses(data)  # raises the errors of damaged programs
    for plan in _plans(data):
        names = [_name(operator) for operator in plan.tables(PLAN_OPERATORS)]
        values = plan.tables(PLAN_VALUES)
        for operator, arguments in _calls(plan):
            described: list[tuple[int, TensorMeta | None]] = []
            for argument in (values[index] for index in arguments):
                tensors = _tensors_of(argument, values)
                described.append((argument.number(UNION_TYPE, "<B"), tensors[0] if tensors else None))
            yield names[operator], described


def program_operators(data: bytes) -> list[str]:
    """The operators of all methods of a program, sorted, each once."""
    return list(program_uses(data))


def _name(operator: Table) -> str:
    name, overload = operator.text(OPERATOR_NAME), operator.text(OPERATOR_OVERLOAD)
    try:
        return check_operator_name(f"{name}.{overload}" if overload else name)
    except SchemaError as error:
        raise ProgramError(f"the program is damaged: {error}") from error


def _calls(plan: Table) -> Iterator[tuple[int, list[int]]]:
    for chain in plan.tables(PLAN_CHAINS):
        for instruction in chain.tables(CHAIN_INSTRUCTIONS):
            if instruction.number(UNION_TYPE, "<B") == KERNEL_CALL and (call := instruction.table(UNION_VALUE)):
                operator, arguments = call.number(CALL_OPERATOR, "<i"), call.numbers(CALL_ARGUMENTS, "<i")
                if operator < 0 or min(arguments, default=0) < 0:
                    raise ProgramError("a call refers to a value or an operator with a negative number")
                yield operator, arguments


def _add_call(use: OperatorUse, arguments: list[Table], values: list[Table]) -> None:
    # In the key of a kernel, a list of tensors is represented by its first one, but each of its tensors has a dtype.
    tensors: list[TensorMeta] = []
    for argument in arguments:
        metas = _tensors_of(argument, values)
        use.dtypes.update(meta.dtype for meta in metas)
        tensors += metas[:1]
    if tensors:
        use.keys.add(kernel_key(tensors))


def _tensors_of(argument: Table, values: list[Table]) -> list[TensorMeta]:
    """The properties of an argument's tensor, or of the tensors of its list."""
    kind = argument.number(UNION_TYPE, "<B")
    if kind == VALUE_TENSOR:
        return [_tensor_meta(argument)]
    value = argument.table(UNION_VALUE) if kind in VALUE_TENSOR_LISTS else None
    if value is None:
        return []
    items = [values[item] for item in value.numbers(LIST_ITEMS, "<i") if item >= 0]
    return [_tensor_meta(item) for item in items if item.number(UNION_TYPE, "<B") == VALUE_TENSOR]


def _tensor_meta(value: Table) -> TensorMeta:
    tensor = value.table(UNION_VALUE)
    if tensor is None:
        raise ProgramError("a value has no tensor although it says that it has one")
    dtype = tensor.number(TENSOR_DTYPE, "<b")
    if not 0 <= dtype < MAX_DTYPES:
        raise ProgramError(f"the program is damaged: a tensor has the dtype {dtype}, expected 0 to {MAX_DTYPES - 1}")
    return TensorMeta(dtype, tuple(tensor.numbers(TENSOR_DIM_ORDER, "<B")))


def named_operators(names: str, functions_yaml: Sequence[Path]) -> list[str]:
    """``add,aten::mul.out``: all overloads of `add` in the files, and the one of `mul`. Raises ValueError."""
    from .functions_yaml import load_merged

    known = [entry.schema.qualified_name for entry in load_merged(functions_yaml)]
    found: list[str] = []
    for name in filter(None, re.split(r"[,; ]+", names)):
        full = name if "::" in name else f"aten::{name}"
        overloads = [operator for operator in known if full in (operator, operator.partition(".")[0])]
        if not overloads:
            raise ProgramError(
                f"no operator {name} in {', '.join(map(str, functions_yaml))}; "
                "expected names such as add or aten::add.out"
            )
        found += overloads
    return found


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m codegen.program_operators", description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, help="a .pte file")
    parser.add_argument(
        "--functions-yaml",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="says which function implements an operator; if several files have an operator, the first one counts",
    )
    parser.add_argument(
        "--sources", type=Path, action="append", default=[], metavar="FOLDER", help="print the files that they need"
    )
    parser.add_argument("--backends", action="store_true", help="print the backends to which it delegates instead")
    parser.add_argument("--operators", default="", metavar="ADD,MUL", help="also these, with all of their overloads")
    options = parser.parse_args(arguments)
    if not options.functions_yaml and (options.sources or options.operators):
        parser.error("--sources and --operators need --functions-yaml")
    try:
        if options.backends:
            print("\n".join(program_backends(read_file(options.program))))
            return 0
        operators = program_operators(read_file(options.program))
        if options.operators:
            operators = sorted({*operators, *named_operators(options.operators, options.functions_yaml)})
        if not options.sources:
            print("\n".join(operators))
            return 0
        from .functions_yaml import load_merged, select
        from .kernel_sources import needed_sources

        functions = [entry.unqualified for entry in select(load_merged(options.functions_yaml), operators)]
        print("\n".join(map(str, needed_sources(functions, options.sources))))
    except (OSError, ValueError) as error:
        print(f"program_operators: {options.program}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
