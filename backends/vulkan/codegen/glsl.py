# SPDX-License-Identifier: BSD-3-Clause
"""Parses the part of GLSL that the kernel families use, for wgsl.py.

Statements and expressions are tuples whose first item is the name of their type:

    ("literal", text, type), ("name", name), ("unary", op, x), ("binary", op, a, b), ("choice", condition, a, b),
    ("index", x, i), ("member", x, name), ("call", name, [x, ...]), ("array", type, [x, ...]);
    ("declare", type, name, size or None, value or None, is_constant), ("assign", op, target, x), ("do", x),
    ("if", condition, then, otherwise or None), ("for", [statement, ...], condition or None, [statement, ...], body),
    ("switch", x, [(values or None for default, [statement, ...]), ...]), ("return", x or None), ("break",),
    ("continue",), ("block", [statement, ...])
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

Expression = tuple[Any, ...]
Statement = tuple[Any, ...]

SCALARS = ("float", "int", "uint", "bool")
VECTORS = ("vec4", "ivec4", "uvec4", "bvec4")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>0x[0-9a-fA-F]+u?|(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?|\d+u?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<op>\[\[unroll\]\]|<<=|>>=|&&|\|\||<<|>>|<=|>=|==|!=|\+\+|--|[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]]))"
)
_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")


class GlslError(Exception):
    """The text uses GLSL that this parser does not support."""


@dataclass
class Function:
    result: str
    name: str
    parameters: list[tuple[str, str, str]]  # "in", "out" or "inout", type, name
    body: list[Statement]


@dataclass
class Module:
    functions: dict[str, Function] = field(default_factory=dict)
    structs: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    constants: list[Statement] = field(default_factory=list)
    shared: list[tuple[str, str, Expression]] = field(default_factory=list)  # type, name, size


def preprocess(text: str, defined: dict[str, str]) -> str:
    """Text without comments, in which #ifdef is decided and each macro of `defined` or #define is replaced."""
    macros = dict(defined)
    lines: list[str] = []
    kept = [True]
    for line in re.sub(r"//[^\n]*", "", text).split("\n"):
        words = line.split()
        if words and words[0] in ("#ifdef", "#ifndef"):
            kept.append(kept[-1] and (words[1] in macros) == (words[0] == "#ifdef"))
        elif words and words[0] == "#else":
            kept[-1] = kept[-2] and not kept[-1]
        elif words and words[0] == "#endif":
            kept.pop()
        elif not kept[-1]:
            continue
        elif words and words[0] == "#define":
            macros[words[1]] = " ".join(words[2:])
        elif words and words[0].startswith("#"):
            raise GlslError(f"the directive '{line.strip()}' is not known")
        else:
            lines.append(re.sub(r"[A-Za-z_]\w*", lambda match: macros.get(match.group(), match.group()), line))
    return "\n".join(lines)


