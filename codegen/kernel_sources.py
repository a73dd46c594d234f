# SPDX-License-Identifier: BSD-3-Clause
"""Which source files define which kernels: the ``sources.yaml`` beside the sources of a kernel library.

Macros define many kernels, so the text of a file does not say which ones it has. The index is therefore written from
the symbols of compiled libraries, ``python -m codegen.kernel_sources BUILD_FOLDER``, and ``--check`` compares both.
Selective builds read it when they are configured, without a compiler::

    op_sdpa.cpp:
      kernels: [sdpa_out]
      needs: [op_update_cache.cpp]    # files, relative to the index, whose functions it calls

Files named ``op_*.cpp`` define kernels. All other files are helpers that any of them may call.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .functions_yaml import load_functions, read_yaml
from .schema import SchemaError

INDEX = "sources.yaml"
UPDATE = "build all kernel libraries and run `python -m codegen.kernel_sources BUILD_FOLDER`"
KERNELS = Path(__file__).resolve().parent.parent / "kernels"
_HEADER = """\
# Which source file defines which kernels, and calls functions of which other op_*.cpp, for selective builds. Written
# from the compiled libraries by `python -m codegen.kernel_sources BUILD_FOLDER`; a test compares it with them.
"""
_SYMBOL = re.compile(
    r"^[^\n]*:(?P<object>[^:\n]+\.(?:o|obj)):\s*[0-9a-fA-F]*\s+(?P<kind>[A-Za-z]) (?P<name>\S+)$", re.M
)
_KERNEL = re.compile(r"^_?_ZN5torch8executor6native(?P<length>\d+)(?P<rest>\w+)")


@dataclass
class Source:
    """The kernels of an ``op_*.cpp``, and the other files of this kind that it calls."""

    kernels: set[str] = field(default_factory=set)
    needs: set[Path] = field(default_factory=set)


def sources_of(folders: Iterable[Path]) -> dict[Path, Source]:
    """The ``op_*.cpp`` files of the folders that have an index. Raises SchemaError for one that is not up to date."""
    sources: dict[Path, Source] = {}
    for folder in map(_normal, folders):
        if (folder / INDEX).exists():
            sources |= _read_index(folder)
    return sources


def functions_of_sources(functions: Iterable[str], folders: Sequence[Path]) -> dict[Path, set[str]]:
    """For each file that the functions need, the functions that it defines or that call it.

    Functions of other libraries and folders without an index add no files. Raises SchemaError.
    """
    sources = sources_of(folders)
    found: dict[Path, set[str]] = {}
    for function in functions:
        reached: set[Path] = set()
        waiting = [path for path, source in sources.items() if function in source.kernels]
        while waiting:
            path = waiting.pop()
            if path not in reached:
                reached.add(path)
                waiting += sources[path].needs if path in sources else ()
        for path in reached:
            found.setdefault(path, set()).add(function)
    return found


def needed_sources(functions: Iterable[str], folders: Sequence[Path]) -> list[Path]:
    """The C++ files that a build of the functions compiles: those that define them, files that these call, and helpers.

    All files of a folder without an index are needed. Raises SchemaError.
    """
    found = set(functions_of_sources(functions, folders))
    for folder in map(_normal, folders):
        is_indexed = (folder / INDEX).exists()
        found.update(path for path in folder.rglob("*.cpp") if not (is_indexed and path.name.startswith("op_")))
    return sorted(found)


def archives_in(build_folder: Path, kernels: Path = KERNELS) -> dict[Path, Path]:
    """The folders of sources below ``kernels``, and the compiled library of each. Raises SchemaError."""
    folders = sorted(path.parent / "cpu" for path in kernels.glob("*/functions.yaml"))
    if not folders:
        raise SchemaError(f"{kernels}: expected the kernel libraries, found none; run this in the source tree")
    names = {folder: f"{folder.parent.name}_kernels" for folder in folders}
    found = {
        folder: next((path for form in (f"lib{name}.a", f"{name}.lib") for path in build_folder.rglob(form)), None)
        for folder, name in names.items()
    }
    if missing := [names[folder] for folder, path in found.items() if path is None]:
        raise SchemaError(
            f"{build_folder}: expected the static libraries of all kernels, found no {', '.join(missing)}; configure "
            "it with EXECUTORCH_BUILD_CADENCE, _CORTEX_M, EXECUTORCH_BUILD_KERNELS_LLM, _OPTIMIZED and _QUANTIZED, and "
            "build them"
        )
    return {folder: path for folder, path in found.items() if path is not None}


@dataclass
class ObjectSymbols:
    """The global symbols of an object file, without weak definitions."""

    defined: set[str] = field(default_factory=set)
    undefined: set[str] = field(default_factory=set)


def symbols_of(archives: Mapping[Path, Path]) -> dict[Path, ObjectSymbols]:
    """The symbols of each source file below the folders of sources. Raises SchemaError, OSError."""
    objects: dict[Path, ObjectSymbols] = {}
    for folder, archive in archives.items():
        files = {path.name: path for path in folder.rglob("*.cpp")}
        done = subprocess.run([os.environ.get("NM", "nm"), "-A", "-g", str(archive)], text=True, capture_output=True)
        if done.returncode != 0:
            raise SchemaError(f"{archive}: its symbols cannot be read: {done.stderr.strip()}")
        for match in _SYMBOL.finditer(done.stdout):
            source = re.sub(r"\.(o|obj)$", "", match["object"])
            # A library may also have sources of other folders.
            symbols = objects.setdefault(files.get(source, archive / source), ObjectSymbols())
            if match["kind"] in "Uw":
                symbols.undefined.add(match["name"])
            # Every object that uses a template or an inline function defines it weakly.
            elif match["kind"] not in "WVu":
                symbols.defined.add(match["name"])
        if not any(path in objects for path in files.values()):
            raise SchemaError(f"{archive}: it has no object of a file in {folder}; build without CMAKE_UNITY_BUILD")
    return objects


def kernel_of(symbol: str) -> str:
    """``add_out`` for the symbol of ``torch::executor::native::add_out(...)``; an empty text for other symbols."""
    match = _KERNEL.match(symbol)
    if not match:
        return ""
    name, follows = match["rest"][: int(match["length"])], match["rest"][int(match["length"]) :]
    return name if follows.startswith("E") else ""


def compiled_sources(archives: Mapping[Path, Path]) -> dict[Path, dict[Path, Source]]:
    """For each folder of sources, its ``op_*.cpp`` files as the compiled libraries have them. Raises SchemaError."""
    objects = symbols_of(archives)
    definitions = {symbol: path for path, symbols in objects.items() for symbol in symbols.defined}
    indices: dict[Path, dict[Path, Source]] = {}
    for folder in archives:
        registered = {entry.unqualified for entry in load_functions(folder.parent / "functions.yaml")}
        sources = {path: Source() for path in sorted(folder.rglob("op_*.cpp"))}
        for path, source in sources.items():
            symbols = objects.get(path, ObjectSymbols())
            source.kernels = {kernel_of(symbol) for symbol in symbols.defined} & registered
            called = {definitions[symbol] for symbol in symbols.undefined if symbol in definitions}
            source.needs = {other for other in called - {path} if other.name.startswith("op_")}
        indices[folder] = sources
    return indices


def index_text(folder: Path, sources: Mapping[Path, Source]) -> str:
    """The text of a folder's index."""
    lines = [_HEADER]
    for path, source in sorted(sources.items()):
        lines.append(f"{path.relative_to(folder).as_posix()}:\n")
        lines += _yaml_list("kernels", sorted(source.kernels))
        lines += _yaml_list("needs", sorted(Path(os.path.relpath(other, folder)).as_posix() for other in source.needs))
    return "".join(lines)


