# SPDX-License-Identifier: BSD-3-Clause
"""Compile the shaders to SPIR-V and write them as C++ tables.

A kernel family is shaders/<family>.glsl and shaders/<family>.yaml:

    buffers:             # bindings 0, 1, ...; "w" is written, "rw" both
      - out w T
      - a r T
    parameters: [int n, float scale, "int sizes[8]"]   # the uniform block after the buffers
    constants: [OP]      # specialisation constants after the size of the workgroup; OP=1 has the default 1, not 0
    types:               # the variants: each gives the types of its buffers
      - {T: float}
      - {T: half}

A type is float, half, int or uint, or one of them with 4 (float4): the elements of the buffer. Shaders read with
load_a(i) and write with store_out(i, value); half is converted to float. P_n, P_scale and P_sizes(i) are the
parameters. thread_id() numbers the threads of a dispatch that has no shape. Included files lie in shaders/include.

A module is called <family>_<types>, where a type that repeats is named once. Compiled modules are kept by the hash of
their text, and the table is written only if it changes, so that a build compiles only what changed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable

import yaml

HERE = pathlib.Path(__file__).resolve().parent.parent
STORAGE = {
    "float": ("float", "float"),
    "half": ("float16_t", "float"),
    "int": ("int", "int"),
    "uint": ("uint", "uint"),
    "float4": ("vec4", "vec4"),
    "half4": ("f16vec4", "vec4"),
    "int4": ("ivec4", "ivec4"),
    "uint4": ("uvec4", "uvec4"),
}
OPTIONS = ["-O", "-fshader-stage=compute", "--target-env=vulkan1.1"]
PARAMETER_VECTORS = 32


class ShaderError(Exception):
    """A family that cannot be built."""


def parameters_of(names: Iterable[str], family: str) -> list[tuple[str, str, int]]:
    """Type, name and length of each parameter; a number has the length 0."""
    found: list[tuple[str, str, int]] = []
    for name in names:
        match = re.fullmatch(r"(int|float) (\w+)(?:\[(\d+)\])?", name)
        if match is None:
            raise ShaderError(f"{family}.yaml: the parameter '{name}' is not 'int name', 'float name' or 'int name[8]'")
        found.append((match[1], match[2], int(match[3] or 0)))
    count = sum(length or 1 for _, _, length in found)
    if count > PARAMETER_VECTORS * 4:
        raise ShaderError(f"{family}.yaml: {count} parameters, expected at most {PARAMETER_VECTORS * 4}")
    return found


def parameter_lines(names: Iterable[str], family: str) -> list[str]:
    """Macros and functions for parameters."""
    lines, at = [], 0
    for kind, word, length in parameters_of(names, family):
        if length:
            body = f"b_p[({at} + i) >> 2][({at} + i) & 3]"
            lines.append(f"{kind} P_{word}(int i) {{ return {body if kind == 'int' else f'intBitsToFloat({body})'}; }}")
        else:
            body = f"b_p[{at >> 2}][{at & 3}]"
            lines.append(f"#define P_{word} {f'({body})' if kind == 'int' else f'intBitsToFloat({body})'}")
        at += length or 1
    return lines


def text_of(family: str, description: dict, types: dict[str, str], body: str) -> tuple[str, int, int]:
    """Returns the whole shader, the number of its buffers, and which of them are written."""
    lines = ["#version 450", "#extension GL_EXT_control_flow_attributes : require"]
    buffers = [entry.split() for entry in description["buffers"]]
    resolved = [(name, access, types.get(kind, kind)) for name, access, kind in buffers]
    if any(kind.startswith("half") for _, _, kind in resolved):
        lines.append("#extension GL_EXT_shader_16bit_storage : require")
    lines.append("layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;")
    for i, name in enumerate(description.get("constants", [])):
        name, _, default = name.partition("=")
        lines.append(f"layout(constant_id = {i + 3}) const int {name} = {default or 0};")
    for key, kind in types.items():
        lines.append(f"#define {key} {STORAGE[kind][1]}")
        lines.append(f"#define {key}_IS_{kind.upper()} 1")
    written = 0
    for i, (name, access, kind) in enumerate(resolved):
        stored, value = STORAGE[kind]
        written |= ("w" in access) << i
        qualifier = {"r": "readonly ", "w": "writeonly ", "rw": ""}[access]
        lines.append(f"layout(std430, set = 0, binding = {i}) {qualifier}buffer B_{name} {{ {stored} b_{name}[]; }};")
        if "r" in access:
            lines.append(f"{value} load_{name}(uint i) {{ return {value}(b_{name}[i]); }}")
            lines.append(f"{value} load_{name}(int i) {{ return {value}(b_{name}[i]); }}")
        if "w" in access:
            lines.append(f"void store_{name}(uint i, {value} v) {{ b_{name}[i] = {stored}(v); }}")
            lines.append(f"void store_{name}(int i, {value} v) {{ b_{name}[i] = {stored}(v); }}")
    lines.append(
        f"layout(std140, set = 0, binding = {len(resolved)}) uniform B_P {{ ivec4 b_p[{PARAMETER_VECTORS}]; }};"
    )
    lines += parameter_lines(description.get("parameters", []), family)
    lines.append(
        "uint thread_id() { return gl_GlobalInvocationID.x + "
        "gl_GlobalInvocationID.y * (gl_NumWorkGroups.x * gl_WorkGroupSize.x); }"
    )
    lines.append(body)
    return "\n".join(lines) + "\n", len(resolved), written


TextOf = Callable[[str, dict, dict[str, str], str], tuple[str, int, int]]


def modules_of(folder: pathlib.Path, text_of: TextOf = text_of) -> dict[str, tuple[str, int, int]]:
    """Name of each module, with its text, its number of buffers and which are written."""
    includes = {path.name: path.read_text() for path in (folder / "include").glob("*.glsl")}
    modules: dict[str, tuple[str, int, int]] = {}
    for path in sorted(folder.glob("*.yaml")):
        description = yaml.safe_load(path.read_text())
        body = re.sub(
            r'^#include "(\S+)"$',
            lambda match: includes[match.group(1)],
            path.with_suffix(".glsl").read_text(),
            flags=re.MULTILINE,
        )
        for types in description.get("types", [{}]):
            unknown = set(types.values()) - set(STORAGE)
            if unknown:
                raise ShaderError(f"{path.name}: there is no type {', '.join(sorted(unknown))}")
            words = list(dict.fromkeys(kind.rstrip("4") for kind in types.values()))
            name = "_".join([path.stem, *words])
            if name in modules:
                raise ShaderError(f"{path.name}: two variants are called {name}")
            modules[name] = text_of(path.stem, description, types, body)
    return modules


def compile_module(glslc: str, name: str, text: str, cache: pathlib.Path) -> bytes:
    """Returns the SPIR-V of a shader, from the cache if it was compiled before."""
    digest = hashlib.sha256("\0".join([text, *OPTIONS]).encode()).hexdigest()[:16]
    compiled = cache / f"{name}.{digest}.spv"
    if compiled.is_file():
        return compiled.read_bytes()
    for old in cache.glob(f"{name}.*.spv"):
        old.unlink()
    source = cache / f"{name}.comp"
    source.write_text(text)
    done = subprocess.run(
        [glslc, *OPTIONS, "-o", str(compiled) + ".new", str(source)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ShaderError(f"{name}: {done.stderr.strip()[:2000]}\n(the whole shader is {source})")
    pathlib.Path(f"{compiled}.new").replace(compiled)
    source.unlink()
    return compiled.read_bytes()


def write_if_changed(path: pathlib.Path, text: str) -> None:
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def file_of(script: str, lines: Iterable[str], entries: dict[str, tuple[str, str, int, int]]) -> str:
    """The C++ file of a table: `lines` declare the modules; `entries` has, by the name of each, the expressions of its
    address and size, the number of its buffers and which of them are written, as bits."""
    names = ("executorch", "backends", "vulkan")
    found = [f"// Generated by {script}; do not edit.", "#include <cstdint>", '#include "graph/shaders.h"', ""]
    found += [*(f"namespace {name} {{" for name in names), "namespace {", *lines, "}  // namespace"]
    found.append("const gpu::Shader kShaders[] = {")
    for name in sorted(entries):
        code, size, count, written = entries[name]
        found.append(f'    {{"{name}", {code}, {size}, {count}, {written}}},')
    found += ["};", "const size_t kShaderCount = sizeof(kShaders) / sizeof(kShaders[0]);"]
    return "\n".join([*found, *(f"}}  // namespace {name}" for name in reversed(names))]) + "\n"


def table_of(modules: dict[str, tuple[str, int, int]], code: dict[str, bytes]) -> str:
    lines = []
    for name in sorted(modules):
        words = struct.unpack(f"<{len(code[name]) // 4}I", code[name])
        lines.append(f"constexpr uint32_t k_{name}[] = {{{','.join(map(str, words))}}};")
    entries = {name: (f"k_{name}", f"sizeof(k_{name})", *modules[name][1:]) for name in modules}
    return file_of("codegen/build_shaders.py", lines, entries)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glslc", default="glslc", help="the compiler of shaders")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the C++ file to write")
    parser.add_argument("--cache", type=pathlib.Path, required=True, help="the folder of compiled modules")
    parser.add_argument("--stamp", type=pathlib.Path, help="a file to touch at the end")
    parser.add_argument("--sizes", action="store_true", help="print the number of modules and their bytes")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    try:
        modules = modules_of(HERE / "shaders")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            compiled = pool.map(
                lambda entry: compile_module(arguments.glslc, entry[0], entry[1][0], arguments.cache), modules.items()
            )
            code = dict(zip(modules, compiled, strict=True))
    except (ShaderError, OSError, KeyError) as error:
        sys.exit(f"build_shaders: {error}")
    write_if_changed(arguments.output, table_of(modules, code))
    if arguments.sizes:
        print(f"{len(code)} modules, {sum(map(len, code.values()))} bytes")
    if arguments.stamp:
        arguments.stamp.touch()


if __name__ == "__main__":
    main()
