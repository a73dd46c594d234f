# SPDX-License-Identifier: BSD-3-Clause
"""Public names of ExecuTorch in C++, Kotlin and Swift, as its documents and releases have them, are here or excepted
with a reason. tests/interop compares those of Python with the wheel."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTED = ROOT / "tests/data/documented"
sys.path.insert(0, str(ROOT / "sdk/ios"))

import public_names  # noqa: E402

LANGUAGES = ("cpp", "kotlin", "swift")


def _documented(language: str) -> list[str]:
    lines = [line for line in (DOCUMENTED / f"{language}.txt").read_text().splitlines() if not line.startswith("#")]
    if language != "cpp":
        return lines
    found: list[str] = []
    header = ""
    for line in lines:
        if line.startswith(" "):
            found += [f"{header} {name}" for name in line.split()]
        else:
            header = line.removesuffix(":")
            found.append(header)
    return found


def _exceptions() -> list[dict[str, object]]:
    return yaml.safe_load((DOCUMENTED / "exceptions.yaml").read_text())


# C++: a header has a name if the name occurs in it or in a header of ours that it includes.


@cache
def _code_of(header: str) -> str | None:
    """Returns the header and our headers that it includes, without comments; None if it does not exist."""
    texts, seen, left = [], set(), [header]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        for folder in (ROOT / "sdk/cpp", ROOT):
            # Backends' headers are in their folders.
            path = folder / (name if folder != ROOT else name.removeprefix("executorch/"))
            if path.is_file():
                text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
                texts.append(text)
                left += re.findall(r"#include <(executorch/[^>]+)>", text)
                break
    return "\n".join(texts) if texts and _exists(header) else None


def _exists(header: str) -> bool:
    return (ROOT / "sdk/cpp" / header).is_file() or (ROOT / header.removeprefix("executorch/")).is_file()


def _has_cpp(entry: str) -> bool:
    header, _, name = entry.partition(" ")
    code = _code_of(header)
    return code is not None and (not name or re.search(rf"\b{re.escape(name)}\b", code) is not None)


# Kotlin: javap's output for the classes, without packages.


def _without_packages(text: str) -> str:
    return re.sub(r"\b(?:[a-z][a-z0-9]*\.)+(?=[A-Z])", "", text)


@cache
def _kotlin_members() -> frozenset[str]:
    found = set()
    outer = ""
    for line in (ROOT / "sdk/android/executorch_android/api/executorch_android.api").read_text().splitlines():
        if line.startswith("public"):
            name = re.search(r"(?:class|interface) org\.pytorch\.executorch\.([\w.$]+)", line)
            outer = name[1] if name else ""
        elif outer and line.startswith("  "):
            member = re.sub(r"\b(?:public|final|abstract|default|synchronized) ", "", line.strip().rstrip(";"))
            found.add(f"{outer}: {_without_packages(member)}")
            found.add(f"{outer}: {_without_result(_without_packages(member))}")
    # Constants are fields of the class; the list does not mark them as `static`.
    return frozenset(found | {re.sub(r": static (?!.*\()", ": ", each) for each in found})


def _without_result(member: str) -> str:
    return re.sub(r"^(?:static )?\S+(?:<[^(]*>)? (?=[\w$]+\()", "", member)


# Swift: the labels of parameters, of which those with default values may be left out.


@cache
def _swift_members() -> frozenset[str]:
    return frozenset(each for module in public_names.MODULES for each in _swift_paths(module))


def _swift_paths(module: str) -> Iterator[str]:
    protocols = {}
    for path in (ROOT / "sdk/ios/Sources" / module).glob("*.swift"):
        text = path.read_text(encoding="utf-8")
        for declaration in public_names.declarations(text):
            yield from _calls_of(module, declaration)
        # The requirements of a public protocol are public.
        for name, body in re.findall(r"public protocol (\w+)[^{]*\{(.*?)\n\}", text, re.S):
            protocols[name] = body
    for name, body in protocols.items():
        for requirement in re.findall(r"^\s*((?:static )?(?:func|var|init)\b.*)$", body, re.M):
            yield from _calls_of(module, f"{name}: {requirement}")


def _calls_of(module: str, declaration: str) -> Iterator[str]:
    outer, _, head = declaration.rpartition(": ") if re.match(r"[\w.]+: ", declaration) else ("", "", declaration)
    if outer:
        outer, head = re.match(r"([\w.]+): (.*)", declaration, re.S).groups()
    place = f"{module}.{outer}" if outer else module
    if head.startswith(("case ", "indirect case ")):
        for name in re.findall(r"(?:case |, )`?(\w+)`?", head):
            yield f"{place}: {name}"
        return
    name = re.search(r"\b(?:let|var|typealias) (\w+)|\bfunc (\S+?)\s*(?:<[^(]*>)?\(|\b(init)\b[^(]*\(", head)
    if name is None:
        return
    if name[1]:
        yield f"{place}: {name[1]}"
        return
    parameters = list(_parameters(head[name.end() :]))
    for labels in _label_lists(parameters):
        yield f"{place}: {name[2] or name[3]}({labels})"


def _parameters(text: str) -> Iterator[tuple[str, bool]]:
    """The label of each parameter, and whether it has a default value."""
    depth, start = 1, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 or (letter == "," and depth == 1):
            parameter = text[start:at].strip()
            if parameter:
                yield re.match(r"\w+", parameter)[0], re.search(r"(?<![=!<>])=(?!=)", parameter) is not None
            start = at + 1
        if depth == 0:
            return


def _label_lists(parameters: list[tuple[str, bool]]) -> Iterator[str]:
    if not parameters:
        yield ""
        return
    (label, may_be_left_out), *others = parameters
    for rest in _label_lists(others):
        yield f"{label}:{rest}"
        if may_be_left_out:
            yield rest


MEMBERS = {"kotlin": _kotlin_members, "swift": _swift_members}


def _missing(language: str) -> set[str]:
    has = _has_cpp if language == "cpp" else MEMBERS[language]().__contains__
    return {each for each in _documented(language) if not has(each)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_documented_name_is_here_or_excepted(language: str) -> None:
    """An exception covers one member, or all members that begin with its text."""
    names = [name for each in _exceptions() if each["language"] == language for name in each["names"]]
    assert len(names) == len(set(names))
    missing = _missing(language)
    covered = {
        name: {each for each in missing if each == name or each.startswith((f"{name} ", f"{name}:"))} for name in names
    }
    assert missing - set().union(*covered.values()) == set(), "these are neither here nor excepted"
    assert [name for name, those in covered.items() if not those] == [], "these exceptions cover nothing"


def test_every_reason_is_on_the_page() -> None:
    page = " ".join((ROOT / "docs/compatibility.md").read_text().split())
    for each in _exceptions():
        assert set(each) == {"language", "reason", "names"} and each["language"] in LANGUAGES
        assert " ".join(each["reason"].split()) in page, each["reason"]


def test_what_counts_as_here() -> None:
    assert _has_cpp("executorch/runtime/core/error.h to_string")
    assert not _has_cpp("executorch/runtime/core/error.h execute_method")
    assert not _has_cpp("executorch/runtime/core/nothing.h")
    assert "Module: static Module load(String)" in _kotlin_members()
    assert "Module: load(String)" in _kotlin_members()
    assert "Module: static Module load(int)" not in _kotlin_members()
    call = "Net: public func run(_ name: String, options: [Int] = [1, 2], at: Int = 0) throws -> [Int]"
    assert set(_calls_of("Module", call)) == {f"Module.Net: run({labels})" for labels in
                                              ("_:", "_:options:", "_:at:", "_:options:at:")}  # fmt: skip
