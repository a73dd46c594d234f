# SPDX-License-Identifier: BSD-3-Clause
"""The translation of kernels to WGSL; test_webgpu_in_web.py runs them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "codegen"))

import build_shaders
import build_wgsl

SHADERS = build_shaders.HERE / "shaders"
DESCRIPTION = {"buffers": ["out w T", "x r T"], "parameters": ["int count", "float scale", "int sizes[8]"]}


def kernel(body: str, types: dict[str, str] | None = None, **description: list[str]) -> str:
    """The WGSL of a kernel without blanks at the start of lines."""
    return build_wgsl.text_of("family", {**DESCRIPTION, **description}, types or {"T": "float"}, body)[0]


def main(statements: str, types: dict[str, str] | None = None, **description: list[str]) -> list[str]:
    """The lines of main()."""
    text = kernel(f"void main() {{ {statements} }}", types, **description)
    found = re.search(r"fn main_\(\) \{\n(.*?)\n\}\n(?:fn |@compute)", text, re.DOTALL)
    assert found is not None
    return found.group(1).split("\n")


def test_every_kernel_has_its_interface() -> None:
    """Bindings are declared as in the descriptions; a buffer that is bound as vectors, too, has one binding."""
    modules = build_shaders.modules_of(SHADERS, build_wgsl.text_of)
    originals = build_shaders.modules_of(SHADERS)
    assert set(modules) == set(originals) and len(modules) > 70
    for name, (text, count, written) in modules.items():
        assert (count, written) == originals[name][1:], name
        declared = dict(re.findall(r"@binding\((\d+)\) var<(?:storage, )?(\w+)>", text))
        expected = {str(i): "read_write" if written >> i & 1 else "read" for i in range(count)} | {
            str(count): "uniform"
        }
        if name.startswith("matmul"):
            assert expected.pop("1") == "read_write"
        assert declared == expected, name
        assert ("enable f16;" in text) == ("half" in name), name


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("float x = 3;", "var x_: f32 = 3.0f;"),
        ("uint n = 3;", "var n_: u32 = 3u;"),
        ("const float y = P_count * P_scale;", "let y_: f32 = (f32(b_p[0].x) * bitcast<f32>(b_p[0].y));"),
        ("int n = P_sizes(1) << 2;", "var n_: i32 = (P_sizes(1) << 2u);"),
        ("bool b = 1u < 2;", "var b_: bool = (1u < 2u);"),
        ("float x = P_count > 0 ? 1 : 0.5;", "var x_: f32 = select(0.5f, 1.0f, (b_p[0].x > 0));"),
        ("vec4 v = vec4(1, 2u, 3.0, 4);", "var v_: vec4<f32> = vec4<f32>(f32(1), f32(2u), 3.0f, f32(4));"),
        ("vec4 v = vec4(0.0) * 2;", "var v_: vec4<f32> = (vec4<f32>(0.0f) * 2.0f);"),
        ("float x = uintBitsToFloat(0x7f800000u);", "var x_: f32 = float_of(0x7f800000u);"),
        ("float x = max(P_count, 0.5);", "var x_: f32 = max(f32(b_p[0].x), 0.5f);"),
        ("int x = int(roundEven(load_x(3u)));", "var x_: i32 = i32(round(load_x(i32(3u))));"),
        ("store_out(2, 1);", "store_out(2, 1.0f);"),
        ("float all[3];", "var all_: array<f32, 3>;"),
    ],
)
def test_conversions_are_written(statement: str, expected: str) -> None:
    """Implicit conversions of GLSL (4.1.10 of its specification) become explicit, because WGSL has none."""
    assert main(statement) == [expected]


def test_changes_of_parameters_and_places() -> None:
    text = kernel(
        "void add(inout float sum, float x) { x *= 2.0; sum += x; }"
        "void twice(inout float sum) { add(sum, 1.0); add(sum, 1.0); }"
        "void main() { float s = 0.0; twice(s); store_out(0, s); }"
    )
    assert "fn add_(sum_: ptr<function, f32>, x_in: f32) {\nvar x_: f32 = x_in;\nx_ *= 2.0f;\n(*sum_) += x_;\n}" in text
    assert "add_(sum_, 1.0f);" in text and "twice_(&s_);" in text


def test_loops_change_several_variables() -> None:
    lines = main("int a = 1; for (int b = 9; b > 0; b >>= 1, a *= a) { if (a > 5) continue; }")
    assert "continuing { b_ >>= 1u; a_ *= a_; }" in lines and "if (!(b_ > 0)) { break; }" in lines


def test_half_numbers_are_computed_as_floats() -> None:
    text = kernel("void main() { store_out(0, load_x(0)); }", {"T": "half"})
    assert "fn load_x(i: i32) -> f32 { return f32(b_x[i]); }" in text
    assert "fn store_out(i: i32, v: f32) { b_out[i] = f16(v); }" in text


def test_functions_that_main_does_not_need_are_left_out() -> None:
    text = kernel("float unused(float x) { return x; } void main() { store_out(0, 1.0); }")
    assert "unused" not in text and "load_x" not in text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("void main() { int x = 1.5; }", "expected a int, found the float 1.5f"),
        ("void main() { store_out(0, nothing); }", "there is no variable nothing"),
        ("void main() { store_out(0, pow(1.0, 2.0)); }", "there is no function pow"),
        ("void main() { int x = 1 }", "expected ;, found '}'"),
        ("#if 1\nvoid main() { }", "the directive '#if 1' is not known"),
        ("void main() { switch (1) { case 1: break; } }", "a return at the end of each case"),
    ],
)
def test_what_is_not_understood_is_an_error(body: str, words: str) -> None:
    with pytest.raises(build_shaders.ShaderError, match=r"family\.glsl") as caught:
        kernel(body)
    assert words in str(caught.value)
