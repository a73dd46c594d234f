# SPDX-License-Identifier: BSD-3-Clause
"""Wrappers of programs with hostile names declare the same as those of programs with plain names."""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hostile_names import PAYLOADS, hostile_names, random_names, tokens
from wrapped_names import FILE, check, check_files, check_inputs, check_methods, program_of, spec_of

from sdk.exir._serialize._program import PTEFile, serialize_pte_binary
from sdk.export.wrappers import LANGUAGES, describe_program, render
from sdk.wrap.__main__ import main

_ROOT = Path(__file__).parents[3]
_NAMES = hostile_names(200)


@pytest.mark.parametrize("language", LANGUAGES)
def test_wrappers_declare_as_those_of_plain_names(language: str) -> None:
    check_methods(_NAMES, language)
    check_inputs(_NAMES, language)
    check_files([*_NAMES, "caf\udce9"], language)


@pytest.mark.parametrize("seed", range(20))
def test_random_names(seed: int) -> None:
    """`tests/fuzz/fuzz_wrapped_names.py` does the same for longer."""
    names = random_names(random.Random(seed), 12)
    for language in LANGUAGES:
        check(names, language)


def test_names_stay_recognisable() -> None:
    names = ["forward", "a.b", "a-b", "class", "encode_text", "0", "日本語"]
    described = spec_of(names)
    for language, expected in {
        "cpp": ["forward", "a_b", "a_b_2", "class_", "encode_text", "method_0", "method"],
        "kotlin": ["forward", "aB", "aB_2", "class_", "encodeText", "method0", "method"],
        "swift": ["forward", "aB", "aB_2", "class_", "encodeText", "method0", "method"],
    }.items():
        text = render(described, language, "Net")
        assert all(f" {name}(" in text for name in expected), language


@pytest.mark.parametrize("names", [["a\0b"], [""], ["forward", "forward"]])
def test_methods_that_the_runtime_cannot_find_are_refused(names: list[str]) -> None:
    with pytest.raises(ValueError, match="method"):
        spec_of(names)


def test_the_command_takes_a_hostile_program_and_refuses_hostile_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / '"; evil(); \n\\$x${y}*.pte'
    pte = PTEFile(program=program_of(['forward() { system("id") } int f', "*/ evil"]))
    program.write_bytes(bytes(serialize_pte_binary(pte)))
    for language, ending in LANGUAGES.items():
        assert main([str(program), "--language", language]) == 0
        words = [text for kind, text in tokens((tmp_path / f"EvilXY{ending}").read_text(), language) if kind == "word"]
        name = "forward_system_id_int_f" if language == "cpp" else "forwardSystemIdIntF"
        assert {"evil", name} <= set(words) and "system" not in words
    before = sorted(tmp_path.iterdir())
    for option, value in [
        *(("--package", text) for text in ("", "a b", "a;b", "a.", "a..b", "a\nimport os", "a{", "a.class", "1a", "ü")),
        *(("--name", text) for text in ("a b", "1a", "class", "A{", "A\n", "Módule")),
    ]:
        for language in ("kotlin", "cpp"):
            assert main([str(program), "--language", language, option, value]) == 2, value
            assert capsys.readouterr().err.count("\n") == 1
    assert main([str(program), "--language", "kotlin", "--name", "Module"]) == 2
    assert sorted(tmp_path.iterdir()) == before


def test_a_package_is_written_as_the_language_does() -> None:
    described = spec_of(["forward"])
    for package in ("com.example", "com::example"):
        assert "\npackage com.example\n" in render(described, "kotlin", "Net", package)
        assert "\nnamespace com::example {\n" in render(described, "cpp", "Net", package)


@pytest.mark.slow
def test_the_header_of_hostile_names_compiles(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    # The names include the words of the template, which they must not hide.
    words = {text for kind, text in tokens(render(spec_of(["forward"]), "cpp", "Net"), "cpp") if kind == "word"}
    names = list(dict.fromkeys([*_NAMES, *sorted(words)]))
    program = program_of(names)
    plan = program.execution_plan[0]
    program.execution_plan.append(replace(plan, name="many inputs", inputs=[plan.inputs[0]] * len(names)))
    described = describe_program(program, FILE, input_names={"many inputs": names})
    for index, name in enumerate(PAYLOADS[:40]):
        described = replace(described, file_name=f"{name}.pte")
        content = ", ".join(str(byte) for byte in f"{name}.pte".encode())
        text = render(described if index == 0 else replace(described, methods=()), "cpp", "Net", f"hostile{index}")
        (tmp_path / f"Net{index}.h").write_text(text)
        with (tmp_path / "all.cpp").open("a") as file:
            file.write(f'#include "Net{index}.h"\n')
            file.write(f"constexpr unsigned char kName{index}[] = {{{content}, 0}};\n")
            file.write(f"static_assert(same(hostile{index}::Net::kFileName, kName{index}));\n")
    same = """
constexpr bool same(const char* a, const unsigned char* b) {
  return static_cast<unsigned char>(*a) == *b && (*b == 0 || same(a + 1, b + 1));
}
"""
    (tmp_path / "all.cpp").write_text(same + (tmp_path / "all.cpp").read_text())
    command = [compiler, "-std=c++17", "-fsyntax-only", "-Wall", "-Werror", f"-I{_ROOT / 'sdk/cpp'}", "all.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
