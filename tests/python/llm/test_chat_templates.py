# SPDX-License-Identifier: BSD-3-Clause
"""Chat templates: texts are those of jinja2, in the environment that transformers gives it."""

from __future__ import annotations

import datetime
import json
from typing import Any

import jinja2
import pytest
from chat_templates import CONVERSATIONS, TEMPLATES, VARIABLES
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from test_real_tokenizers import member

from sdk.extension.llm.runner import ChatTemplate
from sdk.extension.pybindings.portable_lib import ExecuTorchError


def to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


def refuse(message: str) -> None:
    raise jinja2.TemplateError(message)


def reference(source: str, **variables: Any) -> str:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return environment.from_string(source).render(**variables)


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_like_those_of_models(name: str):
    compare(TEMPLATES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama3_1", "qwen3", "gemma3", "deepseek_v3"])
def test_templates_of_models(name: str):
    compare(json.loads(member(name, "package/models/tokenizer_config.json"))["chat_template"])


def compare(source: str) -> None:
    """Every conversation gives the same text, or both refuse it."""
    template = ChatTemplate(source)
    accepted = 0
    for conversation in CONVERSATIONS:
        for more in VARIABLES:
            for add in (False, True):
                variables = {"bos_token": "<s>", "eos_token": "</s>", **more}
                try:
                    expected = reference(source, messages=conversation, add_generation_prompt=add, **variables)
                except (jinja2.TemplateError, TypeError):
                    with pytest.raises(ExecuTorchError, match="line"):
                        template.render(conversation, add, **variables)
                    continue
                assert template.render(conversation, add, **variables) == expected
                accepted += 1
    assert accepted > 5


PIECES = """
{{ 1 + 2 * 3 ** 2 - 7 // 2 % 3 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 1e20 }} {{ 0.1 + 0.2 }} {{ 1.0 }}
{{ 3.0e-7 }}
{{ 'a' ~ 1 ~ none ~ true ~ 1.5 }} {{ "q\\"'\\n" }} {{ ['a', "b'c", 1, none, {'x': true}] }} {{ 'abc' * 2 }}
{{ [1] * 3 }}
{{ 'x' if u else 'y' }}|{{ 'x' if u }}|{{ u }}|{{ u is defined }} {{ n is none }} {{ n is not none }}
{{ s is string }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 5 }} {{ 'a' in 'cat' }} {{ 'a' not in ['b'] }} {{ 'k' in d }} {{ 1 == 1.0 }}
{{ not 1 == 2 }}
{{ s[0] }}{{ s[-1] }}{{ s[1:] }}{{ s[:-1] }}{{ s[::-1] }}{{ s[::2] }}{{ s[5:1] }} {{ l[1:] }} {{ l[::-1] }}
{{ l[-2] }} {{ l[9] }}
{{ d.k }} {{ d['k'] }} {{ d.get('z', 3) }} {{ d.get('z') }} {{ d.items() | list }} {{ d.keys() | list }}
{{ d | length }}
{{ '  a b '.strip() }}|{{ 'a,b,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a-b-c'.rsplit('-', 1) }}
{{ 'aXb'.lower().upper() }}
{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('c', 'd')) }} {{ 'aaa'.replace('a', 'b', 2) }}
{{ 'hello world'.title() }}
{{ 'xxaxx'.strip('x') }} {{ 'a\\nb\\n'.splitlines() }} {{ 'abcb'.find('b') }} {{ 'abcb'.rfind('b') }}
{{ 'abcb'.count('b') }}
{{ 'a-b' | replace('-', '+') }} {{ 'HELLO' | capitalize }} {{ [3, 1, 2] | sort }} {{ ['b', 'A'] | sort }}
{{ l | first }} {{ l | last }}
{{ l | join(', ') }} {{ l | reverse | list }} {{ l | sum }} {{ l | max }} {{ l | min }}
{{ [1, 1, 2] | unique | list }} {{ 'abc' | list }}
{{ m | map(attribute='a') | list }} {{ m | selectattr('a', 'equalto', 1) | list | length }}
{{ m | rejectattr('b', 'defined') | list }}
{{ l | select('odd') | list }} {{ l | map('string') | join }} {{ ['a', 'b'] | map('upper') | list }}
{{ l | reject('gt', 1) | list }}
{{ d | tojson }} {{ d | tojson(indent=2) }} {{ [] | tojson(indent=4) }} {{ 'é"/<' | tojson }} {{ 1.5 | tojson }}
{{ none | tojson }}
{{ '3' | int + 1 }} {{ 'x' | int }} {{ 2.7 | int }} {{ '2.5' | float }} {{ -3 | abs }} {{ 2.345 | round(2) }}
{{ '<a>' | e }}
{{ u | default('d') }} {{ '' | default('d', true) }} {{ none | default('d') }} {{ d | dictsort }}
{{ d | items | list }} {{ 'a\\nb' | indent(2) }}
{{ 4 is even }} {{ 4 is divisibleby 2 }} {{ 4 is divisibleby(3) }} {{ l is iterable }} {{ d is mapping }}
{{ 1 is number }} {{ true is boolean }}
{% for x in l if x > 1 %}{{ loop.index }}{{ loop.first }}{{ loop.last }}{{ x }};{% endfor %}
{% for x in l %}{{ loop.length }}{{ loop.revindex0 }}:{{ x }};{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }}{% if not loop.last %},{% endif %}{% else %}none{% endfor %}
{% for x in [] %}{% else %}none{% endfor %}
{% for x in l %}{{ loop.previtem }}<{{ loop.nextitem }}{{ loop.cycle('o', 'e') }}{% endfor %}
{% for x in l %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% break %}{% endfor %}
{% set x = 1 %}{% for i in l %}{% set x = i %}{% endfor %}{{ x }}
{% set ns = namespace(c=0) %}{% for i in l %}{% set ns.c = ns.c + i %}{% endfor %}{{ ns.c }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set block %}x{{ a }}{% endset %}{{ block }}{% filter upper %}abc{% endfilter %}
{% macro f(a, b=2, c='') -%} {{ a }}-{{ b }}-{{ c }} {%- endmacro %}{{ f(1) }} {{ f(1, c=3) }} {{ f('x', 5) }}
  {%- if true -%}   x   {%- endif -%}  y {#- comment -#}  z
{%+ if true %} kept{% endif +%}
end {{- ' a ' -}} b {{ {'a': {'b': 1}}.a.b }} {{ (1, 2) | length }} {{ (1) }} {{ 'a' 'b' }} {{ 1_000 }}
{{ [1,2,] }} {{ 'é€'[1] }} {{ 'é€' | length }}
{{ 'a' < 'b' }} {{ [1, 2] == [1, 2] }} {{ {'a': 1} == {'a': 1.0} }} {{ true + 1 }} {{ 'A' is upper }}
{{ range(5)[2] }} {{ range(3, 0, -1) | list }}
{{ 'abc'.isdigit() }} {{ '12'.isdigit() }} {{ ' '.join(['x', 'y']) }} {{ 'ab'.removeprefix('a') }}
{{ 'ab'.removesuffix('b') }} {{ u | length }}
{% generation %}{% endgeneration %}
""".strip().splitlines()


@pytest.mark.parametrize("piece", PIECES)
def test_language(piece: str):
    """Each line, and all errors of jinja2 are errors."""
    if "generation" in piece:
        assert ChatTemplate(piece).render([]) == ""
        return
    variables = {"s": "hello", "l": [1, 2, 3], "d": {"k": "v", "a": [1, {"b": None}]}, "n": None}
    variables["m"] = [{"a": 1, "b": 2}, {"a": 3}]
    # A tuple is a list here: only its representation differs.
    expected = reference(piece, messages=[], add_generation_prompt=True, **variables)
    expected = expected.replace("('", "['").replace("')", "']").replace("}])", "}]]")
    found = ChatTemplate(piece).render([], **variables)
    assert found == expected or found == reference(piece, messages=[], add_generation_prompt=True, **variables)


WHITE_SPACE = """first
  {% if true %}
    indented
  {% endif %}
  {%- for x in [1, 2] %}
  {# comment #}
 {{ x }}
  {%+ if x == 1 %} kept {% endif +%}
{% endfor -%}

last   {# not at the beginning #}
{% set y = 1 %}{% if y %}
{{ y }} {{- y -}} {% endif %}

"""


def test_white_space():
    assert ChatTemplate(WHITE_SPACE).render([]) == reference(WHITE_SPACE)
    windows = WHITE_SPACE.replace("\n", "\r\n")
    assert ChatTemplate(windows).render([]) == reference(windows)


def test_errors():
    """Line and column of what is wrong; a refusal has the template's own text."""
    with pytest.raises(ExecuTorchError, match="line 2, column 4: unknown tag 'fro'"):
        ChatTemplate("a\n{% fro x in y %}{% endfor %}")
    with pytest.raises(ExecuTorchError, match="line 1, column 14: attribute 'x' is undefined"):
        ChatTemplate("{{ messages.x.y }}").render([{}])
    with pytest.raises(ExecuTorchError, match="the template refuses this conversation: no"):
        ChatTemplate("{{ raise_exception('no') }}").render([])
