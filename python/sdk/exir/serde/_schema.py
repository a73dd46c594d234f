# SPDX-License-Identifier: BSD-3-Clause
"""Reads the JSON of a program as the dataclasses of torch's schema, and checks every value.

torch's reader trusts its input: it writes the names of nodes, inputs and weights into Python source and runs it,
evaluates expressions over sizes, imports the modules that the structure of inputs names, and looks functions up by
name. After the checks of this module, data has the types of the schema, names are identifiers, expressions are objects
of SymPy, and targets are operators.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import keyword
import math
import types
import typing
import unicodedata
from collections.abc import Callable
from typing import Any

import torch
from torch._export.serde import schema
from torch._export.serde.union import _Union

from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.graph.trees import check_tree, is_plain
from sdk.exir.serde._sizes import Sizes, check_symbol
from sdk.exir.serde._targets import check_functions, check_source, check_target, has_function

_DEEPEST = 100
"""Limit of nesting in the JSON. A branch's graph is seven levels deeper than the graph that has the branch."""
_SHOWN = 80


def damaged(problem: str) -> ExportError:
    return ExportError(
        ExportErrorType.INVALID_INPUT_TYPE, f"the data is not a serialised program, or is damaged: {problem}"
    )


def identifier(name: str) -> str:
    """A name that becomes a variable of Python source, in which `self` is the module."""
    if not name.isidentifier() or keyword.iskeyword(name) or name == "self" or not _is_itself(name):
        raise damaged(f"{name[:_SHOWN]!r} is not the name of a value")
    return name


def _is_itself(name: str) -> bool:
    """Whether Python source can refer to this name. Python normalises letters of other widths and styles, so that
    `__dict_\N{FULLWIDTH LOW LINE}` is `__dict__`."""
    return unicodedata.normalize("NFKC", name) == name


@functools.cache
def _empty() -> torch.fx.GraphModule:
    return torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())


def _is_attribute(parts: list[str]) -> bool:
    """Whether source that reads a weight or a graph of this name would get an attribute of every module instead, such
    as the method `to_folder`, which writes files."""
    at: Any = _empty()
    found = False
    for part in parts:
        found = hasattr(at, part)
        at = getattr(at, part) if found else _empty()
    return found


def _graph_name(name: str) -> str:
    """The name of a graph that an operator takes, an attribute of the module."""
    if _is_attribute([identifier(name)]):
        raise damaged(f"{name[:_SHOWN]!r} is not the name of a graph, but an attribute of every module")
    return name


def _identifier_or_none(name: str) -> str:
    return identifier(name) if name else name


def _argument(name: str) -> str:
    """The name of an operator's argument, which may be a keyword of Python, such as `from`."""
    if name and not (name.isidentifier() and _is_itself(name)):
        raise damaged(f"{name[:_SHOWN]!r} is not the name of an argument")
    return name


def path(name: str) -> str:
    """The dotted path of a weight, which Python source has as attributes or within quotes."""
    parts = name.split(".")
    if not is_plain(name) or not _is_itself(name) or any(map(_is_special, parts)) or _is_attribute(parts):
        raise damaged(f"{name[:_SHOWN]!r} is not the name of a weight")
    return name


def _plain(name: str) -> str:
    if not is_plain(name):
        raise damaged(f"{name[:_SHOWN]!r} has quotes, backslashes, braces or control characters")
    return name


def _is_special(part: str) -> bool:
    return part.startswith("__") and part.endswith("__")


