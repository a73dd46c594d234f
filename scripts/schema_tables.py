# SPDX-License-Identifier: BSD-3-Clause
"""Writes the structure of a schema's flatbuffers as data, from the reader that flatc generates.

flatc's own verifier has code for every field of every table. As data, the same rules take a few hundred bytes, and one
loop (sdk/cpp/executorch/schema/table_verifier.h) makes the checks.
"""

from __future__ import annotations

import re

# Must agree with FieldKind in table_verifier.h.
STRING, TABLE, UNION, TABLE_VECTOR, SCALAR_VECTOR = 16, 17, 18, 19, 32
SIZES = {"int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "float": 4}
SIZES |= {"int64_t": 8, "uint64_t": 8, "double": 8}

Field = tuple[int, str]  # kind, and the table or union to which the field refers


def tables_header(reader: str, folder: str, name: str, banner: str) -> str:
    """The header ``<name>_tables.h`` for the text of ``<name>_generated.h``, which code includes from ``folder``."""
    namespace = _only(re.findall(r"^namespace (\w+) \{", reader, re.M))
    tables = _tables(reader)
    unions = _unions(reader)
    root = _only(re.findall(r"VerifyBuffer<\w+::(\w+)>", reader))
    order = {table: index for index, table in enumerate(tables)}
    union_order = {union: index for index, union in enumerate(unions)}

    fields, first_fields = [], []
    for table, members in tables.items():
        first_fields.append(len(fields))
        for kind, target in members:
            number = union_order[target] if kind == UNION else order[target] if target else 0
            fields.append(f"    {{{kind}, {number}}},  // {table}" if members else "")
    first_fields.append(len(fields))
    first_members, union_tables = [], []
    for members in unions.values():
        first_members.append(len(union_tables))
        union_tables += [order[member] for member in members]
    first_members.append(len(union_tables))

    prefix = "k" + "".join(part.capitalize() for part in name.split("_"))
    includes = sorted([f"{folder}/{name}_generated.h", "executorch/schema/table_verifier.h"])
    return f"""{banner}#pragma once

{chr(10).join(f"#include <{header}>" for header in includes)}

namespace {namespace} {{

// clang-format off
/// Tables by number.
enum class {prefix[1:]}Table : uint8_t {{
    {", ".join(tables)}}};
constexpr ::executorch::runtime::internal::TableField {prefix}Fields[] = {{
{chr(10).join(fields)}
}};
constexpr uint16_t {prefix}FirstFields[] = {{{", ".join(map(str, first_fields))}}};
constexpr uint16_t {prefix}UnionTables[] = {{{", ".join(map(str, union_tables or [0]))}}};
constexpr uint16_t {prefix}FirstUnionTables[] = {{{", ".join(map(str, first_members))}}};
/// For verify_tables(): every table of {name}.fbs.
constexpr ::executorch::runtime::internal::TableSchema {prefix}Schema = {{
    {prefix}Fields, {prefix}FirstFields, {prefix}UnionTables, {prefix}FirstUnionTables, {order[root]}, {len(tables)}}};
// clang-format on

}}  // namespace {namespace}
"""


def _only(found: list[str]) -> str:
    distinct = set(found)
    if len(distinct) != 1:
        raise ValueError(f"expected one name, found {sorted(distinct)}")
    return distinct.pop()


def _tables(reader: str) -> dict[str, list[Field]]:
    """The fields of every table by their position in its vtable."""
    found = {}
    pattern = r"^struct (\w+) FLATBUFFERS_FINAL_CLASS : private ::flatbuffers::Table \{(.*?)^\};"
    for name, body in re.findall(pattern, reader, re.M | re.S):
        offsets = {field: int(offset) for field, offset in re.findall(r"^    (VT_\w+) = (\d+)", body, re.M)}
        checks = re.search(r"bool Verify\(.*?\{(.*?)\n  \}", body, re.S)
        if checks is None:
            raise ValueError(f"the reader of {name} has no Verify()")
        fields: list[Field] = [(0, "")] * max([(offset - 2) // 2 for offset in offsets.values()], default=0)
        current = ""
        for check in re.findall(r"(\w+(?:<[^>]*>)?\(.*\))(?: &&|;)", checks[1]):
            if match := re.match(r"VerifyField<(\w+)>\(verifier, (VT_\w+), \d+\)", check):
                fields[(offsets[match[2]] - 4) // 2] = (SIZES[match[1]], "")
            elif match := re.match(r"VerifyOffset\(verifier, (VT_\w+)\)", check):
                current = match[1]
            elif not re.match(r"VerifyTableStart|verifier\.EndTable", check) and not check.startswith("EndTable"):
                fields[(offsets[current] - 4) // 2] = _offset_field(check, body)
        found[name] = fields
    return found


def _offset_field(check: str, body: str) -> Field:
    match = re.match(r"(\w+)\((?:verifier, )?(\w+)\(\)", check)
    if match is None:
        raise ValueError(f"unknown check {check}")
    function, accessor = match.groups()
    if function == "VerifyString":
        return STRING, ""
    if function == "VerifyTable":
        table = re.search(rf"const (?:\w+::)?(\w+) \*{accessor}\(\) const", body)
        return TABLE, _found(table, accessor)
    if function in ("VerifyVector", "VerifyVectorOfTables"):
        tables = re.search(rf"Vector<::flatbuffers::Offset<(?:\w+::)?(\w+)>> \*{accessor}\(\) const", body)
        if tables:
            return TABLE_VECTOR, tables[1]
        element = re.search(rf"Vector<(\w+)> \*{accessor}\(\) const", body)
        return SCALAR_VECTOR + SIZES[_found(element, accessor)], ""
    if function.startswith("Verify"):
        return UNION, function.removeprefix("Verify")
    raise ValueError(f"unknown check {check}")


def _found(match: re.Match[str] | None, what: str) -> str:
    if match is None:
        raise ValueError(f"unknown type of {what}")
    return match[1]


def _unions(reader: str) -> dict[str, list[str]]:
    """The tables of every union, in the order of their numbers from 1."""
    found = {}
    pattern = r"^inline bool Verify(\w+)\(::flatbuffers::Verifier &verifier, const void \*obj, \w+ type\) \{(.*?)^\}"
    for name, body in re.findall(pattern, reader, re.M | re.S):
        found[name] = re.findall(r"reinterpret_cast<const (?:\w+::)?(\w+) \*>\(obj\)", body)
    return found
