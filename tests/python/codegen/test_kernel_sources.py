# SPDX-License-Identifier: BSD-3-Clause
"""The index of the kernels' source files, compared with the compiled object files."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY))

from codegen import kernel_index, kernel_sources  # noqa: E402
from codegen.functions_yaml import load_functions  # noqa: E402
from codegen.kernel_sources import (  # noqa: E402
    KERNELS,
    ObjectSymbols,
    archives_in,
    compiled_sources,
    functions_of_sources,
    index_text,
    kernel_of,
    needed_sources,
    symbols_of,
)
from codegen.schema import SchemaError  # noqa: E402

LIBRARIES = ("cadence", "cortex_m", "llm", "optimized", "portable", "quantized")
BUILD = Path(os.environ.get("SDK_KERNEL_BUILD", REPOSITORY / "build/package"))


@pytest.fixture(scope="module")
def archives() -> dict[Path, Path]:
    """The libraries that the Python package was built from."""
    if not BUILD.is_dir():
        pytest.skip(f"{BUILD} is not built: run scripts/test.sh python, or set SDK_KERNEL_BUILD")
    return archives_in(BUILD)


@pytest.fixture(scope="module")
def objects(archives: dict[Path, Path]) -> dict[Path, ObjectSymbols]:
    return symbols_of(archives)


def test_there_are_these_libraries(archives: dict[Path, Path]) -> None:
    assert sorted(folder.parent.name for folder in archives) == list(LIBRARIES)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_index_says_what_is_compiled(library: str, archives: dict[Path, Path]) -> None:
    """The checked-in index equals the one that `python -m codegen.kernel_sources build/package` writes."""
    folder = KERNELS / library / "cpu"
    assert (folder / "sources.yaml").read_text() == index_text(folder, compiled_sources(archives)[folder])


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_source_spells_the_names_of_its_kernels(library: str) -> None:
    """A search for a kernel's name finds its definition: macros do not compose the name."""
    for path, source in kernel_sources.sources_of([KERNELS / library / "cpu"]).items():
        missing = source.kernels - set(re.findall(r"\w+", path.read_text()))
        assert not missing, f"{path}: pass the whole name to the macro that defines the kernel"


def test_the_page_of_kernels_is_up_to_date() -> None:
    """docs/generated/kernels.md; every kernel has a test."""
    assert kernel_index.PAGE.read_text() == kernel_index.page(), "run scripts/pages"
    assert "|  |" not in kernel_index.page(), "a kernel has no test"


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_build_of_one_operator_defines_all_that_it_calls(library: str, objects: dict[Path, ObjectSymbols]) -> None:
    """SB-05: for each operator of each library, the index has all files that its kernel needs. This test follows
    symbols as the linker would."""
    definitions = {symbol: path for path, symbols in objects.items() for symbol in symbols.defined}
    kernels = {kernel_of(symbol): path for symbol, path in definitions.items() if kernel_of(symbol)}
    functions = {entry.unqualified for entry in load_functions(KERNELS / library / "functions.yaml")}
    folders = [KERNELS / library / "cpu", KERNELS / "portable/cpu"]
    # The files that every build of the library compiles besides the operators: its helpers, and kernels/simd.
    always = {path for path in objects if not path.name.startswith("op_")}
    files = functions_of_sources(functions, folders)
    failures = []
    for function in sorted(functions):
        chosen = {path for path, found in files.items() if function in found} | always
        linked: set[Path] = set()
        waiting = [kernels[function]]
        while waiting:
            path = waiting.pop()
            if path in linked:
                continue
            linked.add(path)
            if path not in chosen:
                failures.append(f"{function}: {path.relative_to(KERNELS)} is not compiled")
            waiting += (definitions[symbol] for symbol in objects[path].undefined if symbol in definitions)
    assert not failures
    assert len(functions) >= 10


