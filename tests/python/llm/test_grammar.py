# SPDX-License-Identifier: BSD-3-Clause
"""Answers that follow a JSON schema, a regular expression or a grammar."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from json_schemas import SCHEMAS, problems
from test_sessions import exported

from sdk.extension.llm.runner import GenerationConfig, TextLLMRunner
from sdk.extension.pybindings.portable_lib import ExecuTorchError

CONTEXT = 1024


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> TextLLMRunner:
    folder = tmp_path_factory.mktemp("model")
    return TextLLMRunner(*exported(folder, "model.use_sdpa_with_kv_cache=true", f"export.max_context_length={CONTEXT}"))


def answer(runner: TextLLMRunner, grammar: Any, grammar_type: str, **fields: Any) -> str:
    runner.reset()
    settings = {"echo": False, "temperature": 1.5, "top_p": 1.0, "seed": 0, **fields}
    return runner.generate_text("Give me:", GenerationConfig(grammar=grammar, grammar_type=grammar_type, **settings))


def check_answers(runner: TextLLMRunner, name: str, seeds: range) -> None:
    texts = set()
    for seed in seeds:
        text = answer(runner, SCHEMAS[name], "json_schema", seed=seed)
        assert problems(json.loads(text), SCHEMAS[name]) == [], text
        texts.add(text)
    assert len(texts) > 1


@pytest.mark.parametrize("name", SCHEMAS)
def test_answers_follow_a_schema(runner: TextLLMRunner, name: str) -> None:
    check_answers(runner, name, range(4))


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_thousand_answers_under_ten_schemas(runner: TextLLMRunner, name: str) -> None:
    """All of 1,000 answers at temperature 1.5 follow their schema: a hundred answers for each of ten schemas."""
    check_answers(runner, name, range(100, 200))


GRAMMARS = [
    ("regex", r"[0-9]{3}-[a-f]{2,4}", r"[0-9]{3}-[a-f]{2,4}"),
    ("regex", r"(yes|no)( [a-z]{1,5}){0,3}", r"(yes|no)( [a-z]{1,5}){0,3}"),
    ("gbnf", 'root ::= "<" [a-c]+ ">" | num\nnum ::= [0-9] [0-9]', r"<[a-c]+>|[0-9]{2}"),
    ("gbnf", 'root ::= "(" inner ")"\ninner ::= "x" | "(" inner ")"', r"\(+x\)+"),
    (
        "lark",
        'start: greeting " " NAME\ngreeting: "Hi" | "Hello"\nNAME: /[A-Z][a-z]{1,6}/',
        r"(Hi|Hello) [A-Z][a-z]{1,6}",
    ),
]


@pytest.mark.parametrize(("kind", "grammar", "pattern"), GRAMMARS)
def test_answers_follow_a_grammar(runner: TextLLMRunner, kind: str, grammar: str, pattern: str) -> None:
    found = {answer(runner, grammar, kind, seed=seed) for seed in range(6)}
    assert all(re.fullmatch(pattern, text) for text in found), found
    assert len(found) > 1


def test_without_a_token_that_ends_and_with_look_up(tmp_path: Path, runner: TextLLMRunner) -> None:
    """The answer ends where the grammar lets nothing follow; look-up changes no token."""
    files = exported(tmp_path, 'base.metadata={"get_bos_id": 0}')
    assert re.fullmatch("[ab]{20}", answer(TextLLMRunner(*files), "[ab]{20}", "regex"))
    grammar = "(abcd|abce){3,20}"
    for fields in ({"temperature": 0.0}, {"seed": 3}):
        assert answer(runner, grammar, "regex", **fields) == answer(runner, grammar, "regex", lookup_tokens=6, **fields)


def test_a_conversation_goes_on_after_a_constrained_answer(runner: TextLLMRunner) -> None:
    text = answer(runner, "[xy]", "regex", temperature=0.0)
    config = GenerationConfig(echo=False, temperature=0.0, max_new_tokens=5, ignore_eos=True)
    following = runner.generate_text(" and", config)
    runner.reset()
    assert runner.generate_text("Give me:" + text + " and", config) == following


ERRORS = [
    ("json_schema", '{"type": "object",\n "properties": {,}}', "line 2, column 17"),
    ("json_schema", "[1]", r"at \$: expected an object, true or false"),
    ("json_schema", {"type": "object", "properties": {"a b": {"type": "strin"}}}, r'at \$\.properties\["a b"\]\.type'),
    ("json_schema", {"properties": {"a": {"type": "integer", "minimum": 5, "maximum": 3}}}, r"at \$\.properties\.a: "),
    ("json_schema", {"items": {"not": {}}}, r"at \$\.items\.not: this keyword is not supported"),
    ("json_schema", {"type": "array", "uniqueItems": True}, r"at \$\.uniqueItems: only false"),
    ("json_schema", {"minLength": 3}, r'at \$\.minLength: the schema needs "type": "string"'),
    ("json_schema", {"type": "string", "minLength": -1}, r"at \$\.minLength: expected an integer from 0"),
    ("json_schema", {"type": "string", "format": "colour"}, r"at \$\.format: expected one of date, "),
    ("json_schema", {"type": "string", "pattern": "^(?=a)b$"}, r"at \$: "),
    ("json_schema", {"anyOf": [{"type": "string", "pattern": "(a"}, True]}, r"at \$\.anyOf\[0\]: "),
    ("json_schema", {"$ref": "#/$defs/x"}, r"at \$\.\$ref: the schema has no part #/\$defs/x"),
    ("json_schema", {"$ref": "http://example.com/x"}, r"at \$\.\$ref: expected a part of this schema"),
    ("json_schema", {"allOf": [True, True]}, r"at \$\.allOf: more than one schema"),
    ("json_schema", {"enum": [1], "type": "string"}, r"at \$\.enum\[0\]: the value is not of the schema's type"),
    ("json_schema", {"type": "object", "anyOf": [True]}, r"at \$\.anyOf: a type beside it"),
    ("json_schema", {"type": "object", "required": ["x"]}, r'at \$\.required\[0\]: "x" is not among `properties`'),
    ("json_schema", {"type": "number", "multipleOf": 0.1}, r"at \$: .*multipleOf"),
    ("json_schema", {"oneOf": [{"type": "number"}, {"type": "integer"}]}, r"at \$: .*oneOf"),
    ("regex", "ab(c", "position 5"),
    ("regex", r"\bx", "position"),
    ("gbnf", 'root ::= "a" |\nb ::= ', "line 2"),
    ("gbnf", 'root ::= "a" | missing', 'line 1, column .*"missing" is not defined'),
    ("gbnf", 'start ::= "a"', "root"),
    ("lark", 'start: "a" missing', "line 1, column 12"),
    ("lark", 'start: %json {"type": "string"}', "use the grammar_type json_schema"),
    ("xml", "x", "grammar_type is 'xml'; expected one of json_schema, regex, gbnf, lark"),
    ("", "x", "grammar_type is ''"),
    ("regex", "", "the grammar is empty"),
]


@pytest.mark.parametrize(("kind", "grammar", "message"), ERRORS)
def test_errors_say_where(runner: TextLLMRunner, kind: str, grammar: Any, message: str) -> None:
    """The runner is usable afterwards, and its conversation as before."""
    runner.reset()
    runner.prefill("abc")
    with pytest.raises(ExecuTorchError, match=message):
        runner.generate("x", GenerationConfig(grammar=grammar, grammar_type=kind))
    assert runner.position == 3
    assert answer(runner, "[0-9]{2}", "regex").isdigit()


def test_what_excludes_a_grammar(runner: TextLLMRunner) -> None:
    with pytest.raises(ExecuTorchError, match="ignore_eos and a grammar exclude each other"):
        answer(runner, "a", "regex", ignore_eos=True)
    with pytest.raises(ExecuTorchError, match="no token of the vocabulary can follow"):
        answer(runner, "é", "regex")
    assert answer(runner, "a", "regex") == "a"


def _nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


HOSTILE: dict[str, tuple[str, Any]] = {
    "deep schema": ("json_schema", _nested(300)),
    "deep text": ("json_schema", "[" * 100_000),
    "deep values": ("json_schema", '{"enum": [' + "[" * 1000 + "]" * 1000 + "]}"),
    "many properties": ("json_schema", {"properties": {f"p{i}": {"type": "integer"} for i in range(1000)}}),
    "counted properties": (
        "json_schema",
        {"properties": {f"p{i}": True for i in range(300)}, "minProperties": 100, "maxProperties": 200},
    ),
    "most counted properties": (
        "json_schema",
        {"properties": {f"p{i}": True for i in range(32)}, "minProperties": 16, "maxProperties": 32},
    ),
    "long schema": ("json_schema", {"enum": [f"value {i}" * 5 for i in range(20_000)]}),
    "many values": ("json_schema", {"enum": [f"value {i}" for i in range(8000)]}),
    "many lengths": ("json_schema", {"type": "string", "minLength": 2_000_000_000}),
    "many items": ("json_schema", {"type": "array", "items": {"type": "string"}, "minItems": 1_000_000}),
    "pattern": ("json_schema", {"type": "string", "pattern": "(((a{1,1000}){1,1000}){1,1000}){1,1000}"}),
    "pattern of two": ("json_schema", {"type": "string", "pattern": "(a|b|c|d){1,5000}(e|f){1,5000}"}),
    "most of a pattern": ("json_schema", {"type": "string", "pattern": ".*a.{990}"}),
    "names": ("json_schema", {"patternProperties": {f"^(a|b){{1,{i}}}$": {"type": "null"} for i in range(1, 200)}}),
    "circle": ("json_schema", {"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/x"}}}),
    "chain": (
        "json_schema",
        {
            "$ref": "#/$defs/d0",
            "$defs": {f"d{i}": {"items": {"$ref": f"#/$defs/d{i + 1}"}} for i in range(999)} | {"d999": True},
        },
    ),
    "states": ("regex", ".*a.{2000}"),
    "repetitions": ("regex", "(((.{1,100}){1,100}){1,100}){1,100}x"),
    "parentheses": ("regex", "(" * 5000 + "a" + ")" * 5000),
    "loops": ("regex", "((a*)*(b*)*)*"),
    "rules": ("gbnf", "root ::= r0\n" + "\n".join(f"r{i} ::= r{i + 1}" for i in range(4000)) + '\nr4000 ::= "a"'),
    "empty rules": (
        "gbnf",
        "root ::= r0\n" + "\n".join(f"r{i} ::= r{i + 1} r{i + 1}" for i in range(30)) + '\nr30 ::= ""',
    ),
    "left recursion": ("gbnf", 'root ::= root root | root "a" | ""'),
    "nothing": ("gbnf", "root ::= a\na ::= b\nb ::= a"),
    "numbers": ("gbnf", 'root ::= "a"{1,99999999999999999999}'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_grammars_take_little_time(runner: TextLLMRunner, name: str) -> None:
    """An error or an answer; never a crash, and within a few seconds on a slow machine."""
    kind, grammar = HOSTILE[name]
    begin = time.process_time()
    try:
        answer(runner, grammar, kind, max_new_tokens=30)
    except ExecuTorchError as error:
        assert len(str(error)) < 3000
    assert time.process_time() - begin < 10
    assert answer(runner, "[0-9]{2}", "regex").isdigit()
