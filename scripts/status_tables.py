# SPDX-License-Identifier: BSD-3-Clause
"""The tables and figures of pages, from docs/status.yaml, the manifests of backends and the list of missing names.

A page has marks around each: `<!-- status: NAME -->`, the text, `<!-- end -->`. `filled_page` replaces the text
between them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from backend_manifests import Manifest
from status import ROOT, Status, StatusError, figures, filled, listed

SYSTEMS = {
    "linux": "Linux",
    "macos": "macOS",
    "windows": "Windows",
    "android": "Android",
    "ios": "iOS",
    "embedded": "embedded",
    "wheel": "Python package",
    "web": "web",
}
"""The systems of manifests, as people write them."""

FRONT = ("linux", "macos", "android", "ios")
"""The systems that have a column on the front page."""

NEEDS = {
    "publication": "a publication: nothing is on Maven Central, PyPI or under a public tag",
    "machines": "machines or tools that were not available",
    "work": "work",
    "nothing": "nothing",
}

MISSING_NAMES = ROOT / "tests/interop/public_names.yaml"
"""The names of ExecuTorch's Python package that are not here, in groups with a reason."""

_MARK = re.compile(r"<!-- status: (?P<name>[^\n]+?) -->(?P<text>.*?)<!-- end -->", re.DOTALL)


