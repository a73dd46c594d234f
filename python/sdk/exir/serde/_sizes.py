# SPDX-License-Identifier: BSD-3-Clause
"""Reads expressions over dynamic sizes from text.

`sympy.sympify` evaluates its text as Python, so it must not see the text of a file. This parser accepts numbers,
symbols, arithmetic and the functions of a list. It limits the length, the depth, the numbers and the terms of an
expression before SymPy gets them, and the value that it can have for sizes of 64 bits: torch evaluates it for the sizes
in the file, so that `2**s0` would be a number of a gigabit.
torch writes `Add(Symbol('s0', integer=True), Integer(1))`, the original `s0 + 1`; both are read.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import sympy
from torch.utils._sympy import functions as torch_functions
from torch.utils._sympy.numbers import int_oo

_MOST_CHARACTERS = 1 << 16
_MOST_TOKENS = 1 << 12
_DEEPEST = 40
_MOST_BITS = 1024
"""Limit of an integer, in bits. Sizes have 64; this leaves room for their products."""
_MOST_BITS_OF_VALUE = 1 << 12
"""Limit of an expression's value, in bits: the product of 64 sizes."""
_LARGEST_EXPONENT = 64
_MOST_TERMS = 128
"""Limit of a sum or a product. SymPy takes milliseconds to add a term to this many."""
_MOST_OPTIONS = 16
"""Limit of the arguments of Max, Min, And and Or, which SymPy compares with each other."""
_LEAST_WORK = 1 << 18
_WORK_OF_CHARACTER = 16
"""The work that the expressions of a program may take: a constant, and an amount for each character. The unit is the
addition to one term of a sum, about ten microseconds."""
_LARGEST_INDEX = 1_000_000
"""Limit of the index of an unbacked symbol such as u17. torch counts up to the largest index."""

_ASSUMPTIONS = frozenset(
    ("integer", "positive", "nonnegative", "negative", "nonpositive", "nonzero", "zero", "real", "finite")
)

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(sympy, name)
        for name in (
            *("Add", "Mul", "Pow", "Max", "Min", "Abs", "floor", "ceiling", "sqrt", "And", "Or", "Not"),
            *("Eq", "Ne", "Ge", "Le", "Gt", "Lt", "Equality", "Unequality"),
            *("GreaterThan", "LessThan", "StrictGreaterThan", "StrictLessThan"),
        )
    },
    # The functions that torch's own reader accepts.
    **{name: getattr(torch_functions, name) for name in torch_functions.__all__},
}
_ARITHMETIC = frozenset(("Add", "Mul", "Pow"))
_POWERS = frozenset(("Pow", "PowByNatural", "FloatPow"))
_POWER_FUNCTIONS = (*(_FUNCTIONS[name] for name in _POWERS), _FUNCTIONS["LShift"])
_SHIFTS = frozenset(("LShift", "RShift"))
_OPTIONS = (sympy.Max, sympy.Min, sympy.And, sympy.Or)
_CONSTANTS = {"true": sympy.true, "false": sympy.false, "True": sympy.true, "False": sympy.false}
_CONSTANTS |= {"oo": sympy.oo, "int_oo": int_oo}

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)|'(?P<text>[\w.+-]*)'"
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%<>&|~(),=]))",
    re.ASCII,
)
_NAME = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)
_UNBACKED = re.compile(r"(?:u|zuf)([\d_]+)", re.ASCII)
"""torch reads the index with `int`, which skips underscores."""

_COMPARISONS = {"<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge, "==": sympy.Eq, "!=": sympy.Ne}
_LEVELS: tuple[dict[str, Callable[[Any, Any], Any]], ...] = (
    {"|": sympy.Or},
    {"&": sympy.And},
    _COMPARISONS,
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod},
)
"""Binary operators, the loosest first."""
_SUMS = (operator.add, operator.sub, sympy.Add, *_OPTIONS)
_WEIGHTS: dict[Callable[..., Any], int] = {
    **dict.fromkeys((*_COMPARISONS.values(), *_OPTIONS), 32),
    **dict.fromkeys((operator.floordiv, operator.mod), 64),
    **{_FUNCTIONS[name]: 64 for name in torch_functions.__all__},
}
"""The work of functions that compare their arguments, or look for common factors."""


class _Token(NamedTuple):
    kind: str
    text: str


class SizeError(ValueError):
    """The text is not an expression over sizes."""


def check_symbol(name: str) -> str:
    """The name of a size. Raises SizeError for one that no exporter gives."""
    if not _NAME.fullmatch(name):
        raise SizeError(f"{name[:80]!r} is not the name of a dynamic size")
    check_index(name)
    return name


def check_index(name: str) -> None:
    """Raises SizeError for an unbacked symbol with an index that would make torch count for long."""
    if (unbacked := _UNBACKED.fullmatch(name)) and (
        not unbacked[1].isdigit() or len(unbacked[1]) > 9 or int(unbacked[1]) > _LARGEST_INDEX
    ):
        raise SizeError(f"{name[:80]!r} has a larger number than {_LARGEST_INDEX}, or none")


