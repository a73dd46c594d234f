# SPDX-License-Identifier: BSD-3-Clause
"""The rules on portable C++ in CONTRIBUTING.md, as far as the text of the sources shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from page_programs import ROOT

CORE = ROOT / "sdk" / "cpp" / "executorch" / "runtime"
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
"""Comments and literals."""


def sources() -> Iterator[tuple[Path, str]]:
    """The code of the core without comments, literals, tests, and c10's types, which have PyTorch's members."""
    for path in sorted(CORE.rglob("*")):
        is_code = path.suffix in (".h", ".cpp") and not path.name.endswith("_test.cpp")
        if is_code and not {"test", "testing_util", "c10"} & set(path.relative_to(CORE).parts):
            yield path, NOT_CODE.sub(" ", path.read_text(encoding="utf-8"))


def found(pattern: str) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}: {match[0].strip()}"
        for path, code in sources()
        for match in re.finditer(pattern, code, re.MULTILINE)
    ]


def test_the_core_has_many_sources() -> None:
    assert len(list(sources())) > 80


def test_pcpp06_integers_of_the_core() -> None:
    """PCPP-06: no types whose width differs between machines, except `int` and `unsigned` for small numbers."""
    assert found(r"\b(?:short|long|ushort|ulong|uint)\b|\b(?:signed|unsigned)\s+(?:char|int)\b") == []
    # Results of snprintf() are int.
    counts = found(r"^\s*(?:const )?(?:int|unsigned) (?:num|count|size|length|offset|bytes|index)\w* = [^;]*;")
    assert [line for line in counts if "snprintf(" not in line] == []
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rules = page.partition("## Portable C++")[2].partition("\n## ")[0]
    for words in ("`size_t`", "`ssize_t`", "`int64_t`", "`PRId64`", "`%zu`", "`%zd`", "sign of `char`"):
        assert words in rules, words


def test_char_is_compared_with_characters_only() -> None:
    """PCPP-06: a plain char is unsigned on Arm: no comparison with zero, and no arithmetic on its sign."""
    assert found(r"\bchar\s+\w+\s*=\s*-") == []
    assert found(r"static_cast<char>\([^)]*\)\s*[<>]=?\s*0\b") == []
