# SPDX-License-Identifier: BSD-3-Clause
"""Random templates: expressions and statements according to the grammar of Jinja, from a seed. `{}` is replaced by an
expression."""

from __future__ import annotations

import random
import re
from typing import Any

VALUES: dict[str, Any] = {
    "s": "hello World",
    "w": "\u00dcn\u00ef \u00df \u03a3\u0391\u03a3 x\u3000",
    "e": "",
    "n": None,
    "i": 7,
    "z": 0,
    "f": 2.5,
    "t": True,
    "l": [3, 1, 2],
    "ls": ["b", "A", "c"],
    "el": [],
    "d": {"k": "v", "items": 1, "a": [1, {"b": None}], "z": {"y": [1, 2]}},
    "ed": {},
    "m": [{"a": 1, "b": "x"}, {"a": 3, "b": "Y"}, {"a": 2}],
    "turns": [
        {"role": "user", "content": "Hi <b>"},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
    ],
}
NAMES = [*VALUES, "unknown"]
LITERALS = [
    "1",
    "0",
    "-1",
    "2",
    "10",
    "1.5",
    "0.1",
    "'a'",
    "'l'",
    "''",
    "' '",
    "'x\u00a0y'",
    "{}",
    "'%s'",
    "none",
    "true",
    "false",
    "[]",
    "[1,2]",
    "(1,2)",
    "('a',)",
    "{'a':1}",
    "{'b':2,'a':1}",
    "'\\n'",
    "'é'",
    "'<'",
    "1e3",
    "'1'",
    "'0x1f'",
    "'k'",
    "'a.b'",
    "[[1,2],[3,4]]",
    "['a','b']",
    "'abc'|safe",
    "'\\u2028'",
]
FILTERS = """
abs;attr({});batch({});batch(2,{});capitalize;center({});default({});default({},true);dictsort;
dictsort(by='value');dictsort(true);dictsort(reverse=true);e;filesizeformat;first;float;float({});
forceescape;format({});groupby('a');groupby({});indent;indent({});indent(2,true);
indent(2,true,true);int;int({});int(0,16);items;join;join({});join(', ',attribute='a');last;length;
list;lower;map('upper');map(attribute='a');map(attribute='b',default={});map('default',{});
map('length');map({});max;min;max(attribute='a');reject('odd');reject({});rejectattr('a');
rejectattr('b','defined');rejectattr('a','gt',1);replace({},{});replace({},{},1);reverse;round;
round(1);round(1,'floor');round(0,'ceil');round(-1);safe;select;select('string');select('>',1);
select('in',{});selectattr('a');selectattr('a','==',1);selectattr('role','equalto','user');slice(2);
slice(3,{});sort;sort(true);sort(attribute='a');sort(case_sensitive=true);string;sum;sum('a');
sum(start={});title;tojson;tojson(indent=2);tojson(true);tojson(ensure_ascii={});
tojson(sort_keys=true);tojson(separators=(',',':'));trim;trim({});truncate(5);truncate(3,true,'');
truncate(5,end={});unique;unique(attribute='a');upper;urlencode;wordcount;
wordwrap;wordwrap(3);wordwrap({});wordwrap(4,false);wordwrap(2,true,{},false);pprint;xmlattr;
xmlattr(false)
""".replace("\n", "").split(";")
TESTS = """
boolean;callable;defined;divisibleby({});divisibleby 3;eq({});equalto {};escaped;even;false;filter;
float;ge({});gt({});in({});integer;iterable;le({});lower;lt({});mapping;ne({});none;number;odd;
sequence;string;test;true;undefined;upper
""".replace("\n", "").split(";")
METHODS = """
strip();strip({});lstrip({});rstrip();split();split({});split({},1);split(sep={});split(none,1);
rsplit({},1);rsplit(none,1);splitlines();splitlines(true);startswith({});endswith({});
startswith('h',1);replace({},{});replace({},{},1);find({});rfind({});index({});rindex({});count({});
find({},1,3);join({});upper();lower();title();capitalize();swapcase();casefold();isdigit();
isalpha();isalnum();isspace();isupper();islower();istitle();isnumeric();isdecimal();isidentifier();
isascii();isprintable();zfill(4);zfill({});ljust(5);rjust(5,'*');center(7,'-');expandtabs();
partition({});rpartition({});removeprefix({});removesuffix({});format({});format({},{});get({});
get({},{});items();keys();values();copy();append(1);pop();update({});nothing()
""".replace("\n", "").split(";")
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", ">", "<=", ">=", "in", "not in", "and", "or"]
PERCENT = [
    "%s",
    "%d",
    "%5.1f",
    "%-5s|",
    "%05d",
    "%x",
    "%r",
    "%%",
    "%(a)s",
    "%s-%s",
    "%+d",
    "%c",
    "%e",
    "%g",
    "%.2s",
    "%#x",
    "%i%%",
]
BRACES = [
    "{}",
    "{0}",
    "{a}",
    "{:>5}",
    "{:^7}",
    "{:05d}",
    "{:.2f}",
    "{:,}",
    "{!r}",
    "{0[0]}",
    "{0.a}",
    "{:x}",
    "{:+}",
    "{:e}",
    "{:%}",
    "{{}}",
    "{:*<6}",
    "{:.3}",
    "{:g}",
    "{:_}",
    "{:#b}",
]
LOOPS = [
    "",
    *(
        f"{{{{ loop{part} }}}}"
        for part in (".index", ".last", ".previtem", ".length", ".revindex", ".cycle(1,2)", ".changed(x)", "")
    ),
]


