# SPDX-License-Identifier: BSD-3-Clause
"""Measures the contents and the size of a build for some programs: ``python -m sdk.codegen size model.pte``.

It builds the smallest program that loads and runs a model, with the kernels of exactly the operators and dtypes of the
models (-Os, without unused sections and log messages), and reads the linker's map.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .functions_yaml import KernelEntry, load_merged, select
from .gen import missing_operators, template, write_if_changed
from .kernel_keys import dtype_name
from .kernel_sources import sources_of
from .link_map import Piece, pieces
from .selection import Selection, SelectionError, from_programs, from_yaml

FLAGS = "-fno-asynchronous-unwind-tables -fno-unwind-tables"
LIBRARIES = ("portable", "quantized")


@dataclass(frozen=True)
class OperatorSize:
    """A row of the table. ``bytes`` is the size of the source file's code; several operators may share a file."""

    operator: str
    dtypes: tuple[str, ...]
    kernel: str
    source: str
    bytes: int


@dataclass
class SizeReport:
    """The linked code and constants, in bytes."""

    operators: list[OperatorSize]
    parts: dict[str, int] = field(default_factory=dict)

    @property
    def kernels(self) -> int:
        """The kernels, the code that they share, and their registration."""
        return sum(size for name, size in self.parts.items() if name.startswith("kernels"))

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    def as_json(self) -> str:
        """The table as JSON."""
        values = {"operators": [asdict(row) for row in self.operators], "parts": self.parts}
        return json.dumps(values | {"kernels": self.kernels, "total": self.total}, indent=2) + "\n"


def measure(
    programs: Sequence[Path], root: Path | None = None, build_folder: Path | None = None, dtype_selective: bool = True
) -> SizeReport:
    """Builds and measures for programs (files, or folders of them), or for one selected_operators.yaml.

    ``root`` is a source tree of the SDK, or the prefix of an installation; by default the one that contains this
    package. Raises SelectionError, SchemaError, ProgramError and OSError; RuntimeError with the end of the log if the
    build fails.
    """
    root = (root or find_root()).resolve()
    installed = not (root / "CMakeLists.txt").exists()
    data = root / "share" / "executorch" if installed else root
    kept = len(programs) == 1 and programs[0].suffix in (".yaml", ".yml")
    selection = from_yaml(programs[0]) if kept else from_programs(programs)
    libraries = [name for name in LIBRARIES if (data / "kernels" / name / "functions.yaml").exists()]
    if not libraries:
        raise SelectionError(f"{root} has no kernels; give --root the source tree of the SDK, or where it is installed")
    entries = load_merged([data / "kernels" / name / "functions.yaml" for name in libraries])
    missing = missing_operators(entries, selection)
    if missing:
        raise SelectionError(f"no kernel for {', '.join(missing)} in the libraries {', '.join(libraries)}")
    entries = select(entries, selection.operators)
    folder = build_folder or default_build_folder()
    values = {
        "root": root.as_posix(),
        "installed": installed,
        "kept": kept,
        "programs": [path.resolve().as_posix() for path in programs],
        "dtype_selective": dtype_selective,
        "libraries": libraries,
        "prim_operators": selection.needs_prim_operators,
    }
    try:
        project = template("size_project.cmake").render(values)
    except ValueError as error:
        raise SelectionError(str(error)) from error
    write_if_changed(folder / "CMakeLists.txt", project)
    write_if_changed(folder / "main.cpp", template("size_main.cpp").render())
    binary = folder / "build"
    _run(["cmake", "-S", str(folder), "-B", str(binary), "-DCMAKE_BUILD_TYPE=MinSizeRel", f"-DCMAKE_CXX_FLAGS={FLAGS}",
          f"-DPython3_EXECUTABLE={sys.executable}"])  # fmt: skip
    _run(["cmake", "--build", str(binary), "--target", "app", "--parallel", str(os.cpu_count() or 1)])
    linked = list(pieces((binary / "app.map").read_text(errors="replace")))
    return report(entries, selection, linked, [data / "kernels" / name / "cpu" for name in libraries])


def report(
    entries: Sequence[KernelEntry], selection: Selection, linked: Sequence[Piece], folders: Sequence[Path]
) -> SizeReport:
    """Attributes the linked code to operators and parts."""
    by_object: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    for piece in linked:
        if piece.library.endswith("_kernels.a"):
            by_object[piece.object.removesuffix(".o")] += piece.size
        else:
            parts[_part(piece)] += piece.size
    rows = []
    operator_sources = set()
    sources = sources_of(folders)
    for entry in entries:
        name = entry.schema.qualified_name
        files = [path.name for path, source in sources.items() if entry.unqualified in source.kernels]
        source = next((file for file in files if by_object[file]), "")
        operator_sources.add(source)
        dtypes = selection.dtypes(name)
        names = ("all",) if dtypes is None else tuple(dtype_name(dtype) for dtype in sorted(dtypes))
        rows.append(OperatorSize(name, names, entry.unqualified, source, by_object[source]))
    parts["kernels of the operators"] = sum(by_object[source] for source in operator_sources)
    parts["kernels: shared code"] = sum(by_object.values()) - parts["kernels of the operators"]
    return SizeReport(sorted(rows, key=lambda row: (-row.bytes, row.source, row.operator)), dict(parts.most_common()))


def _part(piece: Piece) -> str:
    if "model_ops" in piece.library:
        return "kernels: registration"
    if piece.library in ("libexecutorch.a", "libexecutorch_core.a", "libprogram_schema.a"):
        return "runtime"
    if piece.library == "libprim_ops.a":
        return "operators of the runtime"
    return piece.library or "the program and the C library's start"


def as_table(sizes: SizeReport) -> str:
    """The report as text."""
    columns = [("operator", "dtypes", "kernel", "bytes", "source file")]
    shown: set[str] = set()
    for row in sizes.operators:
        size = f"{row.bytes:,}" if row.source not in shown else "the same"
        shown.add(row.source)
        columns.append((row.operator, ", ".join(row.dtypes), row.kernel, size, row.source))
    widths = [max(map(len, column)) for column in zip(*columns, strict=True)]
    lines = [
        f"{name:{widths[0]}}  {dtypes:{widths[1]}}  {kernel:{widths[2]}}  {size:>{widths[3]}}  {source}"
        for name, dtypes, kernel, size, source in columns
    ]
    parts = [*sizes.parts.items(), ("kernels together", sizes.kernels), ("all", sizes.total)]
    width = max(len(name) for name, _ in parts)
    return "\n".join([*lines, "", *(f"{name:{width}} {size:9,}" for name, size in parts if size)])


def find_root() -> Path:
    """The source tree, or the prefix of the installation, that contains this package."""
    folder = Path(__file__).resolve().parent.parent
    if (folder / "kernels").is_dir():
        return folder.parent.parent if folder.name == "executorch" and folder.parent.name == "share" else folder
    raise SelectionError(
        "this package has no kernels to build; give --root the source tree of the SDK, or where it is installed"
    )


def default_build_folder() -> Path:
    """A folder that the next call reuses, so that little is compiled twice."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "pte-sdk" / "codegen-size"


def _run(command: list[str]) -> None:
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise RuntimeError(f"`{' '.join(command)}` failed:\n{done.stdout[-3000:]}")
