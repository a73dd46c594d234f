# SPDX-License-Identifier: BSD-3-Clause
"""The public names of a Python package and their signatures, read from its source without importing it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

# Folders whose code is not for users.
PRIVATE_FOLDERS = {"test", "tests", "third-party", "third_party"}
# Names that only help to write or to type a module.
HELPERS = {"getLogger", "Library", "NewType", "ParamSpec", "TypeVar"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Parameter(NamedTuple):
    """A parameter of a function. `place` is its index, or None if it is keyword-only."""

    name: str
    place: int | None
    default: ast.expr | None
    needed: bool


@dataclass(frozen=True)
class Signature:
    """The parameters of a function. `any_place`: whether it has ``*args``; `any_name`: whether it has ``**kwargs``."""

    parameters: tuple[Parameter, ...]
    any_place: bool = False
    any_name: bool = False


@dataclass(frozen=True)
class Definition:
    """The definition of a module's name. `node` is None if the source of the package does not have it."""

    package: Package = field(repr=False)
    module: str
    node: Function | ast.ClassDef | None

    @cached_property
    def bases(self) -> list[Definition]:
        """The class and those that it inherits from, nearest first; one with node None for each that is unknown."""
        if not isinstance(self.node, ast.ClassDef):
            return [self]
        found = [self]
        for base in self.node.bases:
            base = base.value if isinstance(base, ast.Subscript) else base
            if last_name(base) in {"object", "ABC", "Protocol", "Generic"}:
                continue
            parent = self.package.value(self.module, base)
            found += [Definition(self.package, self.module, None)] if parent is None or parent is self else parent.bases
        return found

    @property
    def fields(self) -> list[tuple[str, ast.expr | None]]:
        """The fields that a dataclass or a named tuple is made from, with their defaults."""
        found: dict[str, ast.expr | None] = {}
        for each in reversed(self.bases):
            if isinstance(each.node, ast.ClassDef):
                found |= dict(annotated(each.node))
        return list(found.items())

    @property
    def signature(self) -> Signature | None:
        """The signature of a call of it; None if the source does not say it."""
        if isinstance(self.node, Function):
            return signature(self.node, skip=0)
        if not isinstance(self.node, ast.ClassDef):
            return None
        for each in self.bases:
            if each.node is None or each.is_enumeration:
                return None
            assert isinstance(each.node, ast.ClassDef)
            constructors = {f.name: f for f in each.node.body if isinstance(f, Function)}
            for name in ("__init__", "__new__"):
                if name in constructors:
                    return signature(constructors[name], skip=1)
            if each.has_fields:
                return Signature(
                    tuple(Parameter(name, i, value, value is None) for i, (name, value) in enumerate(each.fields))
                )
        return Signature(())

    @property
    def has_fields(self) -> bool:
        assert isinstance(self.node, ast.ClassDef)
        decorators = {last_name(d.func if isinstance(d, ast.Call) else d) for d in self.node.decorator_list}
        return "dataclass" in decorators or any(last_name(base) == "NamedTuple" for base in self.node.bases)

    @property
    def is_enumeration(self) -> bool:
        assert isinstance(self.node, ast.ClassDef)
        return any(last_name(base) in {"Enum", "IntEnum", "IntFlag", "StrEnum"} for base in self.node.bases)

    @cached_property
    def members(self) -> dict[str, Definition]:
        """The public names that the source of the class defines: methods, properties, attributes."""
        found: dict[str, Definition] = {}
        assert isinstance(self.node, ast.ClassDef)
        for statement in self.node.body:
            if isinstance(statement, Function):
                found[statement.name] = Definition(self.package, self.module, statement)
            for name in assigned(statement):
                found[name] = Definition(self.package, self.module, None)
        return {name: value for name, value in found.items() if not name.startswith("_")}

    def member(self, name: str) -> Definition | None:
        """The attribute `name`, also one that is inherited or assigned to `self`; None if it does not exist."""
        unknown = Definition(self.package, self.module, None)
        for each in self.bases:
            if not isinstance(each.node, ast.ClassDef):
                return unknown
            if name in each.members:
                return each.members[name]
            if name in each.of_objects or "__getattr__" in each.of_objects:
                return unknown
        return None

    @cached_property
    def of_objects(self) -> set[str]:
        """Names that methods assign to `self`, and `__getattr__`."""
        assert self.node is not None
        found = {f.name for f in self.node.body if isinstance(f, Function) and f.name == "__getattr__"}
        for node in ast.walk(self.node):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and last_name(node.value) == "self":
                found.add(node.attr)
        return found


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def annotated(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr | None]]:
    """The annotated attributes that a dataclass takes when it is made."""
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        value = statement.value
        if isinstance(value, ast.Call) and last_name(value.func) == "field":
            given = {k.arg: k.value for k in value.keywords}
            if "init" in given and ast.unparse(given["init"]) == "False":
                continue
            value = given.get("default") or given.get("default_factory")
        if "ClassVar" not in ast.dump(statement.annotation):
            yield statement.target.id, value


