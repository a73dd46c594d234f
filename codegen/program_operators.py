# SPDX-License-Identifier: BSD-3-Clause
"""The operators that a .pte needs, for selective builds: ``python -m codegen.program_operators model.pte``.

Prints one name (``aten::add.out``) a line; with ``--sources FOLDER``, the C++ files in that folder that implement them.
Needs neither torch nor the exporter: it reads the few tables of the flatbuffer that name operators.
"""

from __future__ import annotations

import argparse
import re
import struct
import sys
from pathlib import Path

# Positions of fields in the tables of sdk/cpp/executorch/schema/program.fbs, counted from 0.
PROGRAM_EXECUTION_PLAN = 1
PLAN_OPERATORS = 6
OPERATOR_NAME, OPERATOR_OVERLOAD = 0, 1


class ProgramError(ValueError):
    """A file that is no program, or a damaged one."""


class _Table:
    """A table of a flatbuffer (flatbuffers.dev/internals): its vtable says where each field is."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data, self._position = data, position
        self._vtable = position - _read("<i", data, position)
        self._vtable_size = _read("<H", data, self._vtable)

    def _field(self, index: int) -> int | None:
        """Where the thing begins that a field refers to; None for a field that is absent."""
        entry = 4 + 2 * index
        offset = _read("<H", self._data, self._vtable + entry) if entry < self._vtable_size else 0
        if offset == 0:
            return None
        position = self._position + offset
        return position + _read("<I", self._data, position)

    def tables(self, index: int) -> list[_Table]:
        start = self._field(index)
        if start is None:
            return []
        count = _read("<I", self._data, start)
        if count > len(self._data):
            raise ProgramError("a list is longer than the file")
        entries = (start + 4 + 4 * i for i in range(count))
        return [_Table(self._data, entry + _read("<I", self._data, entry)) for entry in entries]

    def text(self, index: int) -> str:
        start = self._field(index)
        if start is None:
            return ""
        length = _read("<I", self._data, start)
        return self._data[start + 4 : start + 4 + length].decode("utf-8")


def _read(layout: str, data: bytes, position: int) -> int:
    if position < 0:
        raise ProgramError("an offset points before the file")
    (value,) = struct.unpack_from(layout, data, position)
    return int(value)


def program_operators(data: bytes) -> list[str]:
    """The operators of all methods of a program, sorted, each once."""
    if data[4:6] != b"ET" or not data[6:8].isdigit():
        raise ProgramError(f"bytes 4 to 7 are {data[4:8]!r}, expected b'ET12'; is it a .pte file?")
    try:
        program = _Table(data, _read("<I", data, 0))
        operators = [
            (operator.text(OPERATOR_NAME), operator.text(OPERATOR_OVERLOAD))
            for plan in program.tables(PROGRAM_EXECUTION_PLAN)
            for operator in plan.tables(PLAN_OPERATORS)
        ]
    except (struct.error, UnicodeDecodeError) as error:
        raise ProgramError(f"the program is damaged: {error}") from error
    return sorted({f"{name}.{overload}" if overload else name for name, overload in operators})


def implementing_sources(functions: list[str], folder: Path) -> list[Path]:
    """The files below ``folder`` that may implement one of the functions, and those that hold no operator (op_*.cpp).

    A function that no file mentions is made by a macro, from its name without ``_out``.
    """
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.cpp"))}
    found = {path for path in texts if not path.name.startswith("op_")}
    for function in functions:
        for word in (function, function.removesuffix("_out")):
            mentions = {path for path, text in texts.items() if re.search(rf"\b{re.escape(word)}\b", text)}
            found |= mentions
            if mentions:
                break
    return sorted(found)


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m codegen.program_operators", description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, help="a .pte file")
    parser.add_argument("--functions-yaml", type=Path, help="says which function implements an operator")
    parser.add_argument("--sources", type=Path, help="print the files in this folder that implement the operators")
    options = parser.parse_args(arguments)
    try:
        operators = program_operators(options.program.read_bytes())
        if options.sources is None:
            print("\n".join(operators))
            return 0
        if options.functions_yaml is None:
            parser.error("--sources needs --functions-yaml")
        from .functions_yaml import load_functions, select

        entries = select(load_functions(options.functions_yaml), operators)
        functions = [entry.function.rpartition("::")[2] for entry in entries]
        print("\n".join(map(str, implementing_sources(functions, options.sources))))
    except (OSError, ProgramError) as error:
        print(f"program_operators: {options.program}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
