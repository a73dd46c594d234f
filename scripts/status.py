# SPDX-License-Identifier: BSD-3-Clause
"""docs/status.yaml: what runs where, the releases it was tested with, its size, and what was not run.

`read()` checks the file. Each statement has its evidence: a command or file of this repository, or a page. The tables
of the pages are in status_tables.py.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
FILE = "docs/status.yaml"
Status = dict[str, Any]

_RELEASED = ("all", "most", "wheel")


class StatusError(Exception):
    """The file is wrong. The message has a line for each problem: the entry, the field and how to fix it."""


@dataclass(frozen=True)
class Rule:
    """The fields of the entries of a section: their types, and the allowed values of some."""

    required: Mapping[str, type]
    optional: Mapping[str, type] = field(default_factory=dict)
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


RULES = {
    "systems": Rule(
        {"name": str, "state": str, "what": str, "by": list},
        {"front": bool},
        {"state": ("run", "emulated", "compiled")},
    ),
    "not_run": Rule({"instead": str}, {"what": str}),
    "releases": Rule({"release": str, "tests": str, "by": list}, {"text": str}, {"tests": _RELEASED}),
    "sizes": Rule({"bytes": int, "limit": int, "what": str, "by": list}),
    "backends": Rule({"title": str, "systems": list, "where": str, "processors": str}),
    "ecosystem": Rule(
        {"number": int, "point": str, "state": str, "text": str},
        {"needs": str},
        {"state": ("yes", "partly", "no"), "needs": ("publication", "machines", "work", "nothing")},
    ),
}
"""The sections of the file. `releases` and `ecosystem` have lists by name, `sizes` has one entry for each name."""


def read(root: Path = ROOT) -> Status:
    """The file's content. Raises StatusError if a field or the evidence of a statement is missing or wrong."""
    data = yaml.safe_load((root / FILE).read_text(encoding="utf-8"))
    problems = list(_problems(data, root))
    if problems:
        raise StatusError("\n".join(f"{FILE}: {problem}" for problem in problems))
    return data


def entries(data: Status) -> Iterator[tuple[str, Rule, dict[str, Any]]]:
    """Each entry of a section, with its place in the file: `systems[0]`, `releases.python[1]`, `sizes.core`."""
    for section, rule in RULES.items():
        content = data.get(section, [])
        for name, group in content.items() if isinstance(content, dict) else [("", content)]:
            place = f"{section}.{name}" if name else section
            if isinstance(group, list):
                yield from ((f"{place}[{number}]", rule, entry) for number, entry in enumerate(group))
            else:
                yield place, rule, group


def _problems(data: Status, root: Path) -> Iterator[str]:
    for section in data:
        if section not in RULES:
            yield f"there is no section {section!r}. Remove it, or write one of {', '.join(RULES)}."
    for section in RULES:
        if not data.get(section):
            yield f"the section {section!r} is missing. Add it: {', '.join(RULES[section].required)} for each entry."
    found = list(entries(data))
    wrong = [problem for place, rule, entry in found for problem in _wrong_fields(place, rule, entry)]
    yield from wrong
    if wrong:
        return
    for place, _, entry in found:
        yield from _wrong_evidence(place, entry, root)
    yield from _wrong_releases(data, root)


def _wrong_fields(place: str, rule: Rule, entry: Any) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"{place} is {entry!r}. Write the fields {', '.join(rule.required)}."
        return
    known = {**rule.required, **rule.optional}
    for name, value in entry.items():
        if name not in known:
            yield f"{place} has the unknown field {name!r}. Remove it, or write one of {', '.join(known)}."
        elif not isinstance(value, known[name]):
            yield f"{place}.{name} is {value!r}, expected {known[name].__name__}."
        elif name in rule.values and value not in rule.values[name]:
            yield f"{place}.{name} is {value!r}. Write one of {', '.join(rule.values[name])}."
    for name in rule.required:
        if name not in entry:
            yield f"{place} has no field {name!r}. Add it."


