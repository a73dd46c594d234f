# SPDX-License-Identifier: BSD-3-Clause
"""Collects a test function's name and its docstring, or the comments directly above it and inside it.

An id counts there only. The same id in a module's docstring, beside a helper or in a table of data names no test.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_JVM = r"^[ \t]*@(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b"
_GOOGLE = r"^[ \t]*(?:TYPED_)?TEST(?:_F|_P)?\("
_SWIFT = r"^[ \t]*(?:@Test\b|(?:@\w+ )*func test\w*\()"
_START_OF_TEST = {
    ".cpp": re.compile(_GOOGLE, re.MULTILINE),
    ".java": re.compile(_JVM, re.MULTILINE),
    ".kt": re.compile(_JVM, re.MULTILINE),
    ".mm": re.compile(rf"{_GOOGLE}|^- ?\(void\)test\w*", re.MULTILINE),
    ".swift": re.compile(_SWIFT, re.MULTILINE),
}
_BATS = re.compile(r"^(?:[ \t]*#.*\n)*@test .*$", re.MULTILINE)
_ID_IN_NAME = re.compile(r"(?:(?<=_)([a-z]{2,5}2?)_?|(?<=test)([A-Z]{2,5}2?))(\d\d)(?![0-9a-z])")
"""`test_exp05_...` and `test_exp2_05_...` in Python, `testIOS22...` in Swift."""

_TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?:R"(?P<raw>[^(]*)\(.*?\)(?P=raw)")|""".*?"""'
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\[^'\n]*|[^'\\\n])'|(?P<brace>[{}])",
    re.DOTALL,
)
_COMMENT_ABOVE = re.compile(r"(?:(?:^[ \t]*//[^\n]*|^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*)\n)+\Z", re.MULTILINE | re.DOTALL)


def texts_of_tests(path: Path) -> Iterator[str]:
    """For each test function of the file `path`, in its order, the text in which an id counts.

    Raises SyntaxError for a Python file that cannot be parsed, and ValueError for a kind of file without a rule.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        yield from _python(text)
    elif path.suffix == ".bats":
        yield from _BATS.findall(text)
    elif path.suffix in _START_OF_TEST:
        yield from _with_braces(text, _START_OF_TEST[path.suffix])
    else:
        raise ValueError(f"{path}: no rule says which functions are tests; add one for {path.suffix!r}")


def _python(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield f"{_with_ids(node.name)}\n{ast.get_docstring(node) or ''}"


def _with_braces(text: str, start_of_test: re.Pattern[str]) -> Iterator[str]:
    starts = [match.start() for match in start_of_test.finditer(text)]
    for start, limit in zip(starts, [*starts[1:], len(text)], strict=True):
        above = _COMMENT_ABOVE.search(text, 0, start)
        parts, depth, signature_end = [above[0] if above else ""], 0, limit
        for token in _TOKEN.finditer(text, start, limit):
            if token["comment"]:
                parts.append(token[0])
            elif token["brace"] == "{":
                signature_end = min(signature_end, token.start())
                depth += 1
            elif token["brace"] == "}":
                depth -= 1
                if depth == 0:
                    break
        signature = _with_ids(text[start:signature_end].partition("\n\n")[0])
        yield "\n".join([signature, *parts])


def _with_ids(name: str) -> str:
    """The name with the ids in it written as elsewhere: `EXP-05`."""
    return _ID_IN_NAME.sub(lambda match: f" {(match[1] or match[2]).upper()}-{match[3]} ", name)
