# SPDX-License-Identifier: BSD-3-Clause
"""Calls of tools: what a chat template renders as a model's answer is read back as the calls of the conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chat_conversations import TOOLS, answer, call, user
from test_chat_templates import REFUSALS, reference
from test_real_chat_templates import real_templates

from sdk.extension.llm.runner import ChatTemplate, GenerationConfig, parse_tool_calls, tool_call_format
from sdk.extension.pybindings.portable_lib import ExecuTorchError

# These write calls as the models' own templates do.
TEMPLATES = {
    "hermes": """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}
<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}""",
    "llama3": """{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>

{% for c in m.tool_calls or [] %}{% set f = c.function %}{{ '{"name": "' + f.name + '", "parameters": ' }}
{{- f.arguments | tojson }}}
{%- if not loop.last %}; {% endif %}{% endfor %}{{ m.content }}<|eot_id|>{% endfor %}
{%- if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>

{% endif %}""",
    "mistral": """{% for m in messages %}{% if m.role == 'user' %}
{{- '' }}[INST] {{ m.content }}[/INST]{% elif m.tool_calls %}
{{- '[TOOL_CALLS] [' }}{% for c in m.tool_calls %}{% set f = c.function %}
{{- {"name": f.name, "arguments": f.arguments, "id": c.id} | tojson }}
{%- if not loop.last %}, {% endif %}{% endfor %}]</s>{% else %}{{ m.content }}</s>{% endif %}{% endfor %}""",
    "gemma": """{% macro value(v) %}{% if v is string %}<escape>{{ v }}<escape>{% elif v is mapping %}{
{%- for k, x in v.items() %}{{ k }}:{{ value(x) }}{% if not loop.last %},{% endif %}{% endfor %}}
{%- elif v is sequence %}[{% for x in v %}{{ value(x) }}{% if not loop.last %},{% endif %}{% endfor %}]
{%- else %}{{ v | tojson }}{% endif %}{% endmacro %}
{%- for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}
{{ m.content }}
{%- for c in m.tool_calls or [] %}<start_function_call>call:{{ c.function.name }}
{{- value(c.function.arguments) }}<end_function_call>{% endfor %}<end_of_turn>
{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}""",
}

ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"city": "Bärn", "days": 2},
    {"x": [1, -2.5, None, True], "nested": {"a": {"b": ["c d", []]}}, "e": {}},
    {"text": 'a "quoted" \\ line\nand </tool_call> ; {not json} 你好', "n": 1234567890123456789},
    {"code": "f(x) = [1, 2]; g: {y}"},
]


def answered(source: str, message: dict[str, Any], **variables: Any) -> str:
    """The text that the model would have written for a message, by transformers."""
    before = reference(source, [user("Hi")], add_generation_prompt=True, **variables)
    whole = reference(source, [user("Hi"), message], **variables)
    assert whole.startswith(before)
    return whole[len(before) :]


def functions(message: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(made["function"]["name"], made["function"]["arguments"]) for made in message.get("tool_calls", [])]


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_a_template_renders_is_read_back(name: str) -> None:
    assert tool_call_format(TEMPLATES[name]) == name
    for arguments in ARGUMENTS:
        for count in (1, 2, 3):
            calls = [call(i, f"get_weather-{i}", arguments) for i in range(count)]
            message = answer("", tool_calls=calls)
            found = parse_tool_calls(answered(TEMPLATES[name], message), name)
            assert functions(found) == functions(message), arguments
            assert found["content"] == ""
            # The message goes back into the conversation.
            if name != "mistral":  # whose templates need an id
                template = ChatTemplate(TEMPLATES[name])
                assert template.render([user("Hi"), found], False) == template.render([user("Hi"), message], False)


@pytest.mark.parametrize("name", TEMPLATES)
def test_text_is_no_call(name: str) -> None:
    texts = ["Hello.", 'A set {"a": 1} and [1]', "", '{"name": "Ann", "age": 3}', "{}", "f(x)", "```json\n{}\n```"]
    for text in texts:
        assert parse_tool_calls(text, name) == {"role": "assistant", "content": text}
    assert parse_tool_calls(answered(TEMPLATES[name], answer("ok")), name)["content"] == "ok"


MORE: list[tuple[str, str, str, list[tuple[str, Any]]]] = [
    (
        "hermes",
        "<tool_call>\n<function=f>\n<parameter=a>\nx\ny\n</parameter>\n"
        "<parameter=b>\n[1]\n</parameter>\n</function>\n</tool_call>",
        "",
        [("f", {"a": "x\ny", "b": [1]})],
    ),
    ("llama3", '<function=f>{"a": 1}</function><function=g>{}</function>', "", [("f", {"a": 1}), ("g", {})]),
    (
        "hermes",
        '<think>\nx\n</think>\n\nlet me <tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>',
        "let me",
        [("f", {"a": 1})],
    ),
    ("llama3", '<|python_tag|>{"name": "f", "parameters": {"a": 1}}<|eom_id|>', "", [("f", {"a": 1})]),
    (
        "llama3",
        '<|python_tag|>brave_search.call(query="a, b) c", count=3, deep=True)<|eom_id|>',
        "",
        [("brave_search", {"query": "a, b) c", "count": 3, "deep": True})],
    ),
    ("llama3", ' {"name": "f", "arguments": {}} ', "", [("f", {})]),
    (
        "mistral",
        'Text[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[CALL_ID]abc123def[ARGS]{}</s>',
        "Text",
        [("f", {"a": 1}), ("g", {})],
    ),
    ("gemma", '```json\n{"name": "f", "parameters": {"a": "b"}}\n```<end_of_turn>', "", [("f", {"a": "b"})]),
    ("gemma", '```tool_call\n[{"name": "f", "parameters": {}}, {"name": "g"}]\n```', "", [("f", {}), ("g", {})]),
]


@pytest.mark.parametrize(("name", "text", "content", "calls"), MORE)
def test_other_forms_of_the_same_models(name: str, text: str, content: str, calls: list[Any]) -> None:
    found = parse_tool_calls(text, name)
    assert functions(found) == calls
    assert found["content"].endswith(content)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"a'),
        ("hermes", '<tool_call>{"name": "f", "arguments": {}}'),
        ("hermes", "<tool_call>"),
        ("hermes", '<tool_call>{"arguments": {}}</tool_call>'),
        ("hermes", '<tool_call>{"name": "f", "arguments": 3}</tool_call>'),
        ("hermes", '<tool_call>{"name": "f", "arguments": ' + '{"a":' * 500 + "1" + "}" * 500 + "}</tool_call>"),
        ("llama3", '{"name": "f", "parameters": {"a": 1}'),
        ("llama3", "<|python_tag|>print(1)"),
        ("llama3", "<|python_tag|>f.call(a=1, b"),
        ("llama3", "<|python_tag|>"),
        ("llama3", '<function=f>{"a": 1}'),
        ("hermes", "<tool_call><function=f><parameter=a>b"),
        ("hermes", "<tool_call><function=f></function>"),
        ("mistral", "[TOOL_CALLS]"),
        ("mistral", '[TOOL_CALLS] [{"name": "f", "arguments": {}}'),
        ("mistral", "[TOOL_CALLS] []"),
        ("mistral", '[TOOL_CALLS]f[ARGS]{"a"'),
        ("mistral", "[TOOL_CALLS]f[ARGS]3"),
        ("gemma", "<start_function_call>call:f{a:<escape>b"),
        ("gemma", "<start_function_call>call:f{a:1}"),
        ("gemma", "<start_function_call>call:f{a:1,"),
        ("gemma", "<start_function_call>f{}<end_function_call>"),
        ("gemma", "<start_function_call>call:f" + "{a:" * 5000),
    ],
)
def test_calls_that_are_not_whole_are_errors(name: str, text: str) -> None:
    with pytest.raises(ExecuTorchError, match=r"the tool call is incomplete: at byte [0-9]+ of the answer, expected"):
        parse_tool_calls(text, name)


def test_every_prefix_of_a_call_is_text_or_an_error() -> None:
    """No prefix crashes the parser, and it finds no call that the text does not have."""
    for name, source in TEMPLATES.items():
        message = answer("", tool_calls=[call(1, "f", ARGUMENTS[2]), call(2, "g", ARGUMENTS[3])])
        text = answered(source, message)
        for end in range(len(text)):
            try:
                found = functions(parse_tool_calls(text[:end], name))
            except ExecuTorchError:
                continue
            assert found == functions(message)[: len(found)]


def test_names() -> None:
    assert tool_call_format("{{ messages }}") is None
    with pytest.raises(
        ExecuTorchError, match="no form of tool calls 'x'; expected one of hermes, mistral, gemma, llama3"
    ):
        parse_tool_calls("a", "x")


@pytest.mark.slow
def test_real_templates() -> None:
    """The templates of models whose form is known, for one call and for two."""
    read, wrong = set(), []
    for title, source in real_templates().items():
        name = tool_call_format(source)
        for calls in (
            [call(1, "get_weather", ARGUMENTS[1])],
            [call(1, "get_weather", ARGUMENTS[2]), call(2, "ping", {})],
        ):
            message = answer("", tool_calls=calls)
            try:
                text = answered(
                    source, message, tools=TOOLS, bos_token="<s>", eos_token="</s>", date_string="1 Jan 2026"
                )
            except (*REFUSALS, AssertionError):
                continue
            if name is None or "get_weather" not in text:
                continue
            try:
                found = functions(parse_tool_calls(text, name))
            except ExecuTorchError as error:
                found = [(str(error), None)]
            (read.add(title) if found == functions(message) else wrong.append((title, name, text[:200], found)))
    assert not wrong, wrong
    assert len(read) > 12, read


def test_a_grammar_makes_calls(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A schema of a call and the parser together: any model calls the tool."""
    from test_sessions import exported

    from sdk.extension.llm.runner import TextLLMRunner

    runner = TextLLMRunner(*exported(tmp_path_factory.mktemp("model"), "export.max_context_length=512"))
    parameters = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}
    schema = {
        "type": "object",
        "properties": {"name": {"const": "f"}, "parameters": parameters},
        "required": ["name", "parameters"],
    }
    config = GenerationConfig(echo=False, temperature=1.5, seed=1, grammar=schema, grammar_type="json_schema")
    found = parse_tool_calls(runner.generate_text("Call f:", config), "llama3")
    assert functions(found)[0][0] == "f"
    assert functions(found)[0][1]["n"] in (1, 2)
    assert json.dumps(found)