def _wrong_evidence(place: str, entry: dict[str, Any], root: Path) -> Iterator[str]:
    if "by" in entry and not entry["by"]:
        yield f"{place}.by is empty. Name the command or file that shows the statement, or remove the statement."
    for command in entry.get("by", ()):
        path, *steps = command.split()
        if not (root / path).exists():
            yield f"{place}.by has {command!r}, and there is no {path}. Name a command or file of this repository."
        for step in steps if path == "scripts/test.sh" else ():
            if step not in _steps(root):
                yield f"{place}.by has {command!r}, and the gate has no step {step!r}: see scripts/test.sh --list."
    if entry.get("state") == "emulated" and not re.search(r"\b(in|on) \w", entry["what"]):
        yield f"{place}.what does not say in what it was run. Write `in QEMU` or the like."
    if entry.get("tests") == "most" and "text" not in entry:
        yield f"{place} has no field 'text'. Say which tests ran."
    if "point" in entry:
        if entry["state"] == "yes" and not re.search(r"`|\]\(", entry["text"]):
            yield f"{place}.text names nothing that shows the state yes. Name a command, file or page."
        if (entry["state"] == "yes") == ("needs" in entry):
            yield f"{place}.needs says why a point does not hold: expected with partly and no, and only with them."


def _wrong_releases(data: Status, root: Path) -> Iterator[str]:
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)
    known = [entry["release"] for entry in data["releases"].get("python", ())]
    if known != declared:
        yield (
            f"releases.python has {', '.join(known)}, and pyproject.toml declares {', '.join(declared)}. Run the "
            "missing ones (tests/release/other_pythons.py) and write what ran, or change pyproject.toml."
        )
    for name, group in data["releases"].items():
        if sum(entry["tests"] == "all" for entry in group) != 1:
            yield f"releases.{name} needs one release with `tests: all`, with which the gate runs."
    numbers = [entry["number"] for group in data["ecosystem"].values() for entry in group]
    if numbers != list(range(1, len(numbers) + 1)):
        yield "ecosystem: the points are not numbered from 1 in order. Number them anew."


@functools.cache
def _steps(root: Path) -> frozenset[str]:
    """The steps that scripts/test.sh and the backends' gate.sh declare."""
    files = [root / "scripts/test.sh", *root.glob("backends/**/gate.sh")]
    found = (re.findall(r"\b(?:gate|long)_step ([\w-]+)", file.read_text(encoding="utf-8")) for file in files)
    return frozenset(name for names in found for name in names)


def figures(data: Status) -> dict[str, str]:
    """The figures that replace {name} in texts, and the text between the marks of a figure in a page."""
    python, pytorch = data["releases"]["python"], data["releases"]["pytorch"]

    def others(releases: list[dict[str, Any]]) -> Iterator[str]:
        return (f"{entry['release']} {entry['text']}" for entry in releases if entry["tests"] == "most")

    return {
        "python": f"{python[0]['release']} to {python[-1]['release']}",
        "python-tested": tested(python),
        "python-wheels": listed(entry["release"] for entry in python if entry["tests"] == "wheel"),
        "pytorch-tested": tested(pytorch),
        "python-other": "; on ".join(others(python)),
        "pytorch-other": "; with ".join(others(pytorch)),
        "compilers": listed(entry["release"] for entry in data["releases"]["compiler"]),
        **{name: f"{entry['bytes']:,}" for name, entry in data["sizes"].items()},
        **{f"{name}-limit": f"{entry['limit']:,}" for name, entry in data["sizes"].items()},
    }


def tested(releases: list[dict[str, Any]]) -> str:
    """The release with which all tests run."""
    return next(entry["release"] for entry in releases if entry["tests"] == "all")


def listed(words: Any, last: str = "and") -> str:
    """`a, b and c`"""
    *before, end = words
    return f"{', '.join(before)} {last} {end}" if before else end


def filled(text: str, known: Mapping[str, str]) -> str:
    """`text` with the figures in place of {name}. Raises StatusError for a name that is not known."""

    def figure(match: re.Match[str]) -> str:
        if match[1] not in known:
            raise StatusError(f"{FILE}: {match[0]} in {text!r} is not a figure. Write one of {', '.join(known)}.")
        return known[match[1]]

    return re.sub(r"\{([a-z][\w-]*)\}", figure, text)
