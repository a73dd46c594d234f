# SPDX-License-Identifier: BSD-3-Clause
"""Dataclasses of the schema as JSON, in the spelling that flatbuffers tools use."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import IntEnum
from typing import Any

# Fields that hold one of several tables. JSON names the table in a separate field.
_UNION_FIELDS = {"val", "instr_args"}


class _DataclassEncoder(json.JSONEncoder):
    """A dataclass becomes an object, bytes a list of numbers, an enum its number."""

    def default(self, o: Any) -> Any:
        if is_dataclass(o) and not isinstance(o, type):
            result: dict[str, Any] = {}
            for field in fields(o):
                value = getattr(o, field.name)
                result[field.name] = value
                if field.name in _UNION_FIELDS:
                    result[f"{field.name}_type"] = type(value).__name__
            return result
        if isinstance(o, (bytes, bytearray, memoryview)):
            return list(o)
        if isinstance(o, IntEnum):
            return int(o)
        return super().default(o)
