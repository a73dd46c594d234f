# SPDX-License-Identifier: BSD-3-Clause
"""Chat templates: the texts equal those of jinja2 in the environment that transformers defines."""

from __future__ import annotations

import json
import locale
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest
from chat_templates import CONVERSATIONS, TEMPLATES, VARIABLES
from test_real_tokenizers import member
from transformers.utils.chat_template_utils import render_jinja_template

from sdk.extension.llm.runner import ChatTemplate
from sdk.extension.pybindings.portable_lib import ExecuTorchError

REFUSALS = (
    jinja2.TemplateError,
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
    AssertionError,
)


def reference(source: str, messages: list[Any], add_generation_prompt: bool = False, **variables: Any) -> str:
    """Returns the text that transformers renders."""
    texts, _ = render_jinja_template(
        conversations=[messages], chat_template=source, add_generation_prompt=add_generation_prompt, **variables
    )
    return texts[0]


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
                    expected = reference(source, conversation, add, **variables)
                except REFUSALS:
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
{{ 'a' | int(base=1) }} {{ '11' | int(base=100) }} {{ '11' | int(7, -3) }} {{ 'z' | int(7, 4294967306) }} {{ 'Zz' | int(base=36) }} {{ '-0X_f' | int(base=16) }} {{ '0x0x1' | int(7, 16) }} {{ '0b0b1' | int(7, 0) }} {{ '12\\x003' | int }} {{ '-9223372036854775808' | int }} {{ '9223372036854775807' | int }} {{ '+-5' | int }} {{ '' | int(base=0) }} {{ '0x' | int(7, 16) }} {{ '0b11' | int(base=0) }}
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
{% generation %}{% set x = 1 %}a{% endgeneration %}{{ x }}
{{ '\\u3000\\u00a0\\u0085\\u2009\\x1f a\\u2028'.strip() }}|{{ ' a\\u3000' | trim }}|{{ 'a\\u00a0b\\x1fc'.split() }}
{{ {'b': 'é', 'a': [1]} | tojson(true) }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true, separators=(',', ':')) }}
{{ {'b': 1, 'a': []} | tojson(indent=0) }} {{ [1, (2,)] | tojson(indent='--') }} {{ 'é\\u2028😀\\x7f' | tojson(true) }}
{{ 'a,b,c'.split(sep=',', maxsplit=1) }} {{ ' a b c '.rsplit(none, 1) }} {{ ' a b c '.split(none, 1) }}
{{ dict([('a', 1), ('b', 2)], c=3) }} {{ dict({'a': 1}) }} {{ dict.fromkeys('ab', 0) }}
{{ 2.5 | round }} {{ 2.25 | round(1, 'floor') }} {{ 2.21 | round(1, 'ceil') }} {{ 1234 | round(-2) }} {{ 2.675 | round(2) }}
{{ -0.0 | round(method='floor') }} {{ -0.4 | round(0, 'ceil') }} {{ -0.04 | round(1, 'ceil') }} {{ -0.4 | round }} {{ 15 | round(-1, 'floor') }}
{{ '{:z}|{:z.1f}|{:+z.1f}|{: z}|{:z08.1f}|{:z.0%}|{:z,}|{:z}'.format(-0.0, -0.01, -0.01, -0.0, -0.01, -0.001, -1234.5, -1.5) }}
{{ '\\U0001F600 \\101 \\x41 \\u00e9 \\q' }} {{ ['\\u2028\\x00\\x7f\\u00a0é'] }} {{ "it's" | list }}
{{ '<a>' | safe + '<' }} {{ '<' + ('<' | safe) }} {{ ('<' | safe) ~ '<' }} {{ ['<' | safe] }} {{ ('%s' | safe) % '<' }}
{% raw %} {{ x }} {% if %} {%- endraw %}| {% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}
{% macro m(x) %}[{{ caller(x) }}{{ varargs }}{{ kwargs }}]{% endmacro %}{% call(y) m(1, 2, z=3) %}{{ y }}!{% endcall %}
{% macro m(x, y='d') %}{{ x }}{{ y }}{% endmacro %}{{ m.name }} {{ m.arguments }} {{ m(*[1, 2]) }} {{ m(**{'y': 1, 'x': 2}) }}
{% filter upper | replace('A', 'b') %}abc{% endfilter %}{% set x | trim | upper %} a {% endset %}{{ x }}
{% for x in l recursive %}{{ x }}{{ loop.depth }}{% if x < 3 %}{{ loop([x + 1]) }}{% endif %}{% endfor %}
{{ '%s is %d or %5.1f%%' % ('a', 2, 3.14159) }} {{ '%(a)s' % {'a': 1} }} {{ '%-5s|%05d|%x|%r' | format('a', -3, 255, 'é') }}
{{ '{:>6}|{:^6}|{:06.2f}|{:,}|{!r}|{{}}'.format('a', 'b', 3.14159, 1234567, 'c') }}
{{ '{:5c}|{:05c}|{:=5c}|{:*=5c}|{:<05c}|{:^5c}|{:<05}|{:>05}|{:*<05}|{:^05}|{:05}|{:=05}|{:<05}'.format(65, 65, 65, 65, 65, 65, 3, -3, 3, 'a', 'a', -3, 'a') }}
{{ '{0.a} {0[b]} {x:{w}}'.format({'a': 1, 'b': 2}, x='y', w=3) }} {{ '{a}'.format_map({'a': 1}) }}
{{ m | selectattr('a', '>', 1) | list }} {{ m | selectattr('a', 'in', [1]) | map(attribute='b') | first }} {{ l | select('ne', 2) | list }}
{% for key, group in m | groupby('a') %}{{ key }}{{ group }}{% endfor %} {{ (m | groupby('a'))[0].grouper }}
{{ l | batch(2, 0) | list }} {{ l | slice(2) | list }} {{ d | attr('k') }} {{ d | attr('keys') is callable }} {{ m | map(attribute='z', default=7) | list }}
{% set j = joiner('; ') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %} {% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}
{% for x in l %}{{ loop.changed(x > 1) }}{% endfor %} {% for x in l %}{% continue %}{% else %}no turn came to its end{% endfor %}
{% for x in l if x != 2 %}{{ loop.length }}{{ loop.revindex }}{{ loop.last }}{% endfor %} {% for (a, (b, c)) in [(1, (2, 3))] %}{{ c }}{% endfor %}
{{ d.values() is test }} {{ d.values() in {} }} {{ (l | map('string')) is iterable }} {{ 'true' if l | select('gt', 5) else 'never' }} {{ d.keys() }} {{ range(3) }} {{ (1,) }} {{ () }}
{{ 'straße ΣΑΣ ǆ'.upper() }} {{ 'ΣΑΣ ÀÉ'.lower() }} {{ 'éa b'.title() }} {{ 'ÀB' | capitalize }} {{ 'ß'.casefold() }} {{ 'aB'.swapcase() }}
{{ 'a.b.c'.partition('.') }} {{ 'a.b.c'.rpartition('.') }} {{ 'a'.center(4, '*') }} {{ '-5'.zfill(4) }} {{ 'a\\tb'.expandtabs(4) }}
{{ '½²٣'.isdigit() }} {{ '٣'.isdecimal() }} {{ 'abc'.index('c') }} {{ 'a1'.isalnum() }} {{ 'Ab Cd'.istitle() }} {{ 'é'.isascii() }}
{{ [1, 'a', none, true, 1.5, {'k': (1, 2)}] | string }} {{ {1: 2, 'a': none}.items() | list }} {{ [[1, 2], [1]] | sort }} {{ [none, none] | sort }}
{{ 'abc' | truncate(2, true, '') }} {{ 'one two three' | truncate(8, leeway=0) }} {{ 'a b' | urlencode }} {{ 'a b c' | wordcount }} {{ 1500000 | filesizeformat }}
{{ 'a\\nb\\n\\nc' | indent(2, true) }}|{{ 'a\\n' | indent(2, blank=true) }}|{{ 0x1F + 0b11 + 0o7 }} {{ 1_0.5e1 }} {{ l.index(2) }} {{ l.count(2) }}
{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns['b'] }}{{ ns }}{% set ns.c, ns.d = 3, 4 %}{{ ns.d }} {% print 1, 2 %} {% block x %}in{% endblock %}
{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 2 ** -1 }} {{ 1e400 }} {{ -0.0 }} {{ 1 == true }} {{ 2 * 'ab' }} {{ (1, 2) + (3,) }} {{ l[::-2] }} {{ 'é€a'[::-1] }}
{{ '٣' | int }} {{ '１２_٣' | int }} {{ ' -１.５e２ ' | float }} {{ '²' | int(7) }} {{ '１f' | int(base=16) }} {{ '１__２' | int(7) }} {{ '٣' | int(7, 2) }} {{ '_1' | int(7) }} {{ '1_' | int(7) }} {{ '-_1' | int(7) }} {{ '1_.5' | float(7) }} {{ '𝟗𝟘' | int }}
{% set i = 7 %}{{ i.real }}{{ i.imag }}{{ i.numerator }}{{ i.denominator }} {{ true.real }} {% set f = 2.5 %}{{ f.real }} {{ f.imag }} {{ f.numerator }} {{ '{0.real}'.format(1) }} {% set r = range(1, 9, 2) %}{{ r.start }}{{ r.stop }}{{ r.step }}
{{ [2, 1] | sort(reverse=0) }} {{ [1, 2] | sort(true) }} {{ d | dictsort(reverse=1) }}
{{ 'abc'.removeprefix('a') }}{{ 'abc'.removesuffix('c') }}{{ 'abc'.removeprefix('b') }}{{ ''.removesuffix('x') }}{{ 'a'.removesuffix('aa') }} {{ 'a\\nb'.splitlines(true) }}{{ 'a\\nb'.splitlines(0) }}
{{ l is sameas l }} {{ l | list is sameas l }} {{ (l | select | list) is sameas l }} {% set c = l | list %}{{ c is sameas c }} {{ c == l }} {{ m | list is sameas m }} {{ (m | list)[0] is sameas m[0] }}
{{ lipsum is defined }} {{ lipsum is callable }} {{ lipsum is string }} {{ lipsum.x is defined }} {{ lipsum is none }}
{{ self }} {{ self is defined }} {{ self is callable }} {{ self is iterable }} {{ self is mapping }} {{ self.x }}{{ self['x'] is defined }}
{% set k = 1 %}{{ self.a() }}{% block a %}A{{ k }}{% endblock %}{% for k in l %}{{ self['a']() }}{% endfor %}{{ self.a is defined }}{{ self.b is defined }} {% macro f() %}{{ self.a() }}{% endmacro %}{{ f() }} {% set self = 7 %}{{ self }}
{{ '{.real}{[k]}'.format_map({'': 5}) if false }}{{ '{.real}'.format_map({'': 5}) }} {{ '{[k]}'.format_map({'': d}) }} {{ '{0.real}{1[k]}{x[0]}'.format(1, d, x=l) }} {{ '{}{}'.format(1, 2) }}
{{ 'a'.zfill(-9223372036854775807 - 1) }} {{ 'a b'.split(none, -9223372036854775807 - 1) }} {{ 'a b'.rsplit(none, -9223372036854775807 - 1) }} {{ range(-9223372036854775807, 9223372036854775807, 4611686018427387904) | list }}
{{ 1234567890123456789 | round(-2) }} {{ 1250 | round(-2) }} {{ 1350 | round(-2) }} {{ -1251 | round(-2) }} {{ 9223372036854775804 | round(-1) }} {{ 7 | round(-19) }} {{ -7 | round(-40) }} {{ 7 | round(3) }}
{{ {'a': 1, 'b': none, 'c': u, 'd': '<"&>', '<': 'x' | safe} | xmlattr }}|{{ {'a': 1} | xmlattr(false) }}|{{ {} | xmlattr }} {{ d | pprint }} {{ (1,) | pprint }} {{ u | pprint }} {{ s | pprint }} {{ {10: 1, 9: 'a' * 70, true: 2.0, none: 3, 's': 4, 0.5: 5} | pprint }}
{{ u is sequence }} {{ u is iterable }} {{ u == v }} {{ u | list }} {{ u ~ 'x' }} {{ [u] }} {{ 'a' in u }}
""".strip().splitlines()  # noqa: E501


LAYOUT = (
    "Hello there -- you goof-ball, use the -b option! A well-known-fact: e-mail--or not---x-y-z 'q'--r  1-2-3 a-1-b",
    "  two  spaces \t and\tcertainly-not-a-tab \n\n  \n\r\nnext line\x0bthird\u2028\u00a0fourth \u3000 ",
    "aaaa-bbbb-cccc-dddd----------eeee--ffff  -- -- --g----",
    "\u00dcn\u00efc\u00f6d\u00e9-w\u00f6rter \u0663-\u0664-x \u4e00\u4e8c\u4e09\u56db-\u4e94\u516d "
    "\U0001f600\U0001f600-ab",
    "",
    "x" * 60 + "\n" + "y " * 70,
)


@pytest.mark.parametrize("text", LAYOUT)
def test_lines_are_wrapped_as_by_textwrap(text: str):
    source = (
        "{% for width in range(1, 42) %}{% for breaks in [true, false] %}{% for hyphens in [true, false] %}"
        "{{ text | wordwrap(width, breaks, none, hyphens) }}|{{ text | wordwrap(width, wrapstring='+') }}\x00"
        "{% endfor %}{% endfor %}{% endfor %}{{ text | wordwrap }}"
    )
    expected = reference(source, [], text=text).split("\0")
    assert ChatTemplate(source).render([], text=text).split("\0") == expected


WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog,", "and", "it's", '"quoted"\tthere\n']
PRINTED = (
    {"b": [1, 2.5, None, True], "a": {"z": "x" * 30, "y": {"k": "v" * 40, "c": [list(range(30)), []]}}},
    {str(i): {"name": "tool", "parameters": {"type": "object", "properties": {}}} for i in range(12)},
    " ".join(WORDS * 5),
    {"text": " ".join(WORDS * 4), "short": " ".join(WORDS), "": ""},
    ["\n".join(WORDS * 3), "a" * 90, "\u00fc " * 60, [[[["deep " * 20]]]]],
    [["x" * 37, "y" * 37], ["x" * 37, "y" * 36], ["x" * 36, "y" * 36]],
    [["x" * 73, "y"], ["x" * 72, "y"], "z" * 77, "z" * 76, "z" * 78],
)


@pytest.mark.parametrize("value", PRINTED)
@pytest.mark.parametrize("source", ["{{ x | pprint }}", "{{ (x, x) | pprint }}", "{{ {'k': (x,)} | pprint }}"])
def test_values_are_laid_out_as_by_pprint(source: str, value: Any):
    assert ChatTemplate(source).render([], x=value) == reference(source, [], x=value)


@pytest.mark.parametrize(
    "source",
    [
        "{{ [{'b': 1, 'a': 2}] | groupby('a') | pprint }}",
        "{{ {(2, 'a'): 1, (1, 'b'): 2, (1, 'a'): 3} | pprint }}",
        "{{ 'a & b c' | wordwrap(3, wrapstring='<br>' | safe) }}{{ 'a & b c' | safe | wordwrap(3) }}",
        "{{ ('a &' | safe) | wordwrap(1, wrapstring='<br>' | safe) }}",
        "{{ 'a b' | wordwrap(4294967296) }}{{ 'ab' | wordwrap(4294967297) }}",
    ],
)
def test_layouts_of_special_values(source: str):
    """Tuples with named parts, tuples as keys, markup, widths of more than 32 bits."""
    assert ChatTemplate(source).render([]) == reference(source, [])


def test_keys_without_an_order_stay_in_theirs():
    """Python's pprint sorts such keys by their addresses; ChatTemplate keeps their order."""
    assert ChatTemplate("{{ {(1,): 1, ('a',): 2} | pprint }}").render([]) == "{(1,): 1, ('a',): 2}"


