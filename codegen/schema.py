# SPDX-License-Identifier: BSD-3-Clause
"""Operator schemas: the text form that PyTorch uses, parsed, and its C++ signature.

The grammar is the one of ``native_functions.yaml``::

    namespace::name.overload(Tensor self, int[2] stride=[], *, Tensor(a!) out) -> Tensor(a!)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from .literals import CPP_KEYWORDS, is_identifier

SCHEMA_TABLE = Path(__file__).with_name("aten_schemas.txt")

# Types as passed to a kernel. A Sym type is its plain type at run time.
_VALUE_TYPES = {
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "str": "std::string_view",
    "ScalarType": "::executorch::aten::ScalarType",
    "MemoryFormat": "::executorch::aten::MemoryFormat",
    "Layout": "::executorch::aten::Layout",
    "Device": "::executorch::aten::Device",
}
_TENSOR = "::executorch::aten::Tensor"
_SCALAR = "::executorch::aten::Scalar"
_ARRAY = "::executorch::aten::ArrayRef<{}>"
_OPTIONAL = "std::optional<{}>"

_NAME = re.compile(r"(?:(?P<namespace>[A-Za-z_]\w*)::)?(?P<name>[A-Za-z_]\w*)(?:\.(?P<overload>\w+))?", re.ASCII)
# Names of parameters of generated functions besides those of the schema.
_OTHER_PARAMETERS = ("context", "kernel_context", "kernel_result")
_TYPE = re.compile(
    r"(?P<base>[A-Za-z]+)(?:\((?P<alias>\w+(?:\s*->\s*\w+)?)(?P<write>!)?\))?(?P<inner>\?)?(?P<list>\[\d*\])?(?P<outer>\?)?"
)
_RETURN = re.compile(r"Tensor\(\w+!\)(?:\s+[A-Za-z_]\w*)?")  # the name of a result has no meaning here


class SchemaError(ValueError):
    """A schema, or its YAML entry, does not describe an operator that a kernel can implement."""


@dataclass(frozen=True)
class Argument:
    """One argument. ``item_optional`` is the ``?`` before ``[]``, ``optional`` the one at the end."""

    name: str
    base: str
    is_list: bool = False
    item_optional: bool = False
    optional: bool = False
    written: bool = False
    keyword_only: bool = False

    @property
    def is_tensor(self) -> bool:
        """True for a single tensor (optional or not), which is what a kernel key describes."""
        return self.base == "Tensor" and not self.is_list

    def cpp_type(self) -> str:
        """The C++ parameter type."""
        if self.base == "Tensor" and not self.is_list:
            if self.optional:
                return f"const {_OPTIONAL.format(_TENSOR)}&"
            return f"{_TENSOR}&" if self.written else f"const {_TENSOR}&"
        if self.base == "Scalar" and not self.is_list:
            return f"const {_OPTIONAL.format(_SCALAR) if self.optional else _SCALAR}&"
        value = _TENSOR if self.base == "Tensor" else _SCALAR if self.base == "Scalar" else _VALUE_TYPES[self.base]
        if self.is_list:
            value = _ARRAY.format(_OPTIONAL.format(value) if self.item_optional else value)
        return _OPTIONAL.format(value) if self.optional else value


@dataclass(frozen=True)
class Schema:
    """A parsed operator schema."""

    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]
    text: str = field(default="", compare=False)  # the parsed text

    @property
    def unqualified_text(self) -> str:
        """The schema without its namespace, as PyTorch's registration expects it."""
        return self.text.strip().removeprefix(f"{self.namespace}::")

    @property
    def unqualified_name(self) -> str:
        """``add.out`` for ``aten::add.out``."""
        return self.qualified_name.partition("::")[2]

    @property
    def output_index(self) -> int:
        """The index of the first argument that the operator writes."""
        return next(index for index, argument in enumerate(self.arguments) if argument.written)

    @property
    def qualified_name(self) -> str:
        """The name in a program and in the kernel registry, e.g. ``aten::add.out``."""
        return f"{self.namespace}::{self.name}" + (f".{self.overload}" if self.overload else "")

    def cpp_parameters(self) -> str:
        """The kernel's parameter list after its context."""
        return ", ".join(f"{argument.cpp_type()} {argument.name}" for argument in self.arguments)

    def cpp_arguments(self) -> str:
        """The names of the parameters, for calls."""
        return ", ".join(argument.name for argument in self.arguments)

    def cpp_name(self) -> str:
        """The operator's function in Functions.h: ``add_outf``; an in-place operator keeps its name."""
        return f"{self.name}_outf" if self.arguments[self.output_index].keyword_only else self.name

    def cpp_return(self) -> str:
        """``void``, ``Tensor&`` or a tuple of ``Tensor&``."""
        tensors = [f"{_TENSOR}&" for _ in self.returns]
        if not tensors:
            return "void"
        return tensors[0] if len(tensors) == 1 else f"std::tuple<{', '.join(tensors)}>"