class Grammar:
    """Makes the templates and messages of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def filled(self, pattern: str, depth: int) -> str:
        return re.sub(re.escape("{}"), lambda _: self.expression(depth - 1), pattern)

    def operand(self, depth: int) -> str:
        made = self.expression(depth)
        return made if re.fullmatch(r"\w+|'[^']*'", made) else f"({made})"

    def expression(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.15:
            return self.pick(*NAMES) if self.random.random() < 0.55 else self.pick(*LITERALS)
        one, operand = (lambda: self.expression(depth - 1)), (lambda: self.operand(depth - 1))
        kind = self.random.randrange(15)
        if kind <= 3:
            return f"{operand()}|{self.filled(self.pick(*FILTERS), depth)}"
        if kind == 4:
            return f"({one()} is {self.pick('', 'not ')}{self.filled(self.pick(*TESTS), depth)})"
        if kind <= 7:
            return f"{operand()}.{self.filled(self.pick(*METHODS), depth)}"
        if kind <= 9:
            return f"({one()} {self.pick(*OPERATORS)} {one()})"
        if kind == 10:
            return f"({one()} if {one()}{self.pick('', ' else ' + one())})"
        if kind == 11:
            return f"{operand()}[{one()}]"
        if kind == 12:
            return f"{self.pick('s', 'w', 'l', 'ls')}[{self.pick('', '-1', '1')}:{self.pick('', '2', '-1')}{self.pick('', ':', ':-1', ':2')}]"  # noqa: E501
        if kind == 13:
            return self.formatted(one)
        return self.pick(
            f"[{one()}, {one()}]", f"({one()}, {one()})", f"{{'a': {one()}, 'b': {one()}}}", f"-{operand()}", f"not {operand()}",  # noqa: E501
            f"{operand()}.{self.pick('k', 'a', 'role', 'content', 'items', 'x')}", f"dict({one()})", f"dict(x={one()})",
            f"range({self.pick('3', '1,5', '5,0,-2')})",
        )  # fmt: skip

    def formatted(self, one: Any) -> str:
        percent, braces = repr(self.pick(*PERCENT)), repr(self.pick(*BRACES))
        return self.pick(
            f"({percent} % {one()})", f"({percent} % ({one()},))", f"({percent} % ({one()}, {one()}))", f"({percent}|format({one()}))",  # noqa: E501
            f"{braces}.format({one()})", f"{braces}.format({one()}, {one()})", f"{braces}.format(a={one()})",
        )  # fmt: skip

    def tag(self, content: str) -> str:
        return "{" + self.pick("%", "%", "%-", "%+") + f" {content} " + self.pick("%", "%", "-%", "+%") + "}"

    def body(self, depth: int) -> str:
        return "".join(self.statement(depth) for _ in range(self.random.randrange(1, 4)))

    def statement(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.35:
            output = f"{{{{ {self.expression(3)} }}}}"
            return self.pick(
                output,
                output,
                f"{{{{- {self.expression(2)} -}}}}",
                " text \n",
                "  \n\n  ",
                "{# c #}\n",
                "  {#- c -#}  ",
            )
        one, body, tag = (lambda: self.expression(2)), (lambda: self.body(depth - 1)), self.tag
        kind = self.random.randrange(14)
        if kind <= 2:
            otherwise = self.pick("", tag("else") + body(), tag(f"elif {one()}") + body())
            return tag(f"if {one()}") + body() + otherwise + tag("endif")
        if kind <= 5:
            items = self.pick("l", "m", "turns", "d", "range(3)", "ls", one())
            condition = self.pick("", "", f" if {self.pick('x', 'x != 1', 'loop is defined', one())}")
            end = self.pick("", "", "", tag("break"), tag("continue"), tag("else") + body())
            return tag(f"for x in {items}{condition}") + self.pick(*LOOPS) + "{{ x }}" + body() + end + tag("endfor")
        if kind <= 7:
            return tag(f"set {self.pick('x', 'y', 's', 'x, y', 'ns.v')} = {one()}")
        if kind == 8:
            return tag("set y" + self.pick("", " | upper", " | trim | title")) + body() + tag("endset") + "{{ y }}"
        if kind == 9:
            return (
                tag("filter " + self.pick("upper", "trim", "replace('a','b')|upper", "indent(2)", "e"))
                + body()
                + tag("endfilter")
            )
        if kind == 10:
            uses = self.pick("", "{{ caller() if caller else '' }}", "{{ varargs }}", "{{ kwargs }}")
            call = self.pick(
                f"mac({one()})", f"mac({one()}, {one()})", f"mac(q={one()})", "mac(1, 2, 3)", "mac(1, w=3)", "mac"
            )
            used = self.pick(f"{{{{ {call} }}}}", "{% call mac(1) %}c{{ x }}{% endcall %}")
            return tag(f"macro mac(p, q={one()})") + "{{ p }}{{ q }}" + uses + body() + tag("endmacro") + used
        if kind == 11:
            return tag(f"with x={one()}, y=2") + body() + "{{ x }}" + tag("endwith")
        if kind == 12:
            return (
                "{% raw %}"
                + self.pick(" {{ x }} ", " {% if %}\n", "\n")
                + self.pick("{%- endraw %}", "{% endraw -%}", "{% endraw %}")
            )
        return tag("generation") + body() + tag("endgeneration")


def expression(seed: int) -> str:
    return "{{ " + Grammar(seed).expression(4) + " }}"


def template(seed: int) -> str:
    return "{% set ns = namespace(v=1) %}" + Grammar(seed).body(3) + "{{ ns.v }}|{{ x }}|{{ y }}"
