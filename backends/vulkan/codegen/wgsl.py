# SPDX-License-Identifier: BSD-3-Clause
"""Writes a kernel that glsl.py parsed in WGSL, which WebGPU runs.

GLSL converts numbers where WGSL does not, so that every expression is written with its type. Names get an underscore at
the end, because WGSL reserves many words. Constants that are infinite or NaN come from functions: WGSL refuses constant
expressions with such a value. `precise` has no counterpart: an implementation may contract a product and a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from glsl import Expression, Function, GlslError, Module, Statement

_TYPES = {
    "float": "f32",
    "int": "i32",
    "uint": "u32",
    "bool": "bool",
    "vec4": "vec4<f32>",
    "ivec4": "vec4<i32>",
    "uvec4": "vec4<u32>",
    "bvec4": "vec4<bool>",
    "uvec3": "vec3<u32>",
}
_ELEMENTS = {"vec4": "float", "ivec4": "int", "uvec4": "uint", "bvec4": "bool", "uvec3": "uint"}
_RANKS = {"int": 0, "uint": 1, "float": 2}
# Functions of one type for arguments and result.
_UNIFORM = {name: name for name in ("min", "max", "clamp", "abs", "sign", "floor", "ceil", "trunc")}
_UNIFORM |= {name: name for name in ("exp", "exp2", "log", "log2", "sqrt", "fma")}
_UNIFORM |= {"inversesqrt": "inverseSqrt", "roundEven": "round"}
_FLOATS = ("floor", "ceil", "trunc", "exp", "exp2", "log", "log2", "sqrt", "fma", "inversesqrt", "roundEven")
_BITS = {"floatBitsToUint": ("float", "uint"), "uintBitsToFloat": ("uint", "float"), "intBitsToFloat": ("int", "float")}
_BUILTINS = {
    "gl_GlobalInvocationID": ("uvec3", "global_invocation_id"),
    "gl_LocalInvocationID": ("uvec3", "local_invocation_id"),
    "gl_WorkGroupID": ("uvec3", "workgroup_id"),
    "gl_NumWorkGroups": ("uvec3", "num_workgroups"),
    "gl_LocalInvocationIndex": ("uint", "local_invocation_index"),
}
# Functions that WGSL does not have.
_HELPERS = {
    "float_of": "fn float_of(x: u32) -> f32 { return bitcast<f32>(x); }",
    "isnan": "fn isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }",
    "isnan4": "fn isnan4(x: vec4<f32>) -> vec4<bool> {\n"
    "return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u);\n}",
    "umulExtended": "fn umulExtended(a: u32, b: u32, high: ptr<function, u32>, low: ptr<function, u32>) {\n"
    "let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;\n"
    "let m = ah * bl + ((al * bl) >> 16u);\nlet n = al * bh + (m & 0xffffu);\n"
    "*high = ah * bh + (m >> 16u) + (n >> 16u);\n*low = a * b;\n}",
    "uaddCarry": "fn uaddCarry(a: u32, b: u32, carry: ptr<function, u32>) -> u32 {\n"
    "let sum = a + b;\n*carry = select(0u, 1u, sum < a);\nreturn sum;\n}",
}


@dataclass
class Surroundings:
    """Names that the kernel's text does not declare: functions, with the types of result and parameters and the name in
    WGSL; and variables, with type and text."""

    functions: dict[str, tuple[str, tuple[str, ...], str]] = field(default_factory=dict)
    names: dict[str, tuple[str, str]] = field(default_factory=dict)


def wgsl_type(kind: str) -> str:
    return _TYPES.get(kind, f"{kind}_")


class Writer:
    def __init__(self, module: Module, around: Surroundings) -> None:
        self.module = module
        self.around = around
        self.used: set[str] = set()  # builtins, helpers and functions of `around`
        self.called: list[str] = []
        self.scopes: list[dict[str, tuple[str, str]]] = [{}]
        self.lines: list[str] = []
        self.result = "void"

    # Types of arrays are "float[]": the size is part of the declaration alone.

    def find(self, name: str) -> tuple[str, str]:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.around.names:
            self.used.add(name)
            return self.around.names[name]
        if name in _BUILTINS:
            self.used.add(name)
            return _BUILTINS[name][0], f"{name}_"
        raise GlslError(f"there is no variable {name}")

    def to(self, kind: str, x: tuple[str, str]) -> str:
        """An expression of a type, from one that GLSL would convert to it."""
        found, text = x
        if found == kind:
            return text
        if found in _RANKS and kind in _RANKS and _RANKS[found] < _RANKS[kind]:
            if text.isdecimal():
                return f"{text}{'u' if kind == 'uint' else '.0f'}"
            return f"{wgsl_type(kind)}({text})"
        raise GlslError(f"expected a {kind}, found the {found} {text}")

    def common(self, *found: tuple[str, str]) -> str:
        kinds = {kind for kind, _ in found}
        if len(kinds) == 1:
            return found[0][0]
        if not kinds <= set(_RANKS):
            raise GlslError(f"there is no common type of {found}")
        return max(kinds, key=_RANKS.__getitem__)

    def expression(self, x: Expression) -> tuple[str, str]:
        """The type of an expression, and its text in WGSL."""
        visit: Callable[[Expression], tuple[str, str]] = getattr(self, f"_{x[0]}")
        return visit(x)

    def _literal(self, x: Expression) -> tuple[str, str]:
        _, text, kind = x
        return kind, text + {"float": "f", "uint": "u"}.get(kind, "")

    def _name(self, x: Expression) -> tuple[str, str]:
        return self.find(x[1])

    def _unary(self, x: Expression) -> tuple[str, str]:
        kind, text = self.expression(x[2])
        return kind, f"({x[1]}{text})"

    def _binary(self, x: Expression) -> tuple[str, str]:
        _, op, left, right = x
        a, b = self.expression(left), self.expression(right)
        if op in ("<<", ">>"):
            return a[0], f"({a[1]} {op} {self.shift(b)})"
        if op in ("&&", "||"):
            return "bool", f"({self.to('bool', a)} {op} {self.to('bool', b)})"
        for vector, scalar in ((a, b), (b, a)):
            if vector[0] in _ELEMENTS and scalar[0] in _RANKS:
                element = self.to(_ELEMENTS[vector[0]], scalar)
                parts = (vector[1], element) if vector is a else (element, vector[1])
                return vector[0], f"({parts[0]} {op} {parts[1]})"
        kind = self.common(a, b)
        text = f"({self.to(kind, a)} {op} {self.to(kind, b)})"
        return ("bool" if op in ("<", ">", "<=", ">=", "==", "!=") else kind), text

    def shift(self, amount: tuple[str, str]) -> str:
        return amount[1] if amount[0] == "uint" else self.to("uint", amount)

    def _choice(self, x: Expression) -> tuple[str, str]:
        condition, yes, no = (self.expression(part) for part in x[1:])
        kind = self.common(yes, no)
        return kind, f"select({self.to(kind, no)}, {self.to(kind, yes)}, {self.to('bool', condition)})"

    def _index(self, x: Expression) -> tuple[str, str]:
        kind, text = self.expression(x[1])
        element = kind[:-2] if kind.endswith("[]") else _ELEMENTS[kind]
        return element, f"{text}[{self.expression(x[2])[1]}]"

    def _member(self, x: Expression) -> tuple[str, str]:
        kind, text = self.expression(x[1])
        if kind in _ELEMENTS:
            return _ELEMENTS[kind], f"{text}.{x[2]}"
        fields = {name: of for of, name in self.module.structs[kind]}
        return fields[x[2]], f"{text}.{x[2]}_"

    def _array(self, x: Expression) -> tuple[str, str]:
        items = ", ".join(self.to(x[1], self.expression(item)) for item in x[2])
        return f"{x[1]}[]", f"array<{wgsl_type(x[1])}, {len(x[2])}>({items})"

    def _call(self, x: Expression) -> tuple[str, str]:
        name, items = x[1], x[2]
        if name in self.module.functions:
            return self.call_own(self.module.functions[name], items)
        if name in ("umulExtended", "uaddCarry"):
            self.used.add(name)
            values = [self.to("uint", self.expression(item)) for item in items[:2]]
            places = [f"&{self.expression(item)[1]}" for item in items[2:]]
            return ("uint" if name == "uaddCarry" else "void"), f"{name}({', '.join([*values, *places])})"
        found = [self.expression(item) for item in items]
        if name in self.around.functions:
            self.used.add(name)
            result, kinds, text = self.around.functions[name]
            return result, f"{text}({', '.join(self.index_of(*pair) for pair in zip(kinds, found, strict=True))})"
        if name in _TYPES or name in self.module.structs:
            return name, self.construct(name, found)
        return self.builtin(name, found)

    def index_of(self, kind: str, x: tuple[str, str]) -> str:
        """An argument of a function of `around`, whose indices may be uint or int."""
        if kind == "int" and x[0] == "uint":
            return f"i32({x[1]})"
        return self.to(kind, x)

    def call_own(self, function: Function, items: Sequence[Expression]) -> tuple[str, str]:
        if function.name not in self.called:
            self.called.append(function.name)
        parts = []
        for (way, kind, _), item in zip(function.parameters, items, strict=True):
            found = self.expression(item)
            # An out or inout parameter of the caller is a pointer already: "(*p_)".
            place = found[1][2:-1] if found[1].startswith("(*") else f"&{found[1]}"
            parts.append(self.to(kind, found) if way == "in" else place)
        return function.result, f"{function.name}_({', '.join(parts)})"

    def construct(self, name: str, found: list[tuple[str, str]]) -> str:
        if name in self.module.structs:
            kinds = [kind for kind, _ in self.module.structs[name]]
            return f"{name}_({', '.join(self.to(*pair) for pair in zip(kinds, found, strict=True))})"
        if name in _ELEMENTS and not (len(found) == 1 and found[0][0] in _ELEMENTS):
            element = _ELEMENTS[name]
            texts = [text if kind == element else f"{wgsl_type(element)}({text})" for kind, text in found]
            return f"{wgsl_type(name)}({', '.join(texts)})"
        (kind, text) = found[0]
        return text if kind == name else f"{wgsl_type(name)}({text})"

    def builtin(self, name: str, found: list[tuple[str, str]]) -> tuple[str, str]:
        if name == "barrier":
            return "void", "workgroupBarrier()"
        if name == "isnan":
            helper = "isnan" if found[0][0] == "float" else "isnan4"
            self.used.add(helper)
            return ("bool" if helper == "isnan" else "bvec4"), f"{helper}({found[0][1]})"
        if name == "mix":
            (kind, a), (_, b), condition = found
            return kind, f"select({a}, {b}, {self.to('bvec4', condition)})"
        if name in _BITS:
            from_kind, to_kind = _BITS[name]
            text = self.to(from_kind, found[0])
            if name == "uintBitsToFloat":
                self.used.add("float_of")
                return to_kind, f"float_of({text})"
            return to_kind, f"bitcast<{wgsl_type(to_kind)}>({text})"
        if name not in _UNIFORM:
            raise GlslError(f"there is no function {name}")
        kind = self.common(*found)
        kind = "float" if name in _FLOATS and kind in _RANKS else kind
        return kind, f"{_UNIFORM[name]}({', '.join(self.to(kind, item) for item in found)})"

    # Statements.

    def statements(self, body: Sequence[Statement]) -> None:
        self.scopes.append({})
        for statement in body:
            getattr(self, f"_{statement[0]}")(statement)
        self.scopes.pop()

    def put(self, line: str) -> None:
        self.lines.append(line)

    def _block(self, x: Statement) -> None:
        self.put("{")
        self.statements(x[1])
        self.put("}")

    def _declare(self, x: Statement) -> None:
        self.put(self.declaration(x, "var" if not x[5] or x[3] is not None else "let"))

    def declaration(self, x: Statement, word: str) -> str:
        _, kind, name, size, value, _ = x
        text = ""
        if value is not None:
            found = self.expression(value)
            text = f" = {found[1] if size is not None else self.to(kind, found)}"
        if size is not None:
            count = len(value[2]) if value is not None else self.expression(size)[1]
            self.scopes[-1][name] = f"{kind}[]", f"{name}_"
            return f"{word} {name}_: array<{wgsl_type(kind)}, {count}>{text};"
        self.scopes[-1][name] = kind, f"{name}_"
        return f"{word} {name}_: {wgsl_type(kind)}{text};"

    def change(self, x: Statement) -> str:
        if x[0] == "do":
            kind, text = self.expression(x[1])
            return text if kind == "void" else f"_ = {text}"
        _, op, target, value = x
        kind, place = self.expression(target)
        found = self.expression(value)
        if op in ("<<=", ">>="):
            return f"{place} {op} {self.shift(found)}"
        if kind in _ELEMENTS and found[0] in _RANKS:
            return f"{place} {op} {self.to(_ELEMENTS[kind], found)}"
        return f"{place} {op} {self.to(kind, found)}"

    def _assign(self, x: Statement) -> None:
        self.put(self.change(x) + ";")

    def _do(self, x: Statement) -> None:
        self.put(self.change(x) + ";")

    def _if(self, x: Statement) -> None:
        self.put(f"if ({self.to('bool', self.expression(x[1]))}) {{")
        self.statements(x[2])
        if x[3] is not None:
            self.put("} else {")
            self.statements(x[3])
        self.put("}")

    def _for(self, x: Statement) -> None:
        _, start, condition, step, body = x
        self.put("{")
        self.scopes.append({})
        for statement in start:
            getattr(self, f"_{statement[0]}")(statement)
        self.put("loop {")
        if condition is not None:
            self.put(f"if (!{self.to('bool', self.expression(condition))}) {{ break; }}")
        self.statements(body)
        if step:
            self.put(f"continuing {{ {' '.join(self.change(statement) + ';' for statement in step)} }}")
        self.put("}")
        self.scopes.pop()
        self.put("}")

    def _switch(self, x: Statement) -> None:
        self.put(f"switch ({self.expression(x[1])[1]}) {{")
        for labels, body in x[2]:
            self.put("default: {" if labels is None else f"case {', '.join(self.expression(i)[1] for i in labels)}: {{")
            self.statements(body)
            self.put("}")
        self.put("}")

    def _return(self, x: Statement) -> None:
        self.put("return;" if x[1] is None else f"return {self.to(self.result, self.expression(x[1]))};")

    def _break(self, _: Statement) -> None:
        self.put("break;")

    def _continue(self, _: Statement) -> None:
        self.put("continue;")

    # The module.

    def function(self, function: Function) -> list[str]:
        self.lines, self.result = [], function.result
        self.scopes.append({})
        parameters = []
        for way, kind, name in function.parameters:
            if way == "in":
                # Parameters of WGSL cannot be changed.
                self.put(f"var {name}_: {wgsl_type(kind)} = {name}_in;")
                parameters.append(f"{name}_in: {wgsl_type(kind)}")
                self.scopes[-1][name] = kind, f"{name}_"
            else:
                parameters.append(f"{name}_: ptr<function, {wgsl_type(kind)}>")
                self.scopes[-1][name] = kind, f"(*{name}_)"
        self.statements(function.body)
        self.scopes.pop()
        result = "" if function.result == "void" else f" -> {wgsl_type(function.result)}"
        return [f"fn {function.name}_({', '.join(parameters)}){result} {{", *self.lines, "}"]

    def text(self) -> str:
        """The module, with only the functions that main() needs."""
        heads = []
        for name, fields in self.module.structs.items():
            heads.append(f"struct {name}_ {{ {', '.join(f'{field}_: {wgsl_type(kind)}' for kind, field in fields)} }}")
        for constant in self.module.constants:
            heads.append(self.declaration(constant, "var<private>" if constant[3] is not None else "const"))
        for kind, name, size in self.module.shared:
            heads.append(f"var<workgroup> {name}_: array<{wgsl_type(kind)}, {self.expression(size)[1]}>;")
            self.scopes[0][name] = f"{kind}[]", f"{name}_"
        self.called = ["main"]
        functions = []
        for name in self.called:  # which grows meanwhile
            functions += self.function(self.module.functions[name])
        builtins = [name for name in _BUILTINS if name in self.used or name in self.needed_by_around()]
        heads += [f"var<private> {name}_: {wgsl_type(_BUILTINS[name][0])};" for name in builtins]
        heads += [text for name, text in _HELPERS.items() if name in self.used]
        inputs = ", ".join(
            f"@builtin({_BUILTINS[name][1]}) {name}_in: {wgsl_type(_BUILTINS[name][0])}" for name in builtins
        )
        entry = ["@compute @workgroup_size(LX, LY, LZ)", f"fn main({inputs}) {{"]
        entry += [f"{name}_ = {name}_in;" for name in builtins]
        return "\n".join([*heads, *functions, *entry, "main_();", "}"]) + "\n"

    def needed_by_around(self) -> tuple[str, ...]:
        return ("gl_GlobalInvocationID", "gl_NumWorkGroups") if "thread_id" in self.used else ()
