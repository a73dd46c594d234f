# SPDX-License-Identifier: BSD-3-Clause
"""Wrappers of programs whose names are written by an enemy declare the same as those of programs with plain names."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hostile_names import PAYLOADS, hostile_names, tokens, value_of

from sdk.exir import schema
from sdk.exir._serialize._program import PTEFile, deserialize_pte_binary, serialize_pte_binary
from sdk.export.wrappers import LANGUAGES, ProgramSpec, describe_program, render, wrapper_name
from sdk.wrap.__main__ import main

_ROOT = Path(__file__).parents[3]
_FILE = _ROOT / "tests/data/corpus/multi_method/model.pte"
_NAMES = hostile_names(200)

# Words that declare nothing in the language.
_WORDS = {
    "kotlin": """
        as break class continue do else false for fun if in interface is null object package return super this throw
        true try typealias typeof val var when while
    """,
    "swift": """
        associatedtype class deinit enum extension fileprivate func import init inout internal let operator private
        precedencegroup protocol public rethrows static struct subscript typealias var break case catch continue
        default defer do else fallthrough for guard if in repeat return throw switch where while Any as await false is
        nil self Self super throws true try Type Protocol
    """,
    "cpp": "class and xor default operator co_await requires thread_local int64_t INT_MAX EOF NULL errno",
}
_NEVER = {language: set(words.split()) for language, words in _WORDS.items()}


def _program(names: Sequence[str]) -> schema.Program:
    """A program with these methods: in turn those of a file, one of which has two outputs."""
    program = deserialize_pte_binary(_FILE.read_bytes()).program
    plans = list(program.execution_plan)
    plans.append(replace(plans[0], outputs=[*plans[0].outputs, *plans[0].outputs]))
    return replace(program, execution_plan=[replace(plans[i % len(plans)], name=name) for i, name in enumerate(names)])


def _described(names: Sequence[str]) -> ProgramSpec:
    return describe_program(_program(names), _FILE)


def _same_declarations(
    plain: str, found: str, language: str, texts: dict[str, str], is_name: Sequence[str], used: set[str] | None = None
) -> set[str]:
    """Checks that two sources differ in identifiers that begin as `is_name` and in string literals alone, the same way
    everywhere, and that these literals are the `texts` of the plain ones. `used`: what the names may not hide, all
    other words of the source by default. Returns the identifiers."""
    names: dict[str, str] = {}
    expected, there = list(tokens(plain, language)), list(tokens(found, language))
    same_kinds = [kind for kind, _ in expected] == [kind for kind, _ in there]
    assert same_kinds, "the sources have different kinds of tokens"  # a difference of thousands takes minutes to print
    for (kind, before), (_, after) in zip(expected, there, strict=True):
        if kind == "word" and before.startswith(tuple(is_name)):
            assert names.setdefault(before, after) == after
        elif kind == "string" and before[1:-1] in texts:
            assert value_of(after, language) == texts[before[1:-1]]
        else:
            assert before == after
    assert len(set(names.values())) == len(names)
    others = {text for kind, text in expected if kind == "word" and text not in names}
    hidden = set(names.values()) & (others if used is None else used)
    assert not hidden, "a name is one that the class uses"
    assert not set(names.values()) & _NEVER[language]
    return set(names.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_methods_are_declared_as_those_with_plain_names(language: str) -> None:
    plain = [f"plain{index}" for index in range(len(_NAMES))]
    expected = render(_described(plain), language, "Net")
    found = render(_described(_NAMES), language, "Net")
    texts = dict(zip(plain, _NAMES, strict=True))
    declared = _same_declarations(expected, found, language, texts, ("plain", "Plain"))
    assert not declared & ({"equals", "hashCode", "toString", "getModule"} if language == "kotlin" else set())
    assert len(declared) > len(_NAMES)  # with the classes of several outputs


@pytest.mark.parametrize("language", LANGUAGES)
def test_inputs_are_declared_as_those_with_plain_names(language: str) -> None:
    program = _program(["forward"])
    plan = program.execution_plan[0]
    program = replace(program, execution_plan=[replace(plan, inputs=[plan.inputs[0]] * len(_NAMES))])
    plain = [f"plain{index}" for index in range(len(_NAMES))]
    expected, found = (
        render(describe_program(program, _FILE, input_names={"forward": names}), language, "Net")
        for names in (plain, _NAMES)
    )
    # Messages name inputs by their identifiers.
    words = [text for kind, text in tokens(found, language) if kind == "word"]
    plains = [text for kind, text in tokens(expected, language) if kind == "word"]
    names = dict(zip(plains, words, strict=True))
    texts = {before: after for before, after in names.items() if before.startswith("plain")}
    used = {"kotlin": "outputs module tensor checkInput", "swift": "outputs module", "cpp": "outputs module_ check"}
    assert len(_same_declarations(expected, found, language, texts, ("plain",), set(used[language].split()))) == len(
        _NAMES
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_files_may_have_any_name(language: str) -> None:
    described = _described(["forward"])
    expected = render(replace(described, file_name="plain.pte", data_file_name="data.ptd"), language)
    for name in [*_NAMES, "caf\udce9"]:
        file, data = f"{name}.pte", f"{name}.ptd"
        found = render(replace(described, file_name=file, data_file_name=data), language)
        readable = "caf\ufffd" if language == "swift" and name == "caf\udce9" else name
        texts = {"plain.pte": f"{readable}.pte", "data.ptd": f"{readable}.ptd"}
        assert _same_declarations(expected, found, language, texts, ("Plain",)) == {wrapper_name(file)}


def test_names_stay_recognisable() -> None:
    names = ["forward", "a.b", "a-b", "class", "encode_text", "0", "日本語"]
    described = _described(names)
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
        _described(names)


def test_the_command_takes_a_hostile_program_and_refuses_hostile_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / '"; evil(); \n\\$x${y}*.pte'
    pte = PTEFile(program=_program(['forward() { system("id") } int f', "*/ evil"]))
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
    described = _described(["forward"])
    for package in ("com.example", "com::example"):
        assert "\npackage com.example\n" in render(described, "kotlin", "Net", package)
        assert "\nnamespace com::example {\n" in render(described, "cpp", "Net", package)


@pytest.mark.slow
def test_the_header_of_hostile_names_compiles(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    # With the words of the template itself, which a name may not hide.
    words = {text for kind, text in tokens(render(_described(["forward"]), "cpp", "Net"), "cpp") if kind == "word"}
    names = list(dict.fromkeys([*_NAMES, *sorted(words)]))
    program = _program(names)
    plan = program.execution_plan[0]
    program.execution_plan.append(replace(plan, name="many inputs", inputs=[plan.inputs[0]] * len(names)))
    described = describe_program(program, _FILE, input_names={"many inputs": names})
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
