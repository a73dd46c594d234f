# SPDX-License-Identifier: BSD-3-Clause
"""Checks that wrappers declare the same functions for hostile names as for plain ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hostile_names import tokens, value_of

from sdk.exir import schema
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.export.wrappers import ProgramSpec, describe_program, render, wrapper_name

FILE = Path(__file__).parents[3] / "tests/data/corpus/multi_method/model.pte"

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


def program_of(names: Sequence[str]) -> schema.Program:
    """Returns a program with methods of these names. They are copies of two methods, one of which has two outputs."""
    program = deserialize_pte_binary(FILE.read_bytes()).program
    plans = list(program.execution_plan)
    plans.append(replace(plans[0], outputs=[*plans[0].outputs, *plans[0].outputs]))
    return replace(program, execution_plan=[replace(plans[i % len(plans)], name=name) for i, name in enumerate(names)])


def spec_of(names: Sequence[str]) -> ProgramSpec:
    return describe_program(program_of(names), FILE)


def _same_declarations(
    plain: str, found: str, language: str, texts: dict[str, str], is_name: Sequence[str], used: set[str] | None = None
) -> set[str]:
    """Checks that two sources differ only in identifiers that begin like `is_name` and in string literals, in the same
    way everywhere, and that these literals are the `texts` of the plain ones. `used`: words that the names must not
    hide; the default is all other words of the source. Returns the identifiers."""
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


def _plain(names: Sequence[str]) -> list[str]:
    return [f"plain{index}" for index in range(len(names))]


def check(names: Sequence[str], language: str) -> None:
    """Checks wrappers whose methods, inputs and files have these names."""
    check_methods(names, language)
    check_inputs(names, language)
    check_files(names, language)


def check_methods(names: Sequence[str], language: str) -> None:
    plain = _plain(names)
    expected = render(spec_of(plain), language, "Net")
    found = render(spec_of(names), language, "Net")
    texts = dict(zip(plain, names, strict=True))
    declared = _same_declarations(expected, found, language, texts, ("plain", "Plain"))
    assert not declared & ({"equals", "hashCode", "toString", "getModule"} if language == "kotlin" else set())
    assert len(declared) > len(names)  # with the classes of several outputs


def check_inputs(names: Sequence[str], language: str) -> None:
    program = program_of(["forward"])
    plan = program.execution_plan[0]
    program = replace(program, execution_plan=[replace(plan, inputs=[plan.inputs[0]] * len(names))])
    expected, found = (
        render(describe_program(program, FILE, input_names={"forward": each}), language, "Net")
        for each in (_plain(names), names)
    )
    # Messages name inputs by their identifiers.
    words = [text for kind, text in tokens(found, language) if kind == "word"]
    plains = [text for kind, text in tokens(expected, language) if kind == "word"]
    identifiers = dict(zip(plains, words, strict=True))
    texts = {before: after for before, after in identifiers.items() if before.startswith("plain")}
    used = {"kotlin": "outputs module tensor checkInput", "swift": "outputs module", "cpp": "outputs module_ check"}
    declared = _same_declarations(expected, found, language, texts, ("plain",), set(used[language].split()))
    assert len(declared) == len(names)


def check_files(names: Sequence[str], language: str) -> None:
    spec = spec_of(["forward"])
    expected = render(replace(spec, file_name="plain.pte", data_file_name="data.ptd"), language)
    for name in names:
        file, data = f"{name}.pte", f"{name}.ptd"
        found = render(replace(spec, file_name=file, data_file_name=data), language)
        # A literal in Swift has no bytes outside Unicode.
        readable = "".join("\ufffd" if "\udc80" <= mark <= "\udcff" else mark for mark in name)
        written = readable if language == "swift" else name
        texts = {"plain.pte": f"{written}.pte", "data.ptd": f"{written}.ptd"}
        assert _same_declarations(expected, found, language, texts, ("Plain",)) == {wrapper_name(file)}
