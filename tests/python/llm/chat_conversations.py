# SPDX-License-Identifier: BSD-3-Clause
"""Conversations of every kind that chat templates support, and the other variables that they read."""

from __future__ import annotations

from typing import Any

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather of a place",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": 'Where, "quoted" & <b>'},
                    "unit": {"type": "string", "enum": ["c", "f"]},
                    "days": {"type": ["integer", "null"], "default": 3},
                    "nested": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "number"}}}},
                },
                "required": ["city"],
            },
            "return": {"type": "string", "description": "text"},
        },
    },
    {
        "type": "function",
        "function": {"name": "ping", "description": "", "parameters": {"type": "object", "properties": {}}},
    },
]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def answer(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def system(content: Any) -> dict[str, Any]:
    return {"role": "system", "content": content}


def call(number: int, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": f"call{number:05d}", "type": "function", "function": {"name": name, "arguments": arguments}}


REAL_CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "user": [user("Hi")],
    "system": [system("Be brief."), user("Hi there ")],
    "multi": [user("1+1?"), answer("2"), user("2+2?"), answer("4"), user("thanks")],
    "system multi": [system("You are Bob"), user("a"), answer("b"), user("c")],
    "unicode": [user("Grüße 你好 😀 \u3000\u00a0x\u2028y\u0085 "), answer(" ñ ‘q’ "), user("ß\tend\r\n")],
    "markup": [
        user("<b>&\"'</b> {{ x }} {% if %} </s><|im_end|>"),
        answer("<think>t</think>ok"),
        user("<tool_response>x</tool_response>"),
    ],
    "empty": [user("")],
    "none content": [
        user("call"),
        answer(None, tool_calls=[call(1, "ping", {})]),
        {"role": "tool", "name": "ping", "tool_call_id": "call00001", "content": "pong"},
    ],
    "tool call": [
        user("weather?"),
        answer("", tool_calls=[call(1, "get_weather", {"city": "Bärn", "days": 2})]),
        {"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": '{"t": 3}'},
        answer("3 degrees"),
        user("ok"),
    ],
    "two tool calls": [
        system("s"),
        user("w"),
        answer(
            "let me", tool_calls=[call(1, "get_weather", {"city": "A", "x": [1, 2.5, None, True]}), call(2, "ping", {})]
        ),
        {"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": "1"},
        {"role": "tool", "name": "ping", "tool_call_id": "call00002", "content": "2"},
    ],
    "arguments text": [
        user("w"),
        answer("", tool_calls=[call(1, "get_weather", '{"city": "A"}')]),
        {"role": "tool", "tool_call_id": "call00001", "content": "1"},
        user("n"),
    ],
    "reasoning": [
        user("q"),
        answer("a", reasoning_content="because\n"),
        user("q2"),
        answer("a2", reasoning_content="so"),
    ],
    "thinking": [user("q"), answer("a", thinking="hm"), user("r")],
    "reasoning field": [user("q"), answer("a", reasoning="r1"), user("r")],
    "reasoning tool": [
        user("q"),
        answer("", reasoning_content="need tool", tool_calls=[call(1, "ping", {"a": "b"})]),
        {"role": "tool", "name": "ping", "tool_call_id": "call00001", "content": "pong"},
    ],
    "think tags": [user("q"), answer("<think>\nx\n</think>\n\nanswer"), user("q2"), answer("<think>y</think>b")],
    "parts": [
        user([{"type": "text", "text": "look "}, {"type": "image"}, {"type": "text", "text": "at it"}]),
        answer([{"type": "text", "text": "ok"}]),
        user("x"),
    ],
    "image url": [user([{"type": "image_url", "image_url": {"url": "u"}}, {"type": "text", "text": "what?"}])],
    "system parts": [system([{"type": "text", "text": "sys"}]), user([{"type": "text", "text": "hello"}])],
    "developer": [{"role": "developer", "content": "dev"}, user("hi")],
    "assistant last": [user("a"), answer("partial ")],
    "tool list content": [
        user("w"),
        answer("", tool_calls=[call(1, "ping", {})]),
        {"role": "tool", "name": "ping", "tool_call_id": "call00001", "content": [{"type": "text", "text": "pong"}]},
        user("z"),
    ],
    "two users": [user("a"), user("b"), answer("c"), answer("d"), user("e")],
    "only system": [system("s")],
    "video": [user([{"type": "video"}, {"type": "audio", "audio": "x"}, {"type": "text", "text": "t"}])],
    "dict content": [user("x"), answer("y"), {"role": "tool", "name": "f", "content": {"a": [1, 2]}}, user("z")],
}
REAL_VARIABLES: list[dict[str, Any]] = [
    {},
    {"tools": TOOLS},
    {"enable_thinking": False},
    {"enable_thinking": True, "tools": TOOLS[:1]},
    {"thinking": True},
    {"reasoning_effort": "high", "documents": [{"title": "T", "text": "body", "doc_id": 1}]},
    {"tools": [], "strict": True, "builtin_tools": ["browser", "python"]},
    {
        "date_string": "1 Jan 2026",
        "tools_in_user_message": False,
        "tools": TOOLS,
        "preserve_thinking": True,
        "keep_reasoning": True,
    },
]
