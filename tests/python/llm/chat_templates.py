# SPDX-License-Identifier: BSD-3-Clause
"""Chat templates with the features that those of models use, and conversations for them."""

from __future__ import annotations

from typing import Any

TEMPLATES = {
    "markers": """{%- for message in messages -%}
    {%- if loop.first and message.role != 'system' -%}
        {{- '<|begin|>system\\nYou help.<|end|>\\n' -}}
    {%- endif -%}
    {{- '<|begin|>' + message['role'] + '\\n' + (message['content'] or '') + '<|end|>' + '\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|begin|>assistant\\n' -}}{%- endif -%}""",
    "alternating": """{{ bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] | trim %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set system = '' %}
    {%- set turns = messages %}
{%- endif %}
{%- for message in turns %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Roles must alternate: ' ~ message['role']) }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {%- if loop.first and system %}{{ ' [I] ' ~ system ~ '\\n\\n' + message['content'] | string + ' [/I]' }}
        {%- else %}{{ ' [I] ' + message['content'] | string | trim + ' [/I]' }}{% endif %}
    {%- elif message['role'] == 'assistant' %}
        {{- ' ' + message['content'] | string + eos_token }}
    {%- else %}
        {{- raise_exception('Unknown role') }}
    {%- endif %}
{%- endfor %}""",
    "tools": """{%- if not date is defined %}{% set date = '1 Jan 2030' %}{% endif %}
{%- set tools = tools | default(none) %}
{{- bos_token ~ '<h>system</h>\\n\\nToday: ' ~ date }}
{%- if tools is not none and tools is iterable and tools | length > 0 %}
    {{- '\\n\\nFunctions:\\n' }}
    {%- for tool in tools %}
        {%- set function = tool.function if tool.function is defined else tool %}
        {{- function | tojson(indent=4) }}{{ '\\n' if not loop.last }}
        {%- for name, entry in function.parameters.properties | dictsort %}
            {{- '# ' + name + ': ' + entry.type | upper + (' = ' ~ entry.default if 'default' in entry else '') }}
        {%- endfor %}
    {%- endfor %}
{%- endif %}
{%- for message in messages %}
    {%- if message.tool_calls is defined and message.tool_calls %}
        {%- if message.tool_calls | length != 1 %}
            {{- raise_exception('one call at a time') }}
        {%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '<h>' ~ message.role ~ '</h>' }}
        {{- '{"name": "' + call.name + '", "arguments": ' + call.arguments | tojson + '}' }}
    {%- elif message.role in ['tool', 'ipython'] %}
        {%- if message.content is mapping or (message.content is iterable and message.content is not string) %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
    {%- elif message.content is string %}
        {{- '<h>' + message.role + '</h>' + message.content | trim + eos_token }}
    {%- elif message.content is iterable %}
        {%- for part in message.content if part.type == 'text' %}{{ part.text }}{% endfor %}
        {{- message.content | selectattr('type', 'equalto', 'image') | list | length }}
    {%- endif %}
{%- endfor %}
{{- '<h>assistant</h>' if add_generation_prompt else '' }}""",
    "thinking": """{%- set ns = namespace(found=false, last=messages | length - 1, system='') %}
{%- for message in messages[::-1] %}
    {%- set index = (messages | length - 1) - loop.index0 %}
    {%- if not ns.found and message.role == 'user' and message.content is string
        and not (message.content.startswith('<reply>') and message.content.endswith('</reply>')) %}
        {%- set ns.found = true %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- macro shown(text, role='user') -%}
    {{- '[' ~ role ~ ']' ~ text.lstrip('\\n').rstrip('\\n') -}}
{%- endmacro %}
{%- for message in messages %}
    {%- if message.content is string %}{% set content = message.content %}{% else %}{% set content = '' %}{% endif %}
    {%- if message.role == 'assistant' %}
        {%- set reasoning = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last and reasoning %}
            {{- '<think>' + reasoning.strip('\\n') + '</think>' }}
        {%- endif %}
        {{- shown(content, role='model') }}
    {%- else %}
        {{- shown(content) if message.role == 'user' else shown(content, message.role) }}
    {%- endif %}
    {%- if loop.last or (loop.nextitem is defined and loop.nextitem.role != message.role) %}{{ eos_token }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '[model]' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>' }}{% endif %}
{%- endif %}""",
    # The format of Phi 4 mini: functions are part of the system's message.
    "phi4": """{%- set functions = tools | tojson if tools is defined and tools else '' %}
{%- for message in messages %}
    {%- set text = message['content'] if message['content'] is string else message['content'] | tojson %}
    {{- '<|' ~ message['role'] ~ '|>' ~ text }}
    {%- if message['role'] == 'system' and functions %}{{ '<|tool|>' ~ functions ~ '<|/tool|>' }}{% endif %}
    {{- '<|end|>' }}
{%- endfor %}
{{- '<|assistant|>' if add_generation_prompt else eos_token }}""",
    # The format of Mistral's third tokenizer: functions before the last question, calls with ids, results with them.
    "mistral": """{%- set system = messages[0]['content'] if messages[0]['role'] == 'system' else none %}
{%- set turns = messages if system is none else messages[1:] %}
{%- set spoken = turns | rejectattr('role', 'in', ['tool', 'tool_results']) | list %}
{%- set asked = turns | selectattr('role', 'equalto', 'user') | list %}
{%- set plain = namespace(list=[]) %}
{%- for turn in spoken if not turn.get('tool_calls') %}{% set plain.list = plain.list + [turn] %}{% endfor %}
{%- for turn in plain.list %}
    {%- if (turn.role == 'user') is not sameas(loop.index0 % 2 == 0) %}
        {{- raise_exception('After the system message, user and assistant take turns') }}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for turn in turns %}
    {%- if turn.role == 'user' %}
        {%- if tools is defined and tools is not none and turn == asked[-1] %}
            {{- '[AVAILABLE_TOOLS] [' }}
            {%- for tool in tools %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, value in tool.function.items() if key != 'return' %}
                    {{- '"' ~ key ~ '": ' ~ ('"' ~ value ~ '"' if value is string else value | tojson) }}
                    {{- ', ' if not loop.last }}
                {%- endfor %}
                {{- '}}' ~ (', ' if not loop.last else ']') }}
            {%- endfor %}
            {{- '[/AVAILABLE_TOOLS]' }}
        {%- endif %}
        {{- '[INST] ' ~ (system ~ '\\n\\n' if loop.last and system is not none else '') ~ turn.content ~ '[/INST]' }}
    {%- elif turn.tool_calls is defined and turn.tool_calls is not none %}
        {{- '[TOOL_CALLS] [' }}
        {%- for call in turn.tool_calls %}
            {%- set text = call.function | tojson %}
            {{- text[:-1] ~ ', "id": "' ~ (call.id | default('000000000'))[-9:] ~ '"}' }}
            {{- ', ' if not loop.last else ']' ~ eos_token }}
        {%- endfor %}
    {%- elif turn.role == 'assistant' %}
        {{- ' ' ~ turn.content | trim ~ eos_token }}
    {%- elif turn.role in ('tool', 'tool_results') %}
        {%- set content = turn.content.content if turn.content is mapping and turn.content.content else turn.content %}
        {{- '[TOOL_RESULTS] {"content": ' ~ content | string | tojson ~ '}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception('Only user, assistant and tool roles are known: ' ~ turn.role) }}
    {%- endif %}
{%- endfor %}""",
}