class Sizes:
    """The expressions of one program. Equal texts share one expression."""

    def __init__(self) -> None:
        self._read: dict[str, Any] = {}
        self._symbols: dict[str, sympy.Symbol] = {}
        self._charge = _Charge()

    def read(self, text: str) -> Any:
        """The expression as a `sympy` object. Raises SizeError."""
        if text not in self._read:
            self._charge.text(text)
            parser = _Parser(text, self._symbols, self._charge)
            try:
                self._read[text] = parser.whole()
            except SizeError:
                raise
            except (ArithmeticError, AttributeError, TypeError, ValueError, RecursionError, AssertionError) as error:
                # SymPy's functions raise many kinds of errors for invalid arguments.
                raise SizeError(f"{text[:80]!r} is not an expression over sizes: {error}") from error
        return self._read[text]


class _Charge:
    """The cost of a program's expressions, which is charged before SymPy gets them."""

    def __init__(self) -> None:
        self._work = 0.0
        self._bits: dict[Any, float] = {}

    def text(self, text: str) -> None:
        """The work that a text may ask for, so that the time to read a program is in proportion to its text."""
        self._work -= _WORK_OF_CHARACTER * len(text)

    def call(self, function: Callable[..., Any], arguments: Sequence[Any]) -> float:
        """Charges a call. Returns the most bits that its value can have if sizes have 64."""
        terms = 1 + sum(1 + len(argument.args) for argument in arguments)
        self._work += terms * _WEIGHTS.get(function, 1)
        if self._work > _LEAST_WORK:
            raise SizeError("the sizes of the program are not what an exporter writes: they have too many terms")
        parts = [self._of_value(argument) for argument in arguments]
        if function in _POWER_FUNCTIONS:
            bits = parts[0] * max(1.0, abs(float(arguments[1])))
        elif function in _SUMS:
            bits = max(parts) + len(parts)
        else:  # the result is at most the product of the arguments
            bits = sum(parts)
        if bits > _MOST_BITS_OF_VALUE:
            raise SizeError(f"its value can have more than {_MOST_BITS_OF_VALUE} bits")
        return bits

    def keep(self, found: Any, bits: float) -> None:
        self._bits[found] = bits

    def _of_value(self, found: Any) -> float:
        if isinstance(found, sympy.Rational):
            return max(found.p.bit_length(), found.q.bit_length())
        return self._bits.get(found, 64)