def _yaml_list(name: str, items: Sequence[str], width: int = 118) -> list[str]:
    """A list that is wrapped so that changes of it are easy to read."""
    if not items:
        return [f"  {name}: []\n"] if name == "kernels" else []
    lines = [f"  {name}: [{items[0]}"]
    for item in items[1:]:
        if len(lines[-1]) + len(item) + 3 > width:
            lines[-1] += ","
            lines.append(f"    {item}")
        else:
            lines[-1] += f", {item}"
    return [f"{line}\n" for line in (*lines[:-1], f"{lines[-1]}]")]


def _read_index(folder: Path) -> dict[Path, Source]:
    path = folder / INDEX
    document = read_yaml(path)
    if not isinstance(document, dict):
        raise SchemaError(f"{path}: expected files and their kernels, found {type(document).__name__}; {UPDATE}")
    sources = {}
    for name, item in document.items():
        lists = [item.get(key, []) for key in ("kernels", "needs")] if isinstance(item, dict) else []
        if not lists or not all(
            isinstance(names, list) and all(isinstance(text, str) for text in names) for names in lists
        ):
            raise SchemaError(
                f"{path}: {name}: expected lists 'kernels' and 'needs' of names, found {item!r}; {UPDATE}"
            )
        sources[_normal(folder / name)] = Source(set(lists[0]), {_normal(folder / need) for need in lists[1]})
    found = set(folder.rglob("op_*.cpp"))
    if changed := sorted(found ^ sources.keys()):
        what = "is not in the index" if changed[0] in found else "is in the index, and no longer in the folder"
        raise SchemaError(f"{path}: {os.path.relpath(changed[0], folder)} {what}; {UPDATE}")
    functions = folder.parent / "functions.yaml"
    if functions.exists():
        registered = {entry.unqualified for entry in load_functions(functions)}
        indexed = set().union(*(source.kernels for source in sources.values()))
        if changed_names := sorted(registered ^ indexed):
            where = functions.name if changed_names[0] in registered else "the index"
            raise SchemaError(f"{path}: {changed_names[0]} is in {where} only; {UPDATE}")
    return sources


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m codegen.kernel_sources",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("build_folder", type=Path, help="with the static libraries of all kernels")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if an index is not up to date")
    options = parser.parse_args(arguments)
    from .gen import write_if_changed

    changed = False
    try:
        for folder, sources in compiled_sources(archives_in(options.build_folder)).items():
            path, text = folder / INDEX, index_text(folder, sources)
            if options.check:
                is_other = not path.exists() or path.read_text(encoding="utf-8") != text
            else:
                is_other = write_if_changed(path, text)
            if is_other:
                print(f"{path}: {'not up to date' if options.check else 'written'}")
            changed |= is_other
    except (SchemaError, OSError) as error:
        print(f"kernel_sources: {error}", file=sys.stderr)
        return 1
    if options.check and changed:
        print(f"kernel_sources: {UPDATE}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