def tokens_of(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise GlslError(f"expected a token, found '{text[at : at + 20].strip()}'")
        at = match.end()
        if match.group() and match.group("op") != "[[unroll]]":
            found.append((str(match.lastgroup), match.group(str(match.lastgroup))))
    return [*found, ("end", "")]


class Parser:
    def __init__(self, text: str) -> None:
        self.tokens = tokens_of(text)
        self.at = 0
        self.types = {*SCALARS, *VECTORS, "void"}

    @property
    def next(self) -> str:
        return self.tokens[self.at][1]

    def fail(self, expected: str) -> NoReturn:
        around = " ".join(text for _, text in self.tokens[max(self.at - 8, 0) : self.at + 4])
        raise GlslError(f"expected {expected}, found '{self.next}' in '{around}'")

    def take(self, *expected: str) -> str:
        kind, text = self.tokens[self.at]
        if expected and text not in expected and kind not in expected:
            self.fail(" or ".join(expected))
        self.at += 1
        return text

    def accept(self, text: str) -> bool:
        is_next = self.next == text
        self.at += is_next
        return is_next

    def items(self, end: str) -> list[Expression]:
        found: list[Expression] = []
        while not self.accept(end):
            if found:
                self.take(",")
            found.append(self.expression())
        return found

    # Expressions.

    def expression(self) -> Expression:
        condition = self.binary(0)
        if not self.accept("?"):
            return condition
        first = self.expression()
        self.take(":")
        return "choice", condition, first, self.expression()

    def binary(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self.unary()
        found = self.binary(level + 1)
        while self.next in _LEVELS[level]:
            op = self.take()
            found = ("binary", op, found, self.binary(level + 1))
        return found

    def unary(self) -> Expression:
        if self.next in ("-", "!", "~"):
            return "unary", self.take(), self.unary()
        found = self.primary()
        while self.next in (".", "["):
            if self.accept("."):
                found = ("member", found, self.take("name"))
            else:
                self.take("[")
                found = ("index", found, self.expression())
                self.take("]")
        return found

    def primary(self) -> Expression:
        kind, text = self.tokens[self.at]
        if self.accept("("):
            found = self.expression()
            self.take(")")
            return found
        self.take("number", "name")
        if kind == "number":
            is_float = not text.startswith("0x") and any(letter in text for letter in ".eE")
            return "literal", text.rstrip("u"), "float" if is_float else "uint" if text.endswith("u") else "int"
        if text in ("true", "false"):
            return "literal", text, "bool"
        if self.next == "[" and text in self.types:
            self.take("[")
            self.take("]")
            self.take("(")
            return "array", text, self.items(")")
        return ("call", text, self.items(")")) if self.accept("(") else ("name", text)

    # Statements.

    def block(self) -> list[Statement]:
        self.take("{")
        found: list[Statement] = []
        while not self.accept("}"):
            found += self.statement()
        return found

    def body(self) -> list[Statement]:
        return self.block() if self.next == "{" else self.statement()

    def statement(self) -> list[Statement]:
        text = self.next
        if text == "{":
            return [("block", self.block())]
        if self.accept(";"):
            return []
        if self.accept("if"):
            self.take("(")
            condition = self.expression()
            self.take(")")
            then = self.body()
            return [("if", condition, then, self.body() if self.accept("else") else None)]
        if self.accept("for"):
            return [self.loop()]
        if self.accept("switch"):
            return [self.switch()]
        found: list[Statement]
        if self.accept("return"):
            found = [("return", None if self.next == ";" else self.expression())]
        elif text in ("break", "continue"):
            found = [(self.take(),)]
        elif text in ("const", "precise") or text in self.types:
            found = self.declarations()
        else:
            found = self.changes(";")
        self.take(";")
        return found

    def declarations(self) -> list[Statement]:
        is_constant = self.accept("const")
        self.accept("precise")
        kind = self.take("name")
        found: list[Statement] = []
        while not found or self.accept(","):
            name = self.take("name")
            size: Expression | None = None
            if self.accept("["):
                size = ("literal", "0", "int") if self.next == "]" else self.expression()
                self.take("]")
            found.append(("declare", kind, name, size, self.expression() if self.accept("=") else None, is_constant))
        return found

    def changes(self, end: str) -> list[Statement]:
        """Assignments and calls, separated by commas."""
        found: list[Statement] = []
        while self.next != end and (not found or self.accept(",")):
            if self.next in ("++", "--"):
                op = "+=" if self.take() == "++" else "-="
                found.append(("assign", op, self.unary(), ("literal", "1", "int")))
                continue
            target = self.unary()
            if self.next in _ASSIGNMENTS:
                op = self.take()
                found.append(("assign", op, target, self.expression()))
            elif target[0] == "call":
                found.append(("do", target))
            else:
                self.fail("an assignment or a call")
        return found

    def loop(self) -> Statement:
        self.take("(")
        start = self.declarations() if self.next in self.types else self.changes(";")
        self.take(";")
        condition = None if self.next == ";" else self.expression()
        self.take(";")
        step = self.changes(")")
        self.take(")")
        return "for", start, condition, step, self.body()

    def switch(self) -> Statement:
        self.take("(")
        value = self.expression()
        self.take(")")
        self.take("{")
        cases: list[tuple[list[Expression] | None, list[Statement]]] = []
        while not self.accept("}"):
            labels: list[Expression] | None = None
            if not self.accept("default"):
                self.take("case")
                labels = [self.expression()]
            self.take(":")
            body: list[Statement] = []
            while self.next not in ("case", "default", "}"):
                body += self.statement()
            if not body or body[-1][0] != "return":
                self.fail("a return at the end of each case")
            cases.append((labels, body))
        return "switch", value, cases

    # Declarations of the module.

    def module(self) -> Module:
        found = Module()
        while self.next:
            if self.accept("struct"):
                name = self.take("name")
                self.types.add(name)
                found.structs[name] = self.fields()
            elif self.accept("layout"):
                # Only tests on the device set this constant, so it keeps its default.
                while not self.accept(")"):
                    self.take()
                found.constants += self.declarations()
                self.take(";")
            elif self.accept("shared"):
                (_, kind, name, size, _, _) = self.declarations()[0]
                found.shared.append((kind, name, size))
                self.take(";")
            elif self.next == "const":
                found.constants += self.declarations()
                self.take(";")
            else:
                function = self.function()
                found.functions[function.name] = function
        return found

    def fields(self) -> list[tuple[str, str]]:
        self.take("{")
        found: list[tuple[str, str]] = []
        while not self.accept("}"):
            found.append((self.take("name"), self.take("name")))
            self.take(";")
        self.take(";")
        return found

    def function(self) -> Function:
        result, name = self.take("name"), self.take("name")
        self.take("(")
        parameters: list[tuple[str, str, str]] = []
        while not self.accept(")"):
            if parameters:
                self.take(",")
            way = self.take() if self.next in ("in", "out", "inout") else "in"
            parameters.append((way, self.take("name"), self.take("name")))
        return Function(result, name, parameters, self.block())