@pytest.mark.parametrize(
    ("function", "library", "files"),
    [
        # Each of these is defined by a macro.
        ("where_out", "portable", {"op_where.cpp"}),
        ("reflection_pad2d_out", "portable", {"op_constant_pad_nd.cpp"}),
        ("bitwise_left_shift_Tensor_out", "portable", {"op_bitwise.cpp"}),
        ("special_hermite_polynomial_h_out", "portable", {"op_polynomial.cpp"}),
        ("quantized_embedding_4bit_out", "quantized", {"op_quantized_embedding.cpp"}),
        ("custom_sdpa_out", "llm", {"op_sdpa.cpp", "op_update_cache.cpp"}),
        ("opt_mm_out", "optimized", {"op_matmul.cpp"}),
        ("no_kernel_of_this_library", "portable", set()),
    ],
)
def test_macros_hide_no_kernel(function: str, library: str, files: set[str]) -> None:
    folders = [KERNELS / library / "cpu", KERNELS / "portable/cpu"]
    assert {path.name for path in functions_of_sources([function], folders)} == files
    names = [path.name for path in needed_sources([function], folders)]
    assert {name for name in names if name.startswith("op_")} == files
    assert "loop_nest.cpp" in names  # a helper


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Writes two files and their index; the operators are those of functions.yaml."""
    folder = tmp_path / "mine/cpu"
    folder.mkdir(parents=True)
    for name in ("op_add.cpp", "op_mm.cpp", "helper.cpp"):
        (folder / name).write_text("")
    (folder / "sources.yaml").write_text(
        "op_add.cpp: {kernels: [add_out]}\nop_mm.cpp: {kernels: [mm_out], needs: []}\n"
    )
    entries = [f"- op: {name}.out\n  kernels: [{{kernel_name: {name}_out}}]\n" for name in ("add", "mm")]
    (tmp_path / "mine/functions.yaml").write_text("".join(entries))
    return folder


def test_a_folder_without_an_index_is_compiled_whole(library: Path) -> None:
    assert [path.name for path in needed_sources(["add_out"], [library])] == ["helper.cpp", "op_add.cpp"]
    (library / "sources.yaml").unlink()
    assert [path.name for path in needed_sources(["add_out"], [library])] == ["helper.cpp", "op_add.cpp", "op_mm.cpp"]
    assert functions_of_sources(["add_out"], [library]) == {}


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("op_add.cpp: {kernels: [add_out, mm_out]}\n", "op_mm.cpp is not in the index"),
        (
            "op_add.cpp: {kernels: [add_out]}\nop_mm.cpp: {kernels: [mm_out]}\nop_sub.cpp: {kernels: []}\n",
            "op_sub.cpp is in the index, and no longer in the folder",
        ),
        ("op_add.cpp: {kernels: [add_out]}\nop_mm.cpp: {kernels: []}\n", "mm_out is in functions.yaml only"),
        ("op_add.cpp: {kernels: [add_out, sub_out]}\nop_mm.cpp: {kernels: [mm_out]}\n", "sub_out is in the index only"),
        ("[op_add.cpp]\n", "expected files and their kernels, found list"),
        ("op_add.cpp: add_out\n", "op_add.cpp: expected lists 'kernels'"),
        ("op_add.cpp: {kernels: [1]}\n", "op_add.cpp: expected lists 'kernels'"),
    ],
)
def test_an_index_that_is_not_up_to_date_says_what_to_do(index: str, words: str, library: Path) -> None:
    (library / "sources.yaml").write_text(index)
    with pytest.raises(SchemaError, match=words) as raised:
        needed_sources(["add_out"], [library])
    assert "python -m codegen.kernel_sources" in str(raised.value) and str(library) in str(raised.value)


def test_a_missing_library_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel_sources.main([str(tmp_path), "--check"]) == 1
    message = capsys.readouterr().err
    assert (
        "cadence_kernels, cortex_m_kernels, llm_kernels, optimized_kernels, portable_kernels, quantized_kernels"
        in message
    )
    assert "EXECUTORCH_BUILD_KERNELS_LLM" in message


def test_check_compares_and_without_it_the_index_is_written(
    archives: dict[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "kernels"
    ignored = shutil.ignore_patterns("*.h", "test", "testing")
    for name in LIBRARIES:
        shutil.copytree(KERNELS / name, copy / name, ignore=ignored)
    monkeypatch.setattr(kernel_sources, "archives_in", lambda build: archives_in(build, copy))
    assert kernel_sources.main([str(BUILD), "--check"]) == 0
    index = copy / "portable/cpu/sources.yaml"
    right = index.read_text()
    index.write_text(right.replace("where_out", ""))
    assert kernel_sources.main([str(BUILD), "--check"]) == 1
    assert f"{index}: not up to date" in capsys.readouterr().out
    assert kernel_sources.main([str(BUILD)]) == 0
    assert index.read_text() == right
