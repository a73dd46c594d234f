# SPDX-License-Identifier: BSD-3-Clause
"""Names and types of a wrapper in Kotlin, Swift and C++."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2

from sdk.codegen.literals import comment
from sdk.devtools.element_types import type_name
from sdk.exir.scalar_type import ScalarType
from sdk.export.wrappers.description import MethodSpec, ProgramSpec, ValueSpec
from sdk.export.wrappers.names import (
    Scope,
    camel,
    check_identifier,
    class_of_file,
    literal,
    package_of,
    parameters,
    pascal,
    reserved_for_members,
    snake,
)

LANGUAGES = {"kotlin": ".kt", "swift": ".swift", "cpp": ".h"}
"""The languages, with the suffixes of their files."""

_SWIFT_ELEMENTS = {
    ScalarType.BYTE: "UInt8",
    ScalarType.CHAR: "Int8",
    ScalarType.SHORT: "Int16",
    ScalarType.INT: "Int32",
    ScalarType.LONG: "Int64",
    ScalarType.FLOAT: "Float",
    ScalarType.DOUBLE: "Double",
    ScalarType.BOOL: "Bool",
    ScalarType.UINT16: "UInt16",
    ScalarType.UINT32: "UInt32",
    ScalarType.UINT64: "UInt64",
}
_KOTLIN_DTYPES = {dtype: dtype.name for dtype in ScalarType if not dtype.name.startswith("FLOAT8")} | {
    ScalarType.BYTE: "UINT8",
    ScalarType.CHAR: "INT8",
    ScalarType.SHORT: "INT16",
    ScalarType.INT: "INT32",
    ScalarType.LONG: "INT64",
    ScalarType.COMPLEX32: "COMPLEX_HALF",
    ScalarType.COMPLEX64: "COMPLEX_FLOAT",
    ScalarType.COMPLEX128: "COMPLEX_DOUBLE",
    ScalarType.QUINT4x2: "QINT4X2",
    ScalarType.QUINT2x4: "QINT2X4",
}
_CPP_DTYPES = {
    ScalarType.BYTE: "Byte",
    ScalarType.CHAR: "Char",
    ScalarType.SHORT: "Short",
    ScalarType.INT: "Int",
    ScalarType.LONG: "Long",
    ScalarType.HALF: "Half",
    ScalarType.FLOAT: "Float",
    ScalarType.DOUBLE: "Double",
    ScalarType.COMPLEX32: "ComplexHalf",
    ScalarType.COMPLEX64: "ComplexFloat",
    ScalarType.COMPLEX128: "ComplexDouble",
    ScalarType.BOOL: "Bool",
    ScalarType.QINT8: "QInt8",
    ScalarType.QUINT8: "QUInt8",
    ScalarType.QINT32: "QInt32",
    ScalarType.BFLOAT16: "BFloat16",
    ScalarType.QUINT4x2: "QUInt4x2",
    ScalarType.QUINT2x4: "QUInt2x4",
    ScalarType.BITS16: "Bits16",
    ScalarType.FLOAT8E5M2: "Float8_e5m2",
    ScalarType.FLOAT8E4M3FN: "Float8_e4m3fn",
    ScalarType.FLOAT8E5M2FNUZ: "Float8_e5m2fnuz",
    ScalarType.FLOAT8E4M3FNUZ: "Float8_e4m3fnuz",
    ScalarType.UINT16: "UInt16",
    ScalarType.UINT32: "UInt32",
    ScalarType.UINT64: "UInt64",
}
_SCALARS = {
    "swift": {"int": "Int", "double": "Double", "bool": "Bool", "string": "String"},
    "kotlin": {"int": "Long", "double": "Double", "bool": "Boolean", "string": "String"},
    "cpp": {"int": "int64_t", "double": "double", "bool": "bool"},
}


@dataclass(frozen=True)
class _Value:
    """A parameter or result in a language. The templates read the rest from `spec`."""

    spec: ValueSpec
    name: str

    def __getattr__(self, key: str) -> Any:
        return getattr(self.spec, key)


@dataclass(frozen=True)
class _Method:
    """A method in a language."""

    spec: MethodSpec
    name: str
    output_type: str  # the struct for several outputs
    inputs: list[_Value]
    outputs: list[_Value]

    @property
    def signature(self) -> str:
        return self.spec.signature

    @property
    def arena_bytes(self) -> int:
        return self.spec.arena_bytes


def wrapper_name(file: str) -> str:
    """The class for a program's file: `mobilenet_v2.pte` -> `MobilenetV2`. It can be used in every language."""
    return class_of_file(file, frozenset().union(*map(_reserved, LANGUAGES)))


@cache
def _template(language: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(comment=comment, literal=partial(literal, language))
    return environment.get_template(_template_file(language))


def _template_file(language: str) -> str:
    return f"wrapper{LANGUAGES[language]}.jinja"


@cache
def _reserved(language: str) -> frozenset[str]:
    """Returns the names that neither a class nor its members can have."""
    template = Path(__file__).with_name(_template_file(language)).read_text(encoding="utf-8")
    types = {*_SCALARS[language].values(), *(_SWIFT_ELEMENTS.values() if language == "swift" else ())}
    return reserved_for_members(language, template) | types


def _methods(program: ProgramSpec, language: str, scope: Scope) -> list[_Method]:
    """The methods with names that are unique in the scope of their class."""
    style = str if language == "cpp" else camel
    names = [scope.add(style(snake(method.name, "method"))) for method in program.methods]
    found = []
    for method, name in zip(program.methods, names, strict=True):
        given, made = parameters(language), Scope(frozenset())
        found.append(
            _Method(
                method,
                name,
                scope.add(f"{pascal(name)}Output") if len(method.outputs) > 1 else "",
                [_Value(value, given.add(style(value.name))) for value in method.inputs],
                [_Value(value, made.add(style(value.name))) for value in method.outputs],
            )
        )
    return found


def _kotlin_dtype(dtype: ScalarType) -> str:
    if dtype not in _KOTLIN_DTYPES:
        raise ValueError(f"Kotlin's DType has no {type_name(dtype)}: cast such inputs and outputs in the model")
    return _KOTLIN_DTYPES[dtype]


def render(program: ProgramSpec, language: str, name: str | None = None, package: str = "model") -> str:
    """The source of the class that wraps `program`, in ASCII.

    The program's names are in it as identifiers of the language, as escaped string literals, and in comments, which
    they cannot end. Methods whose names become the same identifier are numbered.

    Args:
        program: the program to wrap.
        language: one of LANGUAGES.
        name: the class; by default after the program's file.
        package: the package of a Kotlin class and the namespace of a C++ class, with `.` or `::` between its parts.

    Raises:
        ValueError: `name` or `package` cannot be used in the language, or it has no type for the elements of a tensor.
    """
    scope = Scope(_reserved(language), has_macros=language == "cpp")
    name = name or wrapper_name(program.file_name)
    check_identifier(language, name, f"the class name `{name}`", scope.reserved)
    scope.taken.add(name)
    return _template(language).render(
        program=program,
        methods=_methods(program, language, scope),
        name=name,
        package=package_of(language, package),
        scalars=_SCALARS[language],
        swift_elements=_SWIFT_ELEMENTS,
        kotlin_dtype=_kotlin_dtype,
        cpp_dtypes=_CPP_DTYPES,
    )
