# SPDX-License-Identifier: BSD-3-Clause
"""Translate the shaders to WGSL, for WebGPU, and write them as a C++ table.

The families are those of build_shaders.py, which says how they are described. A buffer that is written as vectors too
(out and out4) is one binding, because WebGPU does not bind a buffer twice if one of the bindings is written.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Iterable

import build_shaders
from build_shaders import PARAMETER_VECTORS, STORAGE, ShaderError
from glsl import GlslError, Parser, preprocess
from wgsl import Surroundings, Writer, wgsl_type

ELEMENTS = {"float": "f32", "half": "f16", "int": "i32", "uint": "u32"}


def stored_type(kind: str) -> str:
    scalar = ELEMENTS[kind.rstrip("4")]
    return f"vec4<{scalar}>" if kind.endswith("4") else scalar


class Interface:
    """The declarations of a kernel: its constants, buffers and parameters."""

    def __init__(self, family: str, description: dict, types: dict[str, str]) -> None:
        self.around = Surroundings()
        self.lines: list[str] = []
        # The text of each helper function by its name. Only those that the kernel uses are written.
        self.helpers: dict[str, str] = {}
        buffers = [entry.split() for entry in description["buffers"]]
        self.buffers = [(name, access, types.get(kind, kind)) for name, access, kind in buffers]
        self.written = sum(("w" in access) << i for i, (_, access, _) in enumerate(self.buffers))
        if any(kind.startswith("half") for _, _, kind in self.buffers):
            self.lines.append("enable f16;")
        self.constants(description.get("constants", []))
        for i, (name, access, kind) in enumerate(self.buffers):
            self.buffer(i, name, access, kind)
        self.lines.append(
            f"@group(0) @binding({len(self.buffers)}) var<uniform> b_p: array<vec4<i32>, {PARAMETER_VECTORS}>;"
        )
        self.parameters(description.get("parameters", []), family)
        self.around.functions["thread_id"] = "uint", (), "thread_id"
        self.helpers["thread_id"] = (
            "fn thread_id() -> u32 {\n"
            "return gl_GlobalInvocationID_.x + gl_GlobalInvocationID_.y * (gl_NumWorkGroups_.x * LX);\n}"
        )

    def constants(self, names: Iterable[str]) -> None:
        self.lines += [f"@id({i}) override L{axis}: u32 = 1;" for i, axis in enumerate("XYZ")]
        self.around.names["gl_WorkGroupSize"] = "uvec3", "vec3<u32>(LX, LY, LZ)"
        for i, entry in enumerate(names):
            name, _, default = entry.partition("=")
            self.lines.append(f"@id({i + 3}) override {name}_: i32 = {default or 0};")
            self.around.names[name] = "int", f"{name}_"

    def buffer(self, index: int, name: str, access: str, kind: str) -> None:
        value, stored = STORAGE[kind][1], stored_type(kind)
        scalar = next((of for of, how, _ in self.buffers if of == name[:-1] and how == access), None)
        shares = scalar is not None and name.endswith("4") and "w" in access
        if not shares:
            mode = "read_write" if "w" in access else "read"
            self.lines.append(f"@group(0) @binding({index}) var<storage, {mode}> b_{name}: array<{stored}>;")
        if "r" in access:
            self.around.functions[f"load_{name}"] = value, ("int",), f"load_{name}"
            found = f"b_{name}[i]"
            found = f"{wgsl_type(value)}({found})" if kind.startswith("half") else found
            self.helpers[f"load_{name}"] = f"fn load_{name}(i: i32) -> {wgsl_type(value)} {{ return {found}; }}"
        if "w" in access:
            self.around.functions[f"store_{name}"] = "void", ("int", value), f"store_{name}"
            body = f"b_{name}[i] = {f'{stored}(v)' if kind.startswith('half') else 'v'};"
            if shares:
                element = stored_type(kind[:-1])
                body = " ".join(f"b_{scalar}[i * 4 + {j}] = {element}(v.{axis});" for j, axis in enumerate("xyzw"))
            self.helpers[f"store_{name}"] = f"fn store_{name}(i: i32, v: {wgsl_type(value)}) {{ {body} }}"

    def parameters(self, names: Iterable[str], family: str) -> None:
        at = 0
        for kind, word, length in build_shaders.parameters_of(names, family):
            if length:
                body = "b_p[at >> 2u][at & 3]"
                result = body if kind == "int" else f"bitcast<f32>({body})"
                self.around.functions[f"P_{word}"] = kind, ("int",), f"P_{word}"
                self.helpers[f"P_{word}"] = (
                    f"fn P_{word}(i: i32) -> {wgsl_type(kind)} {{ let at = {at} + i; return {result}; }}"
                )
            else:
                place = f"b_p[{at >> 2}].{'xyzw'[at & 3]}"
                self.around.names[f"P_{word}"] = kind, place if kind == "int" else f"bitcast<f32>({place})"
            at += length or 1


def text_of(family: str, description: dict, types: dict[str, str], body: str) -> tuple[str, int, int]:
    """The whole kernel, the number of its buffers and which of them are written."""
    interface = Interface(family, description, types)
    defined = {key: STORAGE[kind][1] for key, kind in types.items()}
    defined |= {f"{key}_IS_{kind.upper()}": "1" for key, kind in types.items()}
    try:
        writer = Writer(Parser(preprocess(body, defined)).module(), interface.around)
        text = writer.text()
    except GlslError as error:
        raise ShaderError(f"{family}.glsl with {types}: {error}") from error
    helpers = [helper for name, helper in interface.helpers.items() if name in writer.used]
    return "\n".join([*interface.lines, *helpers, text]), len(interface.buffers), interface.written


def table_of(modules: dict[str, tuple[str, int, int]]) -> str:
    entries = {}
    lines = []
    for name, (text, count, written) in sorted(modules.items()):
        lines.append(f'constexpr char k_{name}[] = R"wgsl({text})wgsl";')
        entries[name] = (f"k_{name}", f"sizeof(k_{name}) - 1", count, written)
    return build_shaders.file_of("codegen/build_wgsl.py", lines, entries)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the C++ file to write")
    parser.add_argument("--stamp", type=pathlib.Path, help="a file to touch at the end")
    arguments = parser.parse_args()
    try:
        modules = build_shaders.modules_of(build_shaders.HERE / "shaders", text_of)
    except (ShaderError, OSError, KeyError) as error:
        sys.exit(f"build_wgsl: {error}")
    build_shaders.write_if_changed(arguments.output, table_of(modules))
    if arguments.stamp:
        arguments.stamp.touch()


if __name__ == "__main__":
    main()
