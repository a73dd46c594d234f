# SPDX-License-Identifier: BSD-3-Clause
"""Finds public names of one package that another package lacks, for code that uses them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from public_names import Definition, Function, Package, Signature, of_method


def gaps(theirs: Package, ours: Package, module: str = "") -> Iterator[str]:
    """One line for each module, name, member or argument below the module `module` of `theirs` that `ours` lacks.

    `a.b` is a module or a name, `a.b.C.d` a member of a class, `a.b.f(x)` an argument that cannot be given by its name,
    `a.b.f(0: x)` one that cannot be given at its position, `a.b.f(x=1)` a default that differs, and `a.b.f(needs x)` an
    argument that only `ours` requires. Members of a missing name are not reported, and neither are the positions of
    arguments after the first one that differs.
    """
    their_module, our_module = (f"{package.name}{module and '.'}{module}" for package in (theirs, ours))
    for name, definition in theirs.public(their_module).items():
        full = f"{module}{module and '.'}{name}"
        found = ours.find(our_module, name)
        if found is None:
            yield full
        # A package's copy of a name is compared where the name is public, too.
        elif definition.module == their_module or "._" in definition.module:
            yield from of_definition(full, definition, found)
    for inside in theirs.submodules(their_module):
        path = inside.removeprefix(f"{theirs.name}.")
        if ours.has(f"{ours.name}.{path}"):
            yield from gaps(theirs, ours, path)
        else:
            yield path


def of_definition(name: str, theirs: Definition, ours: Definition) -> Iterator[str]:
    if theirs.node is None or ours.node is None:
        return
    yield from of_signatures(name, theirs.signature, ours.signature)
    if not isinstance(theirs.node, ast.ClassDef) or not isinstance(ours.node, ast.ClassDef):
        return
    for member, definition in theirs.members.items():
        found = ours.member(member)
        if found is None:
            yield f"{name}.{member}"
        elif isinstance(definition.node, Function) and isinstance(found.node, Function):
            yield from of_signatures(f"{name}.{member}", of_method(definition.node), of_method(found.node))


def of_signatures(name: str, theirs: Signature | None, ours: Signature | None) -> Iterator[str]:
    if theirs is None or ours is None:
        return
    named = {p.name: p for p in ours.parameters}
    places = {p.place for p in ours.parameters}
    moved = ours.any_place
    for each in theirs.parameters:
        mine = named.get(each.name)
        if mine is None and not ours.any_name and not each.name.startswith("_"):
            yield f"{name}({each.name})"
        if not moved and each.place is not None and each.place not in ({mine.place} if mine else places):
            moved = True
            yield f"{name}({each.place}: {each.name})"
        if mine is not None and not each.needed and (mine.needed or differ(each.default, mine.default)):
            yield f"{name}({each.name}={ast.unparse(each.default) if each.default else '...'})"
    known = {p.name for p in theirs.parameters}
    yield from (f"{name}(needs {p.name})" for p in ours.parameters if p.needed and p.name not in known)


def differ(theirs: ast.expr | None, ours: ast.expr | None) -> bool:
    """Whether both are literals with different values."""
    try:
        return theirs is not None and ours is not None and ast.literal_eval(theirs) != ast.literal_eval(ours)
    except ValueError:
        return False
