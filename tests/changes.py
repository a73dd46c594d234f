# SPDX-License-Identifier: BSD-3-Clause
"""Which tests a change concerns: those whose file, helpers or subject it touches.

The subject of a test file is what the file and its helpers in the tests' folders import from elsewhere: modules of the
package, and the modules that define the names that they import from a package. What those import in turn does not
count, because everything imports the compiler. If a parameter of a test is a path, such as a page, that file is also a
subject of the test; a page imports the modules that its code names, and has changed if its code has.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

SINCE = "SDK_CHANGED_SINCE"
"""The environment variable that names the commit to compare with; `none` means that no test is concerned."""


def git(root: Path, *arguments: str) -> str | None:
    """The output of git; None if it fails or is not installed."""
    try:
        # A difference may contain bytes of any encoding.
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def since(root: Path) -> str | None:
    """The commit with which the working tree is compared: the one that SDK_CHANGED_SINCE names, else the one at which
    the branch left its upstream branch, else the last one before the day of the last commit, or the last one. None
    without git."""
    named = os.environ.get(SINCE)
    if named == "none":
        return None
    if named:
        found = git(root, "rev-parse", "--verify", "--quiet", f"{named}^{{commit}}")
        if found is None:
            raise ValueError(f"{SINCE} is {named}, and git knows no such commit; expected a commit or `none`")
        return found
    if upstream := git(root, "merge-base", "HEAD", "@{upstream}"):
        return upstream
    day = git(root, "log", "-1", "--format=%cd", "--date=format:%Y-%m-%d %z")
    if day is None:
        return None
    date, zone = day.split()
    return git(root, "rev-list", "-1", f"--before={date}T00:00:00{zone}", "HEAD") or git(root, "rev-parse", "HEAD")


@functools.cache
def changed_files(root: Path) -> frozenset[Path]:
    """The files that differ from the commit `since`, also those that are not committed yet. Of pages, the code blocks
    count; of Python files, all but comments and docstrings."""
    commit = since(root)
    if commit is None:
        return frozenset()
    difference = git(root, "diff", commit) or ""
    # Parsing a thousand files takes seconds, and each process of each step asks for the same.
    kept = root / ".cache/changes" / hashlib.sha256(f"{commit} {difference}".encode()).hexdigest()
    if kept.is_file():
        names = set(kept.read_text(encoding="utf-8").splitlines())
    else:
        names = set((git(root, "diff", "--name-only", commit) or "").splitlines())
        names = {name for name in names if Path(name).suffix not in _CODE or _has_other_code(root, commit, name)}
        if kept.parents[1].is_dir():
            _write(kept, "".join(f"{name}\n" for name in sorted(names)))
    untracked = (git(root, "ls-files", "--others", "--exclude-standard") or "").splitlines()
    return frozenset(root / name for name in (*names, *untracked))


def _write(file: Path, text: str) -> None:
    """Writes a file that other processes read or write at the same time."""
    file.parent.mkdir(exist_ok=True)
    made = file.with_suffix(f".{os.getpid()}")
    made.write_text(text, encoding="utf-8")
    made.replace(file)


def _has_other_code(root: Path, commit: str, name: str) -> bool:
    before, file, code = git(root, "show", f"{commit}:{name}"), root / name, _CODE[Path(name).suffix]
    return before is None or not file.is_file() or code(before) != code(file.read_text(encoding="utf-8"))


def _python_code(source: str) -> str:
    """The syntax tree without docstrings."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)]
    return ast.dump(tree)


def _is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, also one of an attribute."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _page_code(page: str) -> list[str]:
    """The lines of the code blocks, with the comments that say what to do with a block."""
    found, inside = [], False
    for line in page.splitlines():
        is_fence = line.lstrip().startswith("```")
        if inside or is_fence or line.startswith("<!--"):
            found.append(line)
        inside ^= is_fence
    return found


