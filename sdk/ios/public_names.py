#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The public declarations of the Swift modules ExecuTorch and ExecuTorchLLM, a line each, sorted.

    sdk/ios/public_names.py            prints those of ExecuTorch
    sdk/ios/public_names.py MODULE     prints those of another module
    sdk/ios/public_names.py --update   accepts a change of them: writes sdk/ios/api/<module>.txt

They are read from the sources, so that every system can compare them. A declaration is printed with the type that
contains it, without default values of its parameters and without its body.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = ("ExecuTorch", "ExecuTorchLLM")

_COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"""(.*?)"""|"(?:\\.|[^"\\\n])*"', re.S)
_CONTAINER = re.compile(r"(?:class|struct|enum|actor|protocol|extension)\s+([\w.]+)")
_DECLARATION = re.compile(
    r"\b(?:class|struct|enum|actor|protocol|extension|func|init|var|let|subscript|typealias|case)\b"
)


def public_names(source: str) -> Iterator[str]:
    """The public declarations in a file, in their order."""
    for outer, head in _declarations(source):
        yield f"{outer}: {_without_defaults(head)}" if outer else _without_defaults(head)


def declarations(source: str) -> Iterator[str]:
    """The same with the default values of parameters."""
    for outer, head in _declarations(source):
        yield f"{outer}: {head}" if outer else head


def _declarations(source: str) -> Iterator[tuple[str, str]]:
    """The types around each public declaration, and its text before the body."""
    text = _COMMENT_OR_TEXT.sub(lambda found: '""' if found[0].startswith('"') else "", source)
    scopes: list[
        tuple[str, bool]
    ] = []  # the name of each type around, "" for other braces; whether it is a public enum
    start = 0
    depth = 0  # of parentheses and brackets
    for at, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif depth == 0 and letter in "{}\n;":
            head = " ".join(text[start:at].split())
            if letter == "\n" and (not head or _continues(text, at, head)):
                continue
            start = at + 1
            container = _CONTAINER.search(head)
            outer = ".".join(name for name, _ in scopes if name)
            is_case = head.startswith(("case ", "indirect case ")) and bool(scopes) and scopes[-1][1]
            if (re.search(r"\b(public|open)\b(?!\()", head) and _DECLARATION.search(head)) or is_case:
                yield outer, head
            if letter == "{":
                is_public_enum = bool(re.search(r"\bpublic\b.*\benum\b", head))
                scopes.append((container[1] if container else "", is_public_enum))
            elif letter == "}" and scopes:
                scopes.pop()


def _continues(text: str, at: int, head: str) -> bool:
    """Whether the declaration goes on in the next line."""
    following = text[at:].lstrip()
    return head.endswith((",", "->", "=", ":", "&")) or following.startswith(
        ("->", "where ", "throws", "async", ":", "&")
    )


def _without_defaults(head: str) -> str:
    head = re.sub(r"(\b(?:let|var) \w+(?:: [^=]+)?) = .*", r"\1", head)
    head = re.sub(r"\s*(?<![=!<>])=(?!=)\s*(?:\[[^\]]*\]|[^,()]*\([^()]*\)|[^,)]+)(?=[,)])", "", head)
    return head.replace("( ", "(").replace(" )", ")")


def snapshot(module: str) -> str:
    """The text of the module's file in sdk/ios/api."""
    sources = (HERE / "Sources" / module).glob("*.swift")
    names = {name for path in sources for name in public_names(path.read_text(encoding="utf-8"))}
    return "".join(f"{name}\n" for name in sorted(names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", nargs="?", choices=MODULES, default=MODULES[0])
    parser.add_argument("--update", action="store_true", help="write the snapshots")
    args = parser.parse_args()
    if args.update:
        for module in MODULES:
            (HERE / "api" / f"{module}.txt").write_text(snapshot(module), encoding="utf-8")
    else:
        print(snapshot(args.module), end="")


if __name__ == "__main__":
    main()