class Tables:
    """All tables by the name in their marks."""

    def __init__(self, status: Status, manifests: list[Manifest], rows: Mapping[str, str]) -> None:
        """`rows` are the counts of docs/project/coverage.md."""
        self.status = status
        self.manifests = {manifest["title"]: manifest for manifest in manifests}
        self.figures = {**figures(status), **rows}
        self.known: dict[str, Callable[[], str]] = {
            "systems": self.systems,
            "front systems": lambda: self.systems(front=True),
            "nobody": self.nobody,
            "not run": lambda: "".join(f"- {entry['instead']}\n" for entry in status["not_run"]),
            "requirements": self.requirements,
            "front backends": self.front_backends,
            "backends": self.backends,
            "platforms": self.platforms,
            "index of backends": self.index_of_backends,
            "ecosystem": self.ecosystem_counts,
            "missing names": missing_names,
            **{f"ecosystem: {name}": self._points(name) for name in status["ecosystem"]},
            **{f"backend: {title}": self._verified(title) for title in self.manifests},
        }

    def text(self, name: str) -> str:
        """A figure without line breaks, or a table. Raises StatusError for an unknown name."""
        if name in self.figures:
            return self.figures[name]
        if name not in self.known:
            raise StatusError(f"there is no table {name!r}. Write one of: {', '.join([*self.known, *self.figures])}.")
        return "\n" + filled(self.known[name](), self.figures)

    def systems(self, front: bool = False) -> str:
        lines = ["| system | state | what | shown by |", "|---|---|---|---|"]
        for entry in self.status["systems"]:
            if not front or entry.get("front"):
                shown = ", ".join(f"`{command}`" for command in entry["by"])
                lines.append(f"| {entry['name']} | {entry['state']} | {entry['what']} | {shown} |")
        return _joined(lines)

    def nobody(self) -> str:
        where = listed((entry["what"] for entry in self.status["not_run"] if "what" in entry), last="or")
        return f"**Nobody has run it** on {where}.\n"

    def requirements(self) -> str:
        rows = {
            "Python": "{python}. All tests run on {python-tested}; on {python-wheels} a wheel ran MobileNetV2 without "
            "PyTorch; on {python-other}",
            "PyTorch": "2.13 or newer; only exporting needs it, and `pip install '.[export]'` chooses one. All tests "
            "run with {pytorch-tested}; with {pytorch-other}",
            "C++ compiler": "any for C++17; the tests use {compilers}",
            "CMake": "3.24; 3.25 for the presets",
            "system": "Linux on x86-64, where everything is run, or on 64-bit Arm. Elsewhere: "
            "[what was tried](platforms.md)",
        }
        lines = ["| on the computer that exports | needed |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows.items())]
        return _joined(lines)

    def front_backends(self) -> str:
        """A row for each backend: its processors, and on what it was run. Then the backends that are missing here."""
        names = [SYSTEMS[system] for system in FRONT]
        lines = [f"| backend | processors | {' | '.join(names)} |", "|" + "---|" * (len(names) + 2)]
        for manifest in self.manifests.values():
            name = f"[{manifest['title']}](docs/{page_of(manifest)})"
            name += "" if manifest["status"] == "supported" else f" ({manifest['status']})"
            cells = [verified(manifest, system) or "not built for it" for system in FRONT]
            lines.append(f"| {name} | {manifest['hardware']} | {' | '.join(cells)} |")
        missing = [entry["title"] for entry in self.status["backends"] if entry["title"] not in self.manifests]
        if missing:
            lines += ["", f"Not here yet: {', '.join(missing)}."]
        return _joined(lines)

    def backends(self) -> str:
        """A row for each backend of the original, then one for each that only this SDK has."""
        lines = ["| backend | ExecuTorch has it for | processor | here | tried on |", "|---|---|---|---|---|"]
        for entry in self.status["backends"]:
            lines.append(self._choice(entry["title"], entry["where"], entry["processors"]))
        for title in self.manifests.keys() - {entry["title"] for entry in self.status["backends"]}:
            lines.append(self._choice(title, "–", self.manifests[title]["hardware"]))
        return _joined(lines)

    def _choice(self, title: str, where: str, processors: str) -> str:
        manifest = self.manifests.get(title)
        here = manifest["status"] if manifest else "no"
        tried = [_tried(system, entry["by"]) for system, entry in (manifest or {"verified": {}})["verified"].items()]
        return f"| {self._linked(title)} | {where} | {processors} | {here} | {', '.join(filter(None, tried)) or '–'} |"

    def platforms(self) -> str:
        """A row for each platform and backend: those that the original has, and those that were tried there."""
        lines = ["| platform | backend | state |", "|---|---|---|"]
        platforms = ("linux", "macos", "windows", "android", "ios", "embedded")
        for system in platforms:
            name = SYSTEMS[system]
            titles = [entry["title"] for entry in self.status["backends"] if name in entry["systems"]]
            tried = [title for title, manifest in self.manifests.items() if system in manifest["verified"]]
            titles += [title for title in tried if title not in titles]
            lines += [f"| {name} | {self._linked(title)} | {self.state(title, system)} |" for title in titles]
        return _joined(lines)

    def state(self, title: str, system: str) -> str:
        """The text of the backend's manifest for a system, or that the backend is not here."""
        if title in self.manifests:
            return verified(self.manifests[title], system) or "not built for this platform"
        return "not here"

    def index_of_backends(self) -> str:
        titles = [entry["title"] for entry in self.status["backends"]]
        return "".join(f"{number}. {self._linked(title)}\n" for number, title in enumerate(titles, start=1))

    def ecosystem_counts(self) -> str:
        points = [point for group in self.status["ecosystem"].values() for point in group]
        count = {state: sum(point["state"] == state for point in points) for state in ("yes", "partly", "no")}
        lines = [
            f"Of {len(points)} points, {count['yes']} hold, {count['partly']} hold in part, {count['no']} not at all. "
            "The others need:",
            "",
        ]
        for need, text in NEEDS.items():
            numbers = ", ".join(str(point["number"]) for point in points if point.get("needs") == need)
            lines += [f"- {text} ({numbers})"] if numbers else []
        return _joined(lines)

    def _points(self, name: str) -> Callable[[], str]:
        def table() -> str:
            lines = ["| | point | state | shown by, or missing |", "|---|---|---|---|"]
            for point in self.status["ecosystem"][name]:
                # The links of the texts begin in docs/, and the page is in a folder of it.
                text = re.sub(r"\]\((?!https?:)", "](../", point["text"])
                lines.append(f"| {point['number']} | {point['point']} | {point['state']} | {text} |")
            return _joined(lines)

        return table

    def _verified(self, title: str) -> Callable[[], str]:
        """The rows of a backend's page: what its manifest says of each system."""

        def table() -> str:
            found = self.manifests[title]["verified"]
            return _joined(
                ["| system | how it was tried |", "|---|---|"]
                + [f"| {SYSTEMS[system]} | {entry['text']} |" for system, entry in found.items()]
            )

        return table

    def _linked(self, title: str) -> str:
        return f"[{title}]({page_of(self.manifests[title])})" if title in self.manifests else title


def missing_names() -> str:
    """A row for each reason: the names, or where they are and how many."""
    lines = ["| missing here | why |", "|---|---|"]
    for group in yaml.safe_load(MISSING_NAMES.read_text(encoding="utf-8")):
        names = group["names"]
        modules = Counter(map(_module_of, names))
        alone = [f"`{name}`" for name in names if len(names) < 4 or modules[_module_of(name)] == 1]
        counted = [f"`{name}` ({count})" for name, count in modules.items() if len(names) > 3 and count > 1]
        lines.append(f"| {', '.join(counted + alone)} | {' '.join(group['reason'].split())} |")
    return _joined(lines)


def _module_of(name: str) -> str:
    return ".".join(name.split(".")[:2])


def page_of(manifest: Manifest) -> str:
    return f"backends-{manifest['name'].rpartition('/')[2]}.md"


def _tried(system: str, by: list[str]) -> str:
    """A system and on what the backend was tried there, unless it was a device; "" if it was not tried."""
    return f"{SYSTEMS[system]}{'' if 'device' in by else ' (' + ', '.join(by) + ')'}" if by else ""


def verified(manifest: Mapping[str, Any], system: str) -> str:
    """Says where the backend ran on this system; "" if its manifest does not mention the system."""
    return manifest["verified"].get(system, {}).get("text", "")


def filled_page(page: Path, tables: Tables) -> str:
    """The page with the text that belongs between its marks. Raises StatusError for a mark that is wrong."""
    text = page.read_text(encoding="utf-8")
    if text.count("<!-- status: ") != text.count("<!-- end -->"):
        raise StatusError(f"{page.name}: each mark <!-- status: NAME --> needs one <!-- end --> after its text.")

    def replaced(match: re.Match[str]) -> str:
        try:
            return f"<!-- status: {match['name']} -->{tables.text(match['name'])}<!-- end -->"
        except StatusError as error:
            raise StatusError(f"{page.name}: {error}") from None

    return _MARK.sub(replaced, text)


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