class ProgramReader:
    """Reads the parts of one program, which share their dynamic sizes."""

    def __init__(self) -> None:
        self._sizes = Sizes()
        self.objects: set[str] = set()
        """The names of the objects that nodes and inputs take."""
        self._checks: dict[tuple[type, str], Callable[[Any], Any]] = {
            **dict.fromkeys(_IDENTIFIERS, identifier),
            **dict.fromkeys(_IDENTIFIERS_OR_NONE, _identifier_or_none),
            **dict.fromkeys(_PATHS, path),
            **dict.fromkeys(_PLAIN, _plain),
            (schema.NamedArgument, "name"): _argument,
            (schema.GraphArgument, "name"): _graph_name,
            (schema.Node, "target"): check_target,
            (schema.Node, "metadata"): _metadata,
            (schema.Argument, "as_operator"): check_target,
            (schema.Argument, "as_custom_obj"): self._object,
            **dict.fromkeys(_ARGUMENTS, _without_functions),
            (schema.Graph, "inputs"): _graph_inputs,
            (schema.SymExpr, "expr_str"): self._sizes.read,
            (schema.ModuleCallSignature, "in_spec"): _input_tree,
            (schema.ModuleCallSignature, "out_spec"): check_tree,
            (schema.ModuleCallSignature, "forward_arg_names"): _argument_names,
            (schema.ExportedProgram, "range_constraints"): _ranges,
        }

    def _object(self, argument: schema.CustomObjArgument) -> schema.CustomObjArgument:
        self.objects.add(argument.name)
        return argument

    def part(self, kind: Any, data: Any) -> Any:
        """`data` as `kind`, a dataclass of the schema. Raises ExportError."""
        try:
            return self._value(kind, data, kind.__name__, 0)
        except ExportError:
            raise
        except (ValueError, RecursionError) as error:
            raise damaged(str(error)[:300]) from error

    def _value(self, kind: Any, data: Any, where: str, depth: int) -> Any:
        if depth > _DEEPEST:
            raise damaged(f"{where} nests more than {_DEEPEST} deep")
        origin = typing.get_origin(kind)
        if origin in (typing.Union, types.UnionType):
            first, _ = typing.get_args(kind)
            return None if data is None else self._value(first, data, where, depth)
        if origin is list:
            return [self._value(typing.get_args(kind)[0], item, where, depth + 1) for item in _of(list, data, where)]
        if origin is dict:
            value = typing.get_args(kind)[1]
            return {key: self._value(value, item, where, depth + 1) for key, item in _of(dict, data, where).items()}
        if issubclass(kind, _Union):
            return self._union(kind, data, where, depth)
        if dataclasses.is_dataclass(kind):
            return self._dataclass(kind, data, where, depth)
        if issubclass(kind, enum.IntEnum):
            if type(data) is not int or data not in _values(kind):
                raise damaged(f"{where} is {_shown(data)}, expected {kind.__name__}")
            return data
        if kind is float:
            return _float(data, where)
        if kind is int and where in _MAY_BE_INFINITE and data in (math.inf, -math.inf):
            return data
        return _of(kind, data, where)

    def _union(self, kind: Any, data: Any, where: str, depth: int) -> Any:
        if len(_of(dict, data, where)) != 1:
            raise damaged(f"{where} has {len(data)} values, expected one")
        ((tag, value),) = data.items()
        hints = _hints(kind)
        if tag not in hints:
            raise damaged(f"{where} is {_shown(tag)}, expected {kind.__name__}")
        if tag == "as_none":
            return kind.create(as_none=True)  # true, or [] of older versions
        return kind.create(**{tag: self._field(kind, tag, hints[tag], value, depth)})

    def _dataclass(self, kind: Any, data: Any, where: str, depth: int) -> Any:
        _of(dict, data, where)
        fields = {}
        for name, hint in _hints(kind).items():
            if name in data:
                fields[name] = self._field(kind, name, hint, data[name], depth)
            elif name in _required(kind):
                raise damaged(f"{where} has no {name!r}")
        made = kind(**fields)
        return check_functions(made) if kind is schema.Node else made

    def _field(self, kind: Any, name: str, hint: Any, data: Any, depth: int) -> Any:
        value = self._value(hint, data, f"{kind.__name__}.{name}", depth + 1)
        check = self._checks.get((kind, name))
        return value if check is None or value is None else check(value)


