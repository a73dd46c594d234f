# SPDX-License-Identifier: BSD-3-Clause
"""Names that an untrusted program may have, and a reader of source code that is independent of its generator."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator

PAYLOADS = [
    *(
        'forward() { system("id") } int f',
        "*/ evil(); /*",
        "/* open",
        "/*/* nested",
        "// x",
        "\\",
        "x\\",
        "x\\\n",
        "??/",
    ),
    *("a\nimport os", "a\r\nevil();", "\u2028evil()", "\x85evil()", "\x0bevil()", "\x0cevil()", "\u202eevil\u202c"),
    *('"', '"; evil(); "', '""" evil()', 'R"(', '\\"', "'", "`evil`", "${evil()}", "$evil", "\\(evil())", "\\u0022"),
    *("{", "}", "){}", "@suppress", "<script>evil()</script>", "[link](evil)", "\\htmlonly", "#include <evil>", "%n%s"),
    *(
        "grün",
        "日本語",
        "𝒳",
        "ｆｏｒｗａｒｄ",
        "\x1b[31mred",
        "\t",
        " ",
        "a b",
        "a.b",
        "a-b",
        "a_b",
        "aB",
        "a__b",
        "A_B",
    ),
    *(
        "0",
        "9lives",
        "_",
        "__x",
        "_X",
        "x_",
        "x__",
        "x1",
        "x_1",
        "X1",
        "!",
        "?",
        "-",
        "x" * 500,
        "é" * 90,
        "::",
        "a::b",
    ),
    *(
        "class",
        "in",
        "is",
        "fun",
        "func",
        "init",
        "self",
        "Self",
        "Type",
        "import",
        "operator",
        "and",
        "xor",
        "default",
    ),
    *("module", "module_", "check", "load", "close", "equals", "hash_code", "toString", "get_module", "outputs", "Net"),
    *("Tensor", "executorch", "std", "int64_t", "size_t", "INT_MAX", "EOF", "NULL", "errno", "assert", "linux", "min"),
    *("plainOutput", "Range", "kFileName", "FILE_NAME", "fileName", "name", "Companion", "tensor", "check_input"),
    *("return", "throw", "when", "guard", "requires", "co_await", "thread_local", "NMS", "typeof", "await", "where"),
]


def hostile_names(count: int) -> list[str]:
    """Returns different names: those of `PAYLOADS`, and random combinations of them."""
    draw = random.Random(0)
    names = dict.fromkeys(PAYLOADS)
    while len(names) < count:
        names["".join(draw.choices(PAYLOADS, k=draw.randint(2, 4)))] = None
    return list(names)[:count]


def random_names(draw: random.Random, count: int) -> list[str]:
    """Returns different names made of parts of `PAYLOADS`, Unicode characters and ASCII characters."""
    names: dict[str, None] = {}
    while len(names) < count:
        parts = [draw.choice(PAYLOADS), chr(draw.randrange(1, 0xD800)), chr(draw.randrange(0xE000, 0x110000))]
        parts.append("".join(chr(draw.randrange(1, 128)) for _ in range(draw.randrange(12))))
        names["".join(draw.choices(parts, k=draw.randint(1, 4)))[: draw.choice((1, 4, 300))]] = None
    return [name for name in names if name] or ["x"]


def tokens(text: str, language: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of the tokens, without comments and white space. Fails for an open comment or string."""
    assert text.isascii() and not set(text) - set(map(chr, range(32, 127))) - {"\n"}
    if language == "cpp":  # trigraphs and line splices, which the compiler replaces first
        text = text.replace("??/", "\\").replace("\\\n", "")
    pattern = re.compile(
        r'(?P<space>\s+|//[^\n]*)|(?P<open>/\*)|(?P<string>"(?:\\.|[^"\\\n])*")|(?P<word>[A-Za-z_]\w*)|(?P<number>\d\w*)'
        r"|(?P<mark>[^\"'`])"
    )
    at = 0
    while at < len(text):
        found = pattern.match(text, at)
        assert found is not None, text[at : at + 80]
        at = found.end()
        if found.lastgroup == "open":
            at = _end_of_comment(text, at, nests=language != "cpp")
        elif found.lastgroup != "space":
            yield str(found.lastgroup), found[0]


def _end_of_comment(text: str, at: int, nests: bool) -> int:
    depth = 1
    while depth:
        mark = re.compile(r"/\*|\*/").search(text, at)
        assert mark is not None, "a comment is not closed"
        at = mark.end()
        depth += -1 if mark[0] == "*/" else int(nests)
    return at


def value_of(literal: str, language: str) -> str:
    """The text of a string literal, as the language defines its escapes. Fails for code in it."""
    if language == "kotlin":
        assert "$" not in literal
        return str(json.loads(literal))  # \uXXXX are UTF-16 units in both
    body = literal[1:-1]
    if language == "swift":
        assert not re.search(r"\\(?!u\{[0-9A-F]{1,6}\})", body)
        return re.sub(r"\\u\{(\w+)\}", lambda found: chr(int(found[1], 16)), body)
    assert not re.search(r"\\(?![0-3][0-7]{2})", body)
    plain = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), body)
    return plain.encode("latin-1").decode("utf-8", "surrogateescape")