_CALL = {"function": {"name": "weather", "arguments": {"city": "Z\u00fcrich", "days": 2, "exact": True}}}
_TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": 'The weather of "a city"',
        "parameters": {
            "type": "object",
            "properties": {"days": {"type": "integer", "default": 1}, "city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
CONVERSATIONS: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "Hello"}],
    [{"role": "system", "content": " Be brief.\n"}, {"role": "user", "content": "  two\n\nlines \u20ac\U0001f600 "}],
    [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nb"},
        {"role": "user", "content": "<reply>c</reply>"},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nd"},
    ],
    [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
    [{"role": "assistant", "content": "a"}, {"role": "user", "content": ""}],
    [{"role": "user", "content": "{{ 'no template' }} {% x %} <|end|>\\n\t'\""}],
    [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": "", "tool_calls": [_CALL]},
        {"role": "tool", "content": {"temperature": 21.5, "unit": None}},
        {"role": "assistant", "content": "21.5"},
        {"role": "user", "content": "thanks"},
    ],
    [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [_CALL, _CALL]}],
    [{"role": "user", "content": [{"type": "text", "text": "what is this?"}, {"type": "image"}]}],
    [{"role": "narrator", "content": "Once"}],
    *[
        [{"role": ("user", "assistant")[i % 2], "content": f"turn {i}" + "\n" * (i % 3)} for i in range(count)]
        for count in (2, 3, 8, 31)
    ],
]
VARIABLES: list[dict[str, Any]] = [
    {},
    {"tools": [_TOOL, _TOOL]},
    {"tools": None, "enable_thinking": False, "date": "2 Feb 2031"},
]