def test_filters_that_are_not_available_name_themselves():
    """The error comes only where a template uses the filter. Asked whether the filter exists, both say yes."""
    for name in ("random", "striptags", "urlize"):
        unused = "{% if false %}{{ 'a' | " + name + " }}{% endif %}{{ '" + name + "' is filter }}"
        assert ChatTemplate(unused).render([]) == reference(unused, []) == "True"
        with pytest.raises(ExecuTorchError, match=f"line 1, column .*filter '{name}' is not available: "):
            ChatTemplate("{{ 'a' | " + name + " }}").render([])


LANGUAGE = {"s": "hello", "l": [1, 2, 3], "d": {"k": "v", "a": [1, {"b": None}]}, "n": None}


@pytest.mark.parametrize("piece", PIECES)
def test_language(piece: str):
    """Each line gives jinja2's text, including tuples."""
    variables = {**LANGUAGE, "m": [{"a": 1, "b": 2}, {"a": 3}]}
    assert ChatTemplate(piece).render([], **variables) == reference(piece, [], True, **variables)


@pytest.mark.parametrize(
    "expression",
    [
        "range(3, 10, 3)[::9223372036854775807]",
        "range(9223372036854775806, 9223372036854775807, 9223372036854775807)[0:1]",
        "9223372036854775807 | round(-1)",
        "(-9223372036854775807 - 1) | round(-19)",
    ],
)
def test_integers_beyond_64_bits_are_errors(expression: str):
    """Python's integers have any length, those of this library 64 bits."""
    assert reference("{{ " + expression + " }}", [])
    with pytest.raises(ExecuTorchError, match="does not fit into 64 bits"):
        ChatTemplate("{{ " + expression + " }}").render([])


