#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The manifests of backends: backends/<name>/backend.json and backends/<family>/<name>/backend.json.

    scripts/backend_manifests.py                            checks all of them
    scripts/backend_manifests.py --list needs               a field of each backend, one value per line
    scripts/backend_manifests.py --list name target         the same for two fields, separated by tabs
    scripts/backend_manifests.py --list id --platform ios   only of the backends for that platform

In addition to the fields there are `symbol`, the C function that registers the backend, and `product`, its name for
SwiftPM.

cmake/backend_fields.json defines the fields of manifests. CMake makes the same checks, with the same errors, in
cmake/ManifestCheck.cmake. Only the standard library is used, because scripts run before anything is installed.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIELDS = ROOT / "cmake" / "backend_fields.json"
TYPES = {
    str: "string",
    list: "array",
    dict: "object",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
}

Manifest = dict[str, Any]


class ManifestError(Exception):
    """Manifests are wrong. The message has a line for each problem: the file, the field and how to fix it."""


def paths(root: pathlib.Path = ROOT) -> list[pathlib.Path]:
    folder = root / "backends"
    return sorted([*folder.glob("*/backend.json"), *folder.glob("*/*/backend.json")])


def read_all(root: pathlib.Path = ROOT, platform: str | None = None) -> list[Manifest]:
    """Every manifest below `root`, sorted by name. With `platform`, only those that list it.

    Raises ManifestError if a manifest is wrong.
    """
    fields = json.loads((root / "cmake" / FIELDS.name).read_text(encoding="utf-8"))
    problems: list[str] = []
    manifests: list[Manifest] = []
    seen: dict[tuple[str, str], str] = {}
    for path in paths(root):
        file = path.relative_to(root).as_posix()
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            manifest = error
        if not isinstance(manifest, dict):
            problems.append(
                f"{file}: this is not a JSON object. Write one, as docs/backends.md describes ({manifest})."
            )
            continue
        problems += _check(file, manifest, fields, path.parent, seen)
        manifests.append(manifest)
    if not problems:
        problems += _missing_needs(manifests, root)
    if problems:
        raise ManifestError("These manifests of backends cannot be used:\n  " + "\n  ".join(problems))
    return [manifest for manifest in manifests if platform is None or platform in manifest["platforms"]]


def symbol(manifest: Manifest) -> str:
    """The C function that registers the backend."""
    return f"executorch_{manifest['target']}_at_load"


def apple_product(manifest: Manifest) -> str:
    """The product of the Swift package, and the xcframework, that contains the backend."""
    return f"backend_{manifest['name'].rpartition('/')[2]}"


def _check(
    file: str, manifest: Manifest, fields: dict[str, Any], folder: pathlib.Path, seen: dict[tuple[str, str], str]
) -> Iterator[str]:
    for key in manifest:
        if key not in fields:
            yield f'{file}: there is no field "{key}". Remove it, or write one of: {", ".join(sorted(fields))}.'
    for field, rule in fields.items():
        if field not in manifest:
            if rule["required"]:
                yield f'{file}: the field "{field}" is missing. Add it: {rule["text"]}.'
            continue
        value = manifest[field]
        if TYPES[type(value)] != rule["type"]:
            found, wanted = TYPES[type(value)], rule["type"]
            yield f'{file}: "{field}" is of type {found}, expected {wanted}. Write {rule["text"]}.'
            continue
        yield from _check_values(file, field, value, rule, manifest, folder)
        yield from _check_needs(file, field, value, rule, manifest, fields)
        if rule.get("unique"):
            if (field, value) in seen:
                yield f'{file}: "{field}" is "{value}", as in {seen[field, value]}. Give each backend its own.'
            seen[field, value] = file
    name = file.removeprefix("backends/").removesuffix("/backend.json")
    if "name" in manifest and manifest["name"] != name:
        yield f'{file}: "name" is "{manifest["name"]}", but its folder is backends/{name}. Write "{name}".'


def _check_values(
    file: str, field: str, value: Any, rule: dict[str, Any], manifest: Manifest, folder: pathlib.Path
) -> Iterator[str]:
    text = rule["text"]
    for entry in value if isinstance(value, list) else [value] if isinstance(value, str) else []:
        if entry not in rule.get("values", [entry]) or not re.match(rule.get("pattern", ""), str(entry)):
            yield f'{file}: "{field}" has "{entry}". Write {text}.'
        elif rule.get("files") and not (folder / str(entry)).exists():
            name = pathlib.PurePosixPath(file).parent
            yield f'{file}: "{field}" has "{entry}", and {name} has no such file. Write {text}.'
    keys = manifest.get(rule["keys_from"], []) if "keys_from" in rule else rule.get("keys", [])
    among = rule.get("keys_among", [])
    if keys or among:
        yield from _compare_keys(file, field, text, value, keys, among)
    if "entries" in rule:
        for key, inner in value.items():
            yield from _check_entry(file, f"{field}.{key}", inner, rule["entries"], text)


