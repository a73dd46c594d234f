# SPDX-License-Identifier: BSD-3-Clause
"""Names and types of a wrapper in Kotlin, Swift and C++."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2

from sdk.exir.scalar_type import ScalarType
from sdk.export.wrappers.description import ProgramSpec

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
_SWIFT_DTYPES = {ScalarType.HALF: "half", ScalarType.BFLOAT16: "bFloat16"}
_KOTLIN_DTYPES = {
    ScalarType.BYTE: "UINT8",
    ScalarType.CHAR: "INT8",
    ScalarType.SHORT: "INT16",
    ScalarType.INT: "INT32",
    ScalarType.LONG: "INT64",
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
    ScalarType.BOOL: "Bool",
    ScalarType.BFLOAT16: "BFloat16",
    ScalarType.UINT16: "UInt16",
    ScalarType.UINT32: "UInt32",
    ScalarType.UINT64: "UInt64",
}
_SCALARS = {
    "swift": {"int": "Int", "double": "Double", "bool": "Bool", "string": "String"},
    "kotlin": {"int": "Long", "double": "Double", "bool": "Boolean", "string": "String"},
    "cpp": {"int": "int64_t", "double": "double", "bool": "bool"},
}


def wrapper_name(file: str) -> str:
    """The class for a program's file: `mobilenet_v2.pte` -> `MobilenetV2`."""
    words = re.findall(r"[A-Za-z0-9]+", Path(file).stem)
    name = "".join(word[0].upper() + word[1:] for word in words)
    return name if name[:1].isalpha() else f"Model{name}"


def camel(name: str) -> str:
    """`input_ids` -> `inputIds`."""
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def render(program: ProgramSpec, language: str, name: str | None = None, package: str = "model") -> str:
    """The source of the class that wraps `program`.

    Args:
        program: the program to wrap.
        language: one of LANGUAGES.
        name: the class; by default after the program's file.
        package: the package of a Kotlin class and the namespace of a C++ class.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(camel=camel, pascal=lambda name: wrapper_name(name))
    template = environment.get_template(f"wrapper{LANGUAGES[language]}.jinja")
    return template.render(
        program=program,
        name=name or wrapper_name(program.file_name),
        package=package,
        scalars=_SCALARS[language],
        swift_elements=_SWIFT_ELEMENTS,
        swift_dtypes=_SWIFT_DTYPES,
        kotlin_dtype=lambda dtype: _KOTLIN_DTYPES.get(dtype, dtype.name),
        cpp_dtypes=_CPP_DTYPES,
    )
