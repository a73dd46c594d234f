# SPDX-License-Identifier: BSD-3-Clause
"""docs/generated/kernels.md: where each operator's kernels are defined and tested. ``scripts/pages`` writes it.

The kernels come from each library's functions.yaml and the index of its sources (`kernel_sources`). A test belongs to
a kernel if it names the C++ function, or, in the recorded cases of PyTorch eager, the operator; or if it calls every
operator of the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .functions_yaml import load_functions
from .kernel_sources import KERNELS, sources_of

PAGE = KERNELS.parent / "docs" / "generated" / "kernels.md"

_HEAD = """\
# Kernels

Each operator with the kernels that the libraries below `kernels/` have for it: the C++ function in
`torch::executor::native`, the file that defines it, and its tests. If several libraries are linked, the optimized
kernel is called, and the portable one for inputs that it does not take. [Operators](operators.md) lists the dtypes of
the portable library.

`git grep FUNCTION -- kernels` finds definition, registration and tests. `scripts/pages` writes this page.

| operator | library | function | source | tests |
|---|---|---|---|---|
"""
_TESTS_OF_ALL = {  # these call every operator of the library and namespace
    ("portable", "aten"): "tests/python/operators/test_op_info.py",
    ("portable", "et_copy"): "sdk/cpp/executorch/extension/module/module_device_test.cpp",
    ("quantized", "quantized_decomposed"): "tests/python/operators/test_quantized_operators.py",
    ("cadence", "cadence"): "tests/python/operators/test_cadence_kernels.py",
}
_NAME = re.compile(r"[\w:.]+")


def page() -> str:
    """The text of the page. Raises SchemaError if an index of sources is not up to date."""
    return _HEAD + "".join(sorted(_rows()))


def _rows() -> Iterator[str]:
    for functions in sorted(KERNELS.glob("*/functions.yaml")):
        library = functions.parent
        named = _names_in_tests(library / "test")
        files = {kernel: path for path, source in sources_of([library / "cpu"]).items() for kernel in source.kernels}
        for entry in load_functions(functions):
            name, kernel = entry.schema.qualified_name, entry.unqualified
            tests = [path for path, words in named.items() if not words.isdisjoint({name, kernel})]
            if of_all := _TESTS_OF_ALL.get((library.name, entry.schema.namespace)):
                tests.append(KERNELS.parent / of_all)
            links = (_link(files[kernel]), ", ".join(map(_link, tests)))
            yield f"| `{name}` | {library.name} | `{kernel}` | {' | '.join(links)} |\n"


def _names_in_tests(folder: Path) -> dict[Path, frozenset[str]]:
    """The names in each test program and each file of recorded cases."""
    files = sorted(path for path in folder.iterdir() if path.name.endswith(("_test.cpp", "_kernels.cpp", "_cases.txt")))
    return {path: frozenset(_NAME.findall(path.read_text(encoding="utf-8"))) for path in files}


def _link(path: Path) -> str:
    return f"[{path.name}](../../{path.relative_to(KERNELS.parent).as_posix()})"
