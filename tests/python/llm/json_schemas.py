# SPDX-License-Identifier: BSD-3-Clause
"""Ten JSON schemas, and a check of values by the keywords of the standard."""

from __future__ import annotations

import re
from typing import Any

SCHEMAS: dict[str, dict[str, Any]] = {
    "person": {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 30}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name", "age"],
    },
    "choice": {"enum": ["red", "green", 7, None, {"a": [1, 2]}]},
    "numbers": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 4},
    "tool_call": {
        "type": "object",
        "properties": {
            "name": {"const": "get_weather"},
            "arguments": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "pattern": "^[A-Z][a-z]{2,12}$"},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                },
                "required": ["city"],
                "additionalProperties": False,
            },
        },
        "required": ["name", "arguments"],
    },
    "alternatives": {"anyOf": [{"type": "boolean"}, {"type": "string", "maxLength": 8}, {"type": "null"}]},
    "definitions": {
        "$defs": {"point": {"type": "array", "prefixItems": [{"type": "integer"}] * 2, "items": False, "minItems": 2}},
        "type": "object",
        "properties": {"from": {"$ref": "#/$defs/point"}, "to": {"$ref": "#/$defs/point"}},
        "required": ["from", "to"],
    },
    "tree": {
        "type": "object",
        "properties": {"value": {"type": "integer", "minimum": -5, "maximum": 120}, "next": {"$ref": "#"}},
        "required": ["value"],
    },
    "date": {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}, "required": ["day"]},
    "several_types": {"type": ["integer", "null", "boolean"]},
    "map": {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 3},
}

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def _is_of(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _part(root: Any, reference: str) -> Any:
    part = root
    for name in reference.split("/")[1:]:
        part = part[name]
    return part


def problems(value: Any, schema: Any, root: Any = None) -> list[str]:
    """Returns the parts of `schema` that the value violates."""
    root = schema if root is None else root
    if isinstance(schema, bool):
        return [] if schema else ["false"]
    if "$ref" in schema:
        return problems(value, _part(root, schema["$ref"]), root)
    found = []
    if "anyOf" in schema and all(problems(value, option, root) for option in schema["anyOf"]):
        found.append("anyOf")
    if ("enum" in schema and value not in schema["enum"]) or ("const" in schema and value != schema["const"]):
        found.append("enum")
    types = schema.get("type", [])
    if types and not any(_is_of(value, name) for name in ([types] if isinstance(types, str) else types)):
        found.append("type")
    if isinstance(value, str):
        found += _problems_of_text(value, schema)
    elif isinstance(value, list):
        first = schema.get("prefixItems", [])
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append("minItems, maxItems")
        for i, item in enumerate(value):
            found += problems(item, first[i] if i < len(first) else schema.get("items", True), root)
    elif isinstance(value, dict):
        found += [f"required {name}" for name in schema.get("required", []) if name not in value]
        found += ["maxProperties"] if len(value) > schema.get("maxProperties", len(value)) else []
        for name, item in value.items():
            found += problems(
                item, schema.get("properties", {}).get(name, schema.get("additionalProperties", True)), root
            )
    elif _is_of(value, "number") and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append("minimum, maximum")
    return found


def _problems_of_text(value: str, schema: dict[str, Any]) -> list[str]:
    found = [] if len(value) <= schema.get("maxLength", len(value)) else ["maxLength"]
    pattern = r"^\d{4}-\d{2}-\d{2}$" if schema.get("format") == "date" else schema.get("pattern", "")
    return found if re.search(pattern, value) else [*found, "pattern"]