@pytest.mark.parametrize("variable", ["\ud800", {"\ud800": 1}, ["a", "\ud800"]])
def test_a_text_without_utf_8_names_its_character(variable: Any):
    with pytest.raises(UnicodeEncodeError, match=r"\\ud800.*surrogates not allowed"):
        ChatTemplate("{{ x }}").render([], x=variable)


FLOATS = """
{{ 1.5 + 2.25e-3 }} {{ '2.5' | float }} {{ '2.75' | int }} {{ 2.345 | round(2) }} {{ 1500000 | filesizeformat }} {{ '%.2f|%E' % (1.5, 2.5) }}
{{ '{:.1f}|{:G}|{:,.2f}|{:.3}|{}'.format(0.25, 1e-9, 1234.5, 1.25, 0.5) }} {{ [1.5] | tojson }}
"""  # noqa: E501


def test_floats_have_a_point_where_the_locale_has_a_comma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Numbers are read and written with a point in any locale, because the application may set one with a comma."""
    localedef = shutil.which("localedef")
    if localedef is None or not sys.platform.startswith("linux"):
        pytest.skip("needs localedef of glibc, which makes a locale")
    source = tmp_path / "source"
    source.write_text('LC_NUMERIC\ndecimal_point "<U002C>"\nthousands_sep ""\ngrouping -1\nEND LC_NUMERIC\n')
    subprocess.run([localedef, "-c", "-i", source, tmp_path / "comma"], capture_output=True)
    expected = reference(FLOATS, [])
    monkeypatch.setenv("LOCPATH", str(tmp_path))
    before = locale.setlocale(locale.LC_NUMERIC)
    locale.setlocale(locale.LC_NUMERIC, "comma")
    try:
        assert locale.localeconv()["decimal_point"] == ","
        assert ChatTemplate(FLOATS).render([]) == expected
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


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
    assert ChatTemplate(WHITE_SPACE).render([]) == reference(WHITE_SPACE, [])
    windows = WHITE_SPACE.replace("\n", "\r\n")
    assert ChatTemplate(windows).render([]) == reference(windows, [])


UNKNOWN_ARGUMENTS = (
    "'a' | trim(x=1)",
    "'a' | wordwrap(0)",
    "'a' | wordwrap(-3)",
    "[1] | wordwrap",
    "'a' | xmlattr",
    "{'a b': 1} | xmlattr",
    "{1: 2} | xmlattr",
    "[] | tojson(1, 2, 3, 4, 5)",
    "'a'.split(x=1)",
    "'a'.strip(chars='a')",
    "1 is odd(2)",
    "dict(1, 2)",
    "namespace(_a=1)",
    "'a' | indent(1, wide=2)",
    "'{:z}'.format(1)",
    "'{:z}'.format('a')",
    "'{:zc}'.format(65)",
    "1e300 | round(10, 'floor')",
    "1.5 | round(400, 'ceil')",
    "1.5 | round(-400, 'floor')",
    "[1] is filter",
    "{} is not filter",
    "(1, [2]) is test",
    "{}.keys() is test",
    "{}.items() is filter",
    "[{}] | select('test') | list",
    "'abcdefghijkl' | truncate(5, true, '123456')",
    "'abc'.removeprefix('a', 1)",
    "'abc'.removesuffix('c', none)",
    "'abc'.removeprefix(('z',))",
    "'a'.splitlines(none)",
    "'a'.splitlines('x')",
    "[1] | sort('x')",
    "[1] | sort(reverse=1.5)",
    "{'a': 1} | dictsort(reverse='x')",
    "'{.real}'.format(1)",
    "'{.__class__}'.format('x')",
    "'{[0]}'.format([1])",
    "self()",
    "self | list",
    "self.a(1)",
)


def test_errors():
    """An error has the line and column of the mistake; a refusal has the template's own text."""
    with pytest.raises(ExecuTorchError, match="line 2, column 4: unknown tag 'fro'"):
        ChatTemplate("a\n{% fro x in y %}{% endfor %}")
    with pytest.raises(ExecuTorchError, match="line 1, column 14: attribute 'x' is undefined"):
        ChatTemplate("{{ messages.x.y }}").render([{}])
    for unknown in UNKNOWN_ARGUMENTS:
        with pytest.raises(REFUSALS):
            reference("{{ " + unknown + " }}", [])
        with pytest.raises(ExecuTorchError, match="line 1, column"):
            ChatTemplate("{{ " + unknown + " }}").render([])
    for surrogate in ("'%c' % 55296", "'{:c}'.format(57343)"):
        with pytest.raises(ExecuTorchError, match="there is no character of the number 5"):
            ChatTemplate("{{ " + surrogate + " }}").render([])
    with pytest.raises(ExecuTorchError, match="the template refuses this conversation: no"):
        ChatTemplate("{{ raise_exception('no') }}").render([])