class _Parser:
    def __init__(self, text: str, symbols: dict[str, sympy.Symbol], charge: _Charge) -> None:
        self._text, self._symbols, self._charge, self._depth = text, symbols, charge, 0
        self._tokens = [*self._split(), _Token("end", "")]
        self._at = 0

    def whole(self) -> Any:
        found = self._binary(0)
        if self._peek().kind != "end":
            raise self._error(f"{self._peek().text!r} is left")
        if not isinstance(found, (sympy.Basic, sympy.logic.boolalg.Boolean)):
            raise self._error("it is not a number")
        return found

    def _error(self, reason: str) -> SizeError:
        return SizeError(f"{self._text[:80]!r} is not an expression over sizes: {reason}")

    def _split(self) -> Iterator[_Token]:
        text = self._text.rstrip()
        if len(text) > _MOST_CHARACTERS:
            raise self._error(f"it has more than {_MOST_CHARACTERS} characters")
        at = count = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._error(f"{text[at : at + 20]!r} is not known")
            count += 1
            if count > _MOST_TOKENS:
                raise self._error(f"it has more than {_MOST_TOKENS} parts")
            assert found.lastgroup is not None
            yield _Token(found.lastgroup, found[found.lastgroup])
            at = found.end()

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, sign: str) -> bool:
        if self._peek() != ("sign", sign):
            return False
        self._at += 1
        return True

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._error(f"expected {sign!r} at {self._peek().text!r}")

    def _binary(self, level: int) -> Any:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek().kind == "sign" and self._peek().text in _LEVELS[level]:
            function = _LEVELS[level][self._next().text]
            left = self._apply(function, left, self._binary(level + 1))
        return left

    def _unary(self) -> Any:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"it nests more than {_DEEPEST} deep")
        if self._take("-"):
            found = -self._unary()
        elif self._take("+"):
            found = +self._unary()
        elif self._take("~"):
            found = sympy.Not(self._unary())
        else:
            found = self._atom()
            if self._take("**"):
                found = self._power("Pow", found, self._unary())
        self._depth -= 1
        return found

    def _atom(self) -> Any:
        token = self._next()
        if token.kind == "number":
            return self._number(token.text)
        if token.kind == "name":
            if self._take("("):
                return self._call(token.text)
            return self._symbol(token.text)
        if token == ("sign", "("):
            found = self._binary(0)
            self._expect(")")
            return found
        raise self._error(f"expected a number, a name or a parenthesis at {token.text!r}")

    def _number(self, text: str) -> Any:
        if text.isdigit():
            if len(text) > _MOST_BITS // 4:
                raise self._error("it contains a number with more digits than a size has")
            return self._checked(sympy.Integer(int(text)))
        return self._float(text, 15)

    def _float(self, text: str, digits: int) -> Any:
        if len(text) > 64 or not math.isfinite(float(text)):
            raise self._error("it contains a number that is not finite")
        return sympy.Float(text, digits)

    def _symbol(self, name: str) -> Any:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name not in self._symbols:
            check_symbol(name)
            self._symbols[name] = sympy.Symbol(name, integer=True) if name[0] in "su" else sympy.Symbol(name)
        return self._symbols[name]

    def _call(self, name: str) -> Any:
        if name == "Symbol":
            return self._called_symbol()
        if name == "Float":
            return self._called_float()
        arguments: list[Any] = []
        while not self._take(")"):
            if arguments:
                self._expect(",")
            arguments.append(self._binary(0))
            if len(arguments) > (_MOST_OPTIONS if _FUNCTIONS.get(name) in _OPTIONS else _MOST_TERMS):
                raise self._error("it has too many terms")
        if name in ("Integer", "Rational"):
            if len(arguments) != (1 if name == "Integer" else 2) or not all(a.is_Integer for a in arguments):
                raise self._error(f"the arguments of {name} are not integers")
            return getattr(sympy, name)(*map(int, arguments))
        if name not in _FUNCTIONS:
            raise self._error(f"{name!r} is not a function of sizes")
        if name in _ARITHMETIC and not all(isinstance(argument, sympy.Expr) for argument in arguments):
            raise self._error(f"{name} has an argument that is not a number")
        if name in _POWERS and len(arguments) == 2:
            return self._power(name, *arguments)
        if name in _SHIFTS and not (arguments[-1].is_Integer and 0 <= arguments[-1] <= _LARGEST_EXPONENT):
            raise self._error(f"expected a shift by an integer from 0 to {_LARGEST_EXPONENT}")
        if name == "RoundDecimal" and not (arguments[-1].is_Integer and abs(arguments[-1]) <= _LARGEST_EXPONENT):
            raise self._error(f"expected rounding to at most {_LARGEST_EXPONENT} digits")
        return self._apply(_FUNCTIONS[name], *arguments)

    def _text_argument(self) -> str:
        token = self._next()
        if token.kind != "text":
            raise self._error(f"expected a text at {token.text!r}")
        return token.text

    def _called_symbol(self) -> Any:
        name = check_symbol(self._text_argument())
        assumptions = {}
        while not self._take(")"):
            self._expect(",")
            key = self._next()
            self._expect("=")
            value = self._next()
            if key.text not in _ASSUMPTIONS or value.text not in ("True", "False"):
                raise self._error(f"{key.text!r} is not an assumption about a size")
            assumptions[key.text] = value.text == "True"
        self._symbols[name] = sympy.Symbol(name, **assumptions)
        return self._symbols[name]

    def _called_float(self) -> Any:
        text = self._text_argument()
        if self._take(","):
            if self._next().text != "precision":
                raise self._error("expected the precision of Float")
            self._expect("=")
            bits = self._next().text
            if bits != "53":
                raise self._error(f"expected a Float of 53 bits, found {bits[:20]}")
        self._expect(")")
        return self._float(text, 15)

    def _power(self, name: str, base: Any, exponent: Any) -> Any:
        if not isinstance(exponent, sympy.Number) or not abs(exponent) <= _LARGEST_EXPONENT:
            raise self._error(f"expected an exponent that is a number of at most {_LARGEST_EXPONENT}")
        return self._apply(_FUNCTIONS[name], base, exponent)

    def _apply(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function, unless it is too much work, or grew beyond what sizes need."""
        most = _MOST_OPTIONS if function in _OPTIONS else _MOST_TERMS
        if max(len(arguments), *(len(argument.args) for argument in arguments)) > most:
            raise self._error("it has too many terms")
        try:
            bits = self._charge.call(function, arguments)
        except SizeError as error:
            raise self._error(str(error)) from None
        found = self._checked(function(*arguments))
        self._charge.keep(found, bits)
        return found

    def _checked(self, found: Any) -> Any:
        if found in (sympy.zoo, sympy.nan):
            raise self._error("it divides by zero")
        parts = [found, *getattr(found, "args", ())]
        parts += [part for term in parts[1:] for part in term.args]  # sympy multiplies a sum by a number term by term
        for part in parts:
            if isinstance(part, sympy.Rational) and max(part.p.bit_length(), part.q.bit_length()) > _MOST_BITS:
                raise self._error(f"it contains a number of more than {_MOST_BITS} bits")
        return found
