# SPDX-License-Identifier: BSD-3-Clause
"""Texts inside generated C++ and CMake: literals, comments and identifiers.

Names come from untrusted programs and YAML files, so templates always escape them.
"""

from __future__ import annotations

import re

_KEYWORDS = """
    alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break case
    catch char char16_t char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval
    constexpr constinit continue contract_assert decltype default delete do double dynamic_cast else enum explicit
    export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public reflexpr register reinterpret_cast requires restrict return
    short signed sizeof static static_assert static_cast struct switch synchronized template this
    thread_local throw true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t
    while xor xor_eq
"""
CPP_KEYWORDS = frozenset(_KEYWORDS.split())
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LONGEST_COMMENT = 80


def is_identifier(text: str) -> bool:
    """Whether the text is a C++ identifier."""
    return _IDENTIFIER.fullmatch(text) is not None and text not in CPP_KEYWORDS


def cpp_literal(text: str) -> str:
    """Any text as a string literal of C and C++, with its quotes: all but printable ASCII is escaped."""
    # Two `?` begin a trigraph.
    plain = [char if char.isascii() and char.isprintable() and char not in '"\\?' else _octal(char) for char in text]
    return f'"{"".join(plain)}"'


def comment(text: str) -> str:
    """Any text as a part of a comment: `?` for what could end the comment or the line, join the next line to it, or is
    markup of a documentation generator."""
    shown = re.sub(r"[^A-Za-z0-9 _.,:;()\[\]=+-]", "?", text[:_LONGEST_COMMENT])
    return shown if len(text) <= _LONGEST_COMMENT else f"{shown}..."


def cmake_argument(text: str) -> str:
    """A text as one argument of CMake, in which nothing is evaluated. Raises ValueError if a list cannot hold it."""
    if found := re.search(r"[;\n\r\0]", text):
        raise ValueError(f"{text!r} has {found[0]!r}, at which CMake splits lists and lines; use a path without it")
    signs = "="
    while f"]{signs}]" in f"{text}]":
        signs += "="
    # CMake drops a line break after the opening bracket, but the text has no line breaks.
    return f"[{signs}[{text}]{signs}]"


def _octal(char: str) -> str:
    # An octal escape has at most three digits, so the characters after it are not part of it.
    is_byte = 0xDC80 <= ord(char) <= 0xDCFF  # of a file name that is not UTF-8
    encoded = char.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in encoded)