def signature(node: Function, skip: int) -> Signature:
    """The signature of a function without its first `skip` parameters."""
    arguments = node.args
    places = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(places) - len(arguments.defaults)) + list(arguments.defaults)
    found = [Parameter(p.arg, i - skip, d, d is None) for i, (p, d) in enumerate(zip(places, defaults, strict=True))][
        skip:
    ]
    found += [
        Parameter(p.arg, None, d, d is None) for p, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return Signature(tuple(found), arguments.vararg is not None, arguments.kwarg is not None)


def of_method(node: Function) -> Signature:
    static = any(last_name(d) == "staticmethod" for d in node.decorator_list)
    return signature(node, skip=0 if static else 1)


def assigned(statement: ast.stmt) -> Iterator[str]:
    """Yields the names that the statement assigns, except loggers, type variables and so on."""
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Call) and last_name(value.func) in HELPERS:
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    for target in targets:
        yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def strings(node: ast.expr, namespace: dict[str, ast.stmt]) -> Iterator[tuple[str, str]]:
    """The (key, value) of a dict of strings that the expression makes; ("name", "") of other collections."""
    match node:
        case ast.Dict():
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, next(strings(value, namespace), ("", ""))[0]
        case ast.Call(func=ast.Attribute(attr="fromkeys"), args=[names, value]):
            where = next(strings(value, namespace), ("", ""))[0]
            yield from ((name, where) for name, _ in strings(names, namespace))
        case ast.Call(args=[collection]) | ast.Starred(value=collection):
            yield from strings(collection, namespace)
        case ast.List() | ast.Tuple() | ast.Set():
            for each in node.elts:
                yield from strings(each, namespace)
        case ast.Constant(value=str(text)):
            yield text, ""
        case ast.Name() if isinstance(statement := namespace.get(node.id), ast.Assign | ast.AnnAssign):
            if statement.value is not None:
                yield from strings(statement.value, namespace)


class Module:
    """A module's source, and the values that its names are bound to, before anything is resolved."""

    def __init__(self, name: str, file: Path | None) -> None:
        self.name = name
        self.is_package = file is None or file.stem == "__init__"
        self.bound: dict[str, ast.stmt] = {}
        self.stars: list[str] = []
        self.imported: dict[str, tuple[str, str]] = {}
        """For each imported name, the module and the name there; "" for the module itself."""
        self.lazy: dict[str, tuple[str, str]] = {}
        if file is not None:
            self._read(ast.parse(file.read_bytes()).body)
        self._read_lazy()

    def absolute(self, module: str, level: int) -> str:
        if not level:
            return module
        parents = self.name.split(".")[: None if self.is_package and level == 1 else -(level - self.is_package)]
        return ".".join([*parents, *([module] if module else [])])

    def _read(self, body: list[ast.stmt]) -> None:
        for statement in body:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    self.bound[statement.name] = statement
                case ast.Import():
                    for each in statement.names:
                        first = each.name.partition(".")[0]
                        self.imported[each.asname or first] = (each.name if each.asname else first, "")
                case ast.ImportFrom():
                    where = self.absolute(statement.module or "", statement.level)
                    for each in statement.names:
                        if each.name == "*":
                            self.stars.append(where)
                        else:
                            self.imported[each.asname or each.name] = (where, each.name)
                case ast.If():
                    if last_name(statement.test) != "TYPE_CHECKING":
                        self._read(statement.body)
                    self._read(statement.orelse)
                case ast.Try():
                    handlers = [s for handler in statement.handlers for s in handler.body]
                    self._read([*handlers, *statement.body, *statement.orelse, *statement.finalbody])
                case ast.With():
                    self._read(statement.body)
                case _:
                    self.bound.update(dict.fromkeys(assigned(statement), statement))

    def _read_lazy(self) -> None:
        """Names that `__getattr__` finds in a dict of this module, or the module's class: name -> module."""
        classes = [c for c in self.bound.values() if isinstance(c, ast.ClassDef)]
        replaced = [c for c in classes if any(last_name(base) == "ModuleType" for base in c.bases)]
        if "__getattr__" not in self.bound and not replaced:
            return
        for statement in list(self.bound.values()):
            for key, where in strings(statement.value, self.bound) if isinstance(statement, ast.Assign) else ():
                if where:
                    self.lazy.setdefault(key, (where if "." in where else f"{self.name}.{where}", key))
        for each in replaced:
            for statement in each.body:
                for name in assigned(statement):
                    self.lazy.setdefault(name, (f"{self.name}.{name}", name))

    @property
    def listed(self) -> set[str]:
        """The names in `__all__`."""
        statement = self.bound.get("__all__")
        return (
            {name for name, _ in strings(statement.value, self.bound)} if isinstance(statement, ast.Assign) else set()
        )