def parse_schema(text: str) -> Schema:
    """Parses one schema and checks that it is one a kernel can implement (an out variant or an in-place operator)."""
    head, separator, rest = text.strip().partition("(")
    match = _NAME.fullmatch(head.strip())
    close = rest.rfind(") ->")
    if not separator or not match or close < 0:
        raise SchemaError(f"'{text}' is not an operator schema; expected 'ns::name.overload(arguments) -> returns'")
    returns = _split(_strip_parentheses(rest[close + 4 :].strip()))
    schema = Schema(
        namespace=match["namespace"] or "aten",
        name=match["name"],
        overload=match["overload"] or "",
        arguments=tuple(_parse_arguments(rest[:close], text)),
        returns=tuple(returns),
        text=text,
    )
    _check_is_out_variant(schema, text)
    for name in (schema.namespace, schema.cpp_name()):
        if name in CPP_KEYWORDS or name == "std":
            raise SchemaError(f"'{text}' needs the C++ name '{name}', which is reserved; choose another one")
    return schema


@lru_cache(maxsize=1)
def aten_schemas() -> dict[str, str]:
    """The checked-in ATen schemas: qualified name -> schema text."""
    lines = SCHEMA_TABLE.read_text(encoding="utf-8").splitlines()
    return {line.partition("(")[0]: line for line in lines if line and not line.startswith("#")}


def check_operator_name(name: object) -> str:
    """The name. Raises SchemaError if it is not ``namespace::name.overload``, with or without an overload."""
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None or not match["namespace"]:
        raise SchemaError(
            f"{str(name)[:100]!r} is not the name of an operator; expected namespace::name.overload, such as "
            "aten::add.out"
        )
    return match[0]


def _check_is_out_variant(schema: Schema, text: str) -> None:
    written = [argument for argument in schema.arguments if argument.written]
    if not written:
        raise SchemaError(
            f"'{text}' returns new values; kernels implement out variants: "
            "add '*, Tensor(a!) out' as the last argument and return 'Tensor(a!)'"
        )
    if any(argument.base != "Tensor" for argument in written):
        raise SchemaError(f"'{text}' writes to an argument that is not a Tensor")
    for value in schema.returns:
        if not _RETURN.fullmatch(value):
            raise SchemaError(f"'{text}' returns '{value}'; a kernel can only return its out tensors or ()")


def _parse_arguments(text: str, schema: str) -> list[Argument]:
    arguments: list[Argument] = []
    keyword_only = False
    for item in _split(text):
        if item == "*":
            keyword_only = True
            continue
        declaration = item.partition("=")[0].strip()
        type_text, name = declaration.rsplit(maxsplit=1) if len(declaration.split()) > 1 else ("", declaration)
        match = _TYPE.fullmatch(type_text.replace("SymInt", "int").replace("SymBool", "bool"))
        if not match:
            raise SchemaError(f"cannot read the argument '{item}' of '{schema}'")
        if not is_identifier(name) or name in _OTHER_PARAMETERS:
            raise SchemaError(
                f"the argument '{item}' of '{schema}' is named '{name}'; expected a name that C++ takes, other than "
                f"{', '.join(_OTHER_PARAMETERS)}"
            )
        if match["base"] not in _VALUE_TYPES and match["base"] not in ("Tensor", "Scalar"):
            raise SchemaError(
                f"the argument '{item}' of '{schema}' has a type that kernels cannot take; use one of Tensor, Scalar, "
                f"{', '.join(_VALUE_TYPES)}, their optionals and lists"
            )
        is_list = match["list"] is not None
        arguments.append(
            Argument(
                name=name,
                base=match["base"],
                is_list=is_list,
                item_optional=is_list and match["inner"] is not None,
                optional=match["outer"] is not None or (not is_list and match["inner"] is not None),
                written=match["write"] is not None,
                keyword_only=keyword_only,
            )
        )
    return arguments


def _strip_parentheses(text: str) -> str:
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _split(text: str) -> list[str]:
    """Splits at the commas that are outside brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]