def _check_entry(file: str, name: str, value: Any, rule: dict[str, Any], text: str) -> Iterator[str]:
    """The problems of a field that is an object. It must have either all keys of `together` or none of them."""
    together = rule.get("together", [])
    some = isinstance(value, dict) and any(key in value for key in together)
    required = [*rule["required"], *(together if some else [])]
    yield from _compare_keys(file, name, text, value, required, rule["optional"])
    for key, allowed in rule.get("values", {}).items():
        found = value.get(key, []) if isinstance(value, dict) else []
        if not isinstance(found, list):
            yield f'{file}: "{name}.{key}" is of type {TYPES[type(found)]}, expected array. Write {text}.'
            continue
        for entry in found:
            if entry not in allowed:
                yield f'{file}: "{name}.{key}" has "{entry}". Write {text}.'


def _check_needs(
    file: str, field: str, value: Any, rule: dict[str, Any], manifest: Manifest, fields: dict[str, Any]
) -> Iterator[str]:
    """The problems of other fields that this field, or one of its values, requires."""
    for entry, needed in rule.get("value_needs", {}).items():
        if entry in value and manifest.get(needed) is not True:
            told = fields[needed]["text"]
            yield f'{file}: "{field}" has "{entry}", which needs "{needed}": true. Write it, {told}.'
    if "field_needs" in rule and rule["field_needs"] not in manifest:
        needed = rule["field_needs"]
        yield f'{file}: "{field}" needs the field "{needed}". Add it: {fields[needed]["text"]}.'
    evidence = rule.get("evidence", {}).get(value) if isinstance(value, str) else None
    verified = manifest.get("verified")
    entries = verified.values() if isinstance(verified, dict) else ()
    if evidence and not any(isinstance(entry, dict) and evidence in entry.get("by", ()) for entry in entries):
        yield (
            f'{file}: "{field}" is "{value}", and "verified" has no "{evidence}" in "by". Run it on one and write so, '
            f"or write another {field}: {rule['text']}."
        )


def _compare_keys(
    file: str, field: str, text: str, value: Any, required: Iterable[str], optional: Iterable[str]
) -> Iterator[str]:
    keys = list(value) if isinstance(value, dict) else []
    for key in required:
        if key not in keys:
            yield f'{file}: the field "{field}.{key}" is missing. Write {text}.'
    for key in keys:
        if key not in required and key not in optional:
            yield f'{file}: there is no field "{field}.{key}". Remove it. Write {text}.'


def _missing_needs(manifests: list[Manifest], root: pathlib.Path) -> Iterator[str]:
    declared = "".join(path.read_text(encoding="utf-8") for path in _option_files(root))
    options = set(re.findall(r"^\s*executorch_option\((\w+)", declared, re.M))
    for manifest in manifests:
        options |= {manifest["name"], manifest["option"], *manifest.get("options", {})}
    for manifest in manifests:
        for need in manifest.get("needs", ()):
            if need not in options:
                yield (
                    f'backends/{manifest["name"]}/backend.json: "needs" has "{need}", which is neither an option nor a '
                    "backend. Write one that cmake/Options.cmake or a manifest has, or remove it."
                )


def _option_files(root: pathlib.Path) -> list[pathlib.Path]:
    return [root / "cmake" / "Options.cmake", *sorted(root.glob("kernels/*/options.cmake"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", metavar="FIELD", nargs="+", help="print these fields of every backend")
    platforms = json.loads(FIELDS.read_text(encoding="utf-8"))["platforms"]["values"]
    parser.add_argument("--platform", choices=platforms, help="only backends for this platform")
    arguments = parser.parse_args()
    try:
        manifests = read_all(platform=arguments.platform)
    except ManifestError as error:
        raise SystemExit(f"backend_manifests: {error}") from None
    if arguments.list is None:
        names = ", ".join(manifest["name"] for manifest in manifests)
        print(f"backend_manifests: {len(manifests)} correct: {names}", file=sys.stderr)
        return
    for manifest in manifests:
        manifest = {**manifest, "symbol": symbol(manifest), "product": apple_product(manifest)}
        values = [manifest.get(field, []) for field in arguments.list]
        values = [str(value).lower() if isinstance(value, bool) else value for value in values]
        if len(values) > 1:
            print(*(value if isinstance(value, str) else " ".join(value) for value in values), sep="\t")
        else:
            value = values[0].values() if isinstance(values[0], dict) else values[0]
            print(*([value] if isinstance(value, str) else value), sep="\n", end="\n" if value else "")


if __name__ == "__main__":
    main()