class Package:
    """The package `name` in the folder `root`. `others` has the folders of packages that are not below it: subpackages,
    and packages whose definitions count as well."""

    def __init__(self, name: str, root: Path, others: dict[str, Path]) -> None:
        self.name = name
        self._roots = {name: root} | others
        self._modules: dict[str, Module | None] = {}

    def _place(self, module: str) -> Path | None:
        """The module's path without suffix; None if it belongs to another package."""
        for name, root in reversed(self._roots.items()):
            if module == name or module.startswith(f"{name}."):
                return root.joinpath(*module.split(".")[name.count(".") + 1 :])
        return None

    def _file(self, module: str) -> Path | None:
        place = self._place(module)
        files = (place / "__init__.py", place.with_suffix(".py"), place.with_suffix(".pyi")) if place else ()
        return next((file for file in files if file.is_file()), None)

    def has(self, module: str) -> bool:
        """Whether there is a module of that full name: a file, or a folder with public ones in it."""
        return self._file(module) is not None or any(self.submodules(module))

    def module(self, name: str) -> Module | None:
        """Returns the module with that full name, or None if it does not exist or belongs to another package."""
        if name not in self._modules:
            self._modules[name] = Module(name, self._file(name)) if self.has(name) else None
        return self._modules[name]

    def submodules(self, module: str) -> Iterator[str]:
        """The full names of the public modules directly in the package `module`."""
        folder = self._place(module)
        files = folder.iterdir() if folder and folder.is_dir() else ()
        names = {f.name.partition(".")[0] for f in files if f.suffix in {".py", ".pyi"} or f.is_dir()}
        for name in sorted(names - PRIVATE_FOLDERS):
            private = name.startswith(("_", "test_")) or name.endswith("_test")
            if name.isidentifier() and not private and self.has(f"{module}.{name}"):
                yield f"{module}.{name}"

    def find(self, module: str, name: str, seen: frozenset[tuple[str, str]] = frozenset()) -> Definition | None:
        """Returns the definition of `name` in the module, or None if the module has no such name."""
        source = self.module(module)
        unknown = Definition(self, module, None)
        if source is None:
            return unknown
        if (module, name) in seen:
            return None
        seen |= {(module, name)}
        if name in source.bound:
            statement = source.bound[name]
            if isinstance(statement, Function | ast.ClassDef):
                return Definition(self, module, statement)
            value = getattr(statement, "value", None)
            found = self.value(module, value, seen) if isinstance(value, ast.Name | ast.Attribute) else None
            return found or unknown
        where = source.imported.get(name) or source.lazy.get(name)
        if where is not None:
            place, there = where
            found = self.find(place, there, seen) if there else None
            return found or unknown
        for star in source.stars:
            if not name.startswith("_") and (found := self.find(star, name, seen)) and found.node is not None:
                return found
        found_when_used = "__getattr__" in source.bound and name in source.listed
        return unknown if found_when_used or self.has(f"{module}.{name}") else None

    def value(self, module: str, node: ast.expr, seen: frozenset[tuple[str, str]] = frozenset()) -> Definition | None:
        """Returns the definition of the expression, a name or an attribute of a module, or None if the source does not
        define it."""
        if isinstance(node, ast.Name):
            return self.find(module, node.id, seen)
        if isinstance(node, ast.Attribute):
            place = self.place(module, node.value)
            return self.find(place, node.attr, seen) if place and self.module(place) else None
        return None

    def place(self, module: str, node: ast.expr) -> str | None:
        """Returns the module that the expression refers to."""
        source = self.module(module)
        if isinstance(node, ast.Name) and source is not None and node.id in source.imported:
            where, name = source.imported[node.id]
            return f"{where}.{name}" if name else where if "." not in where else None
        return ast.unparse(node) if isinstance(node, ast.Attribute) else None

    def public(self, module: str) -> dict[str, Definition]:
        """The names that a module offers: its functions, classes, and constants and types (in capitals); the names in
        `__all__`; in a package, the names that it imports from its modules."""
        source = self.module(module)
        assert source is not None
        names = {
            name
            for name, bound in source.bound.items()
            if isinstance(bound, Function | ast.ClassDef) or name[0].isupper()
        }
        names |= source.listed or set(source.lazy)
        if source.is_package:
            names |= {name for name, (where, _) in source.imported.items() if where.startswith(f"{module}.")}
        for star in source.stars:
            names |= set(self.public(star)) if star.startswith(f"{self.name}.") else set()
        found = {name: self.find(module, name) for name in sorted(names) if not name.startswith("_")}
        return {name: value for name, value in found.items() if value is not None}