_IDENTIFIERS = (
    *((kind, "name") for kind in (schema.TensorArgument, schema.Node)),
    *((kind, "as_name") for kind in (schema.SymIntArgument, schema.SymFloatArgument, schema.SymBoolArgument)),
)
_IDENTIFIERS_OR_NONE = tuple(
    (kind, "name") for kind in (schema.TokenArgument, schema.CustomObjArgument, schema.InputToConstantInputSpec)
)
_PATHS = (
    *((schema.InputToParameterSpec, "parameter_name"), (schema.InputToBufferSpec, "buffer_name")),
    *((schema.InputToTensorConstantSpec, "tensor_constant_name"), (schema.InputToCustomObjSpec, "custom_obj_name")),
    *((schema.BufferMutationSpec, "buffer_name"), (schema.ParameterMutationSpec, "parameter_name")),
    (schema.GradientToParameterSpec, "parameter_name"),
)
_PLAIN = (
    *((schema.GradientToUserInputSpec, "user_input_name"), (schema.UserInputMutationSpec, "user_input_name")),
    (schema.CustomObjArgument, "class_fqn"),
)
_ARGUMENTS = (
    (schema.Graph, "outputs"),
    *((schema.ModuleCallSignature, name) for name in ("inputs", "outputs")),
)
_MAY_BE_INFINITE = ("RangeConstraint.min_val", "RangeConstraint.max_val")
"""Fields that ExecuTorch writes as `Infinity` if there is no bound."""


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of the fields, without what `Annotated` adds."""
    return typing.get_type_hints(kind, vars(schema))


@functools.cache
def _required(kind: Any) -> frozenset[str]:
    missing = dataclasses.MISSING
    return frozenset(f.name for f in dataclasses.fields(kind) if f.default is missing and f.default_factory is missing)


@functools.cache
def _values(kind: type[enum.IntEnum]) -> frozenset[int]:
    return frozenset(member.value for member in kind)


def _shown(data: Any) -> str:
    return repr(data)[:_SHOWN]


def _of(kind: type, data: Any, where: str) -> Any:
    if type(data) is not kind:
        raise damaged(f"{where} is {type(data).__name__} {_shown(data)}, expected {kind.__name__}")
    if isinstance(data, int) and not -(1 << 63) <= data < 1 << 64:
        raise damaged(f"{where} is a number of more than 64 bits")
    return data


def _float(data: Any, where: str) -> float:
    if type(data) in (int, float) or data in ("Infinity", "-Infinity", "NaN"):
        try:
            return float(data)
        except OverflowError:
            pass
    raise damaged(f"{where} is {_shown(data)}, expected a number")


def _without_functions(arguments: list[schema.Argument]) -> list[schema.Argument]:
    if any(map(has_function, arguments)):
        raise damaged("an input or output of a graph is a graph or an operator")
    return arguments


def _graph_inputs(inputs: list[schema.Argument]) -> list[schema.Argument]:
    for argument in _without_functions(inputs):
        if argument.type == "as_string" and not is_plain(argument.as_string):
            raise damaged(f"an input {_shown(argument.as_string)} has quotes, backslashes, braces or control signs")
    return inputs


def _input_tree(text: str) -> str:
    return check_tree(text, as_source=True)


def _argument_names(names: list[str]) -> list[str]:
    return [identifier(name) for name in names]


def _ranges(ranges: dict[str, Any]) -> dict[str, Any]:
    for name in ranges:
        check_symbol(name)
    return ranges


def _metadata(metadata: dict[str, str]) -> dict[str, str]:
    """Checks and returns a node's metadata, which tools show. Readers of the JSON within it check that themselves.

    With FX_GRAPH_SHOW_META=1, torch writes the metadata into the source of a graph, between triple quotes. Such quotes
    are in honest programs, too, whose stack traces show lines with them."""
    for source in filter(None, metadata.get("source_fn_stack", "").split(";")):
        check_source(source.rpartition(",")[2])
    return {
        name: json.dumps(_unquoted(json.loads(text))) if name in ("custom", "from_node") else _unquoted(text)
        for name, text in metadata.items()
    }


def _unquoted(value: Any) -> Any:
    """JSON whose texts do not end a text between triple quotes."""
    if isinstance(value, dict):
        return {_unquoted(key): _unquoted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unquoted(item) for item in value]
    return value.replace('"""', "'''") if isinstance(value, str) else value