_CODE: Mapping[str, Callable[[str], object]] = {".md": _page_code, ".py": _python_code}
"""What counts as a change of a file, by its suffix; any change counts without an entry."""


class ImportGraph:
    """The files that the tests of a file depend on: see this module."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._helpers: dict[Path, frozenset[Path]] = {}

    def of(self, file: Path) -> frozenset[Path]:
        """The files that a test file or a page depends on, itself included."""
        if file not in self._helpers:
            self._helpers[file] = frozenset(self._collect(file))
        return self._helpers[file]

    def _collect(self, file: Path) -> set[Path]:
        folders = [folder for folder in file.parents if folder.is_relative_to(self.root)]
        waiting = [file, *(folder / "conftest.py" for folder in folders if (folder / "conftest.py").is_file())]
        found: set[Path] = set()
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                if one == file or self._is_of_tests(one):
                    waiting += self._imported(one)
        return found

    def _is_of_tests(self, file: Path) -> bool:
        parts = file.relative_to(self.root).parts
        return parts[0] == "tests" or "test" in parts or file.name == "conftest.py"

    def _imported(self, file: Path) -> set[Path]:
        if file.suffix not in _CODE:  # a parameter that is a program, or other data
            return set()
        if file.suffix == ".md":
            names = re.findall(r"\b(?:sdk|examples)(?:\.\w+)+", file.read_text(encoding="utf-8"))
            return {module for name in names if (module := self._longest(name)) is not None}
        found = set()
        for module, name in _imports(file):
            path = self._module(module, file.parent)
            if path is not None:
                found.add(path)
                if name:
                    found.add(self._module(f"{module}.{name}", file.parent) or self._definition(path, name))
        return found

    def _module(self, name: str, beside: Path) -> Path | None:
        """The file of a module, which may be a package."""
        place = Path(*name.split("."))
        for folder in (beside, self.root / "tests", self.root / "python", self.root):
            for path in (folder / place.with_suffix(".py"), folder / place / "__init__.py"):
                if path.is_file():
                    return path
        return None

    def _longest(self, name: str) -> Path | None:
        """The module that a dotted name is, or is in."""
        while name:
            if path := self._module(name, self.root):
                return path
            name = name.rpartition(".")[0]
        return None

    def _definition(self, package: Path, name: str) -> Path:
        """The module from which a package has a name: by an import, or by a table of names and modules."""
        module = _exports(package).get(name)
        return (self._module(module, package.parent) if module else None) or package


def _imports(file: Path) -> Iterator[tuple[str, str]]:
    """Yields each import: the module, and the name that is imported from it, which may be empty."""
    for node in ast.walk(_parsed(file)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((str(node.module), alias.name) for alias in node.names)


@functools.cache
def _exports(package: Path) -> dict[str, str]:
    """Names of a package, and the modules they are from."""
    found = {name: module for module, name in _imports(package) if name}
    for node in ast.walk(_parsed(package)):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                strings = [each.value for each in (key, value) if isinstance(each, ast.Constant)]
                if len(strings) == 2 and all(re.fullmatch(r"[\w.]+", str(each)) for each in strings):
                    found.setdefault(*map(str, strings))
    return found


@functools.cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


FEW = 8
"""With fewer test files than this, a module counts even if most of them import it."""


def concerned(root: Path, tests: list[tuple[Path, list[Path]]]) -> list[bool]:
    """Whether the change concerns each test, which has a file and the paths that are its parameters. A changed module
    that most of the files import does not count, because the tests of any share examine it."""
    changed = changed_files(root)
    if not changed:
        return [False] * len(tests)
    graph = ImportGraph(root)
    files = {file for file, _ in tests}
    importers = {one: sum(one in graph.of(file) for file in files) for one in changed}
    common = {one for one, count in importers.items() if len(files) >= FEW and 2 * count > len(files)}
    counted = changed - common
    return [any(graph.of(part) & counted for part in (file, *parameters)) for file, parameters in tests]
