# SPDX-License-Identifier: BSD-3-Clause
"""The required contents of pages: the glossary's words, the policy on APIs, and the table of what is covered."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
import torch
from coverage_page import ROOT, ids_in, read_areas
from coverage_texts import texts_of_tests
from torch.export import export

from sdk.exir import to_edge
from sdk.exir._warnings import ExperimentalWarning, deprecated, experimental
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

DOCS = ROOT / "docs"
TERMS = [
    "AOT",
    "ATen",
    "ATen dialect",
    "ATen mode",
    "Autograd-safe ATen dialect",
    "Backend",
    "Backend dialect",
    "Backend registry",
    "Backend-specific operator",
    "Buck2",
    "CMake",
    "Codegen",
    "Core ATen dialect",
    "Core ATen operators",
    "Core ATen decomposition table",
    "Custom operator",
    "DataLoader",
    "Delegation",
    "Dim order",
    "DSP",
    "dtype",
    "Dynamic quantization",
    "Dynamic shapes",
    "Eager mode",
    "Edge dialect",
    "Edge operator",
    "ExecuTorch",
    "Method",
    "Program",
    "executor_runner",
    "EXIR",
    "ExportedProgram",
    "flatbuffer",
    "Framework tax",
    "Functional ATen operators",
    "Graph",
    "Graph mode",
    "Higher-order operator",
    "Hybrid quantization",
    "IR",
    "Kernel",
    "Kernel registry",
    "Lowering",
    "Memory planning",
    "Node",
    "Operator",
    "Operator fusion",
    "Out variant",
    "PAL",
    "Partial kernels",
    "Partitioner",
    "ETensor mode",
    "Portable kernels",
    "Program source code",
    "PTQ",
    "QAT",
    "Quantization",
    "Runtime",
    "Developer tools",
    "Selective build",
    "Static quantization",
    "XNNPACK",
]


def test_the_glossary_explains_every_word():
    """CON-01, CON-02: each term has its own paragraph of more than a few words; the page is linked, with a picture."""
    text = (DOCS / "concepts.md").read_text(encoding="utf-8")
    entries = dict(re.findall(r"^\*\*(.+?)\*\*(?: \([^)]*\))?: ((?:.+\n)+)", text, re.MULTILINE))
    entries = {re.sub(r" \(.*\)", "", name): explained for name, explained in entries.items()}
    assert [term for term in TERMS if term not in entries] == []
    assert len(entries) >= 60
    assert [term for term in TERMS if len(entries[term].split()) < 8] == []
    assert "](flow.svg)" in text
    assert "docs/concepts.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_the_glossary_says_of_exporting():
    """EXP-12, CON-07, CON-08: where to read on, what fusion and out variants are for, and fake quantisation."""
    text = (DOCS / "concepts.md").read_text(encoding="utf-8")
    assert "docs.pytorch.org/docs/stable/export.html" in text
    buffers = "the lifetime of each buffer"
    for words in ("ahead of time", buffers, "handing parts to", "*fake* quantisation", "trained model"):
        assert words in text


def test_a_program_is_a_flatbuffer():
    """CON-04: its root table is where the format says, and it has the identifier."""
    buffer = to_edge(export(torch.nn.ReLU(), (torch.ones(2),))).to_executorch().buffer
    assert buffer[4:8] == b"ET12"
    root = int.from_bytes(buffer[:4], "little")
    vtable = root - int.from_bytes(buffer[root : root + 4], "little", signed=True)
    size, table = (int.from_bytes(buffer[vtable + i : vtable + i + 2], "little") for i in (0, 2))
    assert 4 <= size <= table * 4 and root + table <= len(buffer)


def test_results_whose_size_depends_on_data():
    """CON-09"""

    class Positive(torch.nn.Module):
        def forward(self, x):
            found = torch.nonzero(x > 0)
            torch._check(found.shape[0] <= 6)
            return found + 0

    program = to_edge(export(Positive(), (torch.ones(6),))).to_executorch()
    loaded = _load_for_executorch_from_buffer(program.buffer)
    for x in (torch.tensor([1.0, -1, 2, -2, 3, 4]), torch.zeros(6)):
        assert loaded.forward((x,))[0].tolist() == torch.nonzero(x > 0).tolist()


def test_the_policy_on_apis():
    """LIFE-01 to LIFE-03, LIFE-11, LIFE-12: states, promises, the period and the steps."""
    text = " ".join((DOCS / "api_life_cycle.md").read_text(encoding="utf-8").split())
    for words in (
        "| experimental | nothing: it may change or go in any release | marked",
        "| stable | works as documented, and is not broken without being deprecated first | no mark: this",
        "| deprecated | still works as before, for the whole deprecation period | marked",
        "| deleted |",
        "at least two minor releases",
        "deprecated in 1.3 is there in 1.4 and may be gone in 1.5",
        "1. **Discuss**",
        "2. **Mark**",
        "3. **Listen**",
        "4. **Delete**",
        "one commit adds the new API and deprecates the old one",
        "the earliest version that may remove it",
    ):
        assert words in text, words


def test_reference_pages_point_to_the_policy():
    """LIFE-13"""
    for name in ("export.md", "runtime.md"):
        assert "](api_life_cycle.md)" in (DOCS / name).read_text(encoding="utf-8"), name


def test_the_guide_for_contributors():
    """CON2-02, CON2-03: the guide describes how to run the tests, and that pages are Markdown whose blocks are run."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "python -m pytest tests/python" in text and "scripts/test.sh" in text
    assert "**A test at the right level.**" in text and "**Documents run.**" in text
    assert (ROOT / "scripts" / "test.sh").exists()


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_the_new_operator_of_the_guide(tmp_path: Path):
    """The operator that the guide adds does not exist yet. Its kernel compiles, and its entry names the kernel."""
    sys.path.insert(0, str(ROOT))
    from codegen.functions_yaml import load_functions

    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = {
        language: textwrap.dedent(block)
        for language, block in re.findall(r"^   ```(cpp|yaml)\n(.*?)^   ```$", text, re.DOTALL | re.MULTILINE)
    }
    (tmp_path / "functions.yaml").write_text(blocks["yaml"])
    (entry,) = load_functions(tmp_path / "functions.yaml")
    portable = load_functions(ROOT / "kernels" / "portable" / "functions.yaml")
    assert entry.schema.qualified_name not in {known.schema.qualified_name for known in portable}
    call = f"auto* const kernel = &{entry.function};\n"
    (tmp_path / "op.cpp").write_text(blocks["cpp"] + call)
    include = [ROOT, ROOT / "sdk/cpp", ROOT / "sdk/cpp/executorch/runtime/core/portable_type/c10"]
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti", "-fsyntax-only"]
    flags += ["-DC10_USING_CUSTOM_GENERATED_MACROS", *(f"-I{folder}" for folder in include)]
    subprocess.run(["c++", *flags, str(tmp_path / "op.cpp")], check=True)


def test_python_markers():
    """LIFE-02, LIFE-04, LIFE-05, LIFE-10: what is marked warns and still works; the text says what to use."""

    class Reader:
        @deprecated("Use `read()` instead. May be removed in 1.5 or later.")
        def get(self):
            return 3

        @experimental("May change or be removed without notice.")
        def peek(self):
            return 4

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert (Reader().get(), Reader().peek()) == (3, 4)
    assert [w.category for w in seen] == [DeprecationWarning, ExperimentalWarning]
    assert "`read()`" in str(seen[0].message) and "1.5" in str(seen[0].message)
    assert seen[0].filename == __file__, "the warning is about the caller's line"


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_cpp_markers(tmp_path: Path):
    """LIFE-06, LIFE-10: the compiler warns about callers, in their file and line."""
    source = tmp_path / "caller.cpp"
    source.write_text(
        "#include <executorch/runtime/platform/compiler.h>\n"
        "ET_DEPRECATED int old_api();\nET_EXPERIMENTAL int new_api();\n"
        "int main() { return old_api() + new_api(); }\n"
    )
    command = ["c++", "-std=c++17", "-fsyntax-only", "-I", str(ROOT / "sdk" / "cpp"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.findall(r"caller\.cpp:4:.*warning: .*(old_api|new_api).*", done.stderr)
    assert found == ["old_api", "new_api"]
    assert "This API is experimental and may change without notice." in done.stderr


@pytest.mark.skipif(shutil.which("javac") is None, reason="no Java compiler")
def test_java_markers(tmp_path: Path):
    """LIFE-07: the compiler warns about callers, with the marks of the page; RequiresOptIn needs Android's lint."""
    text = (DOCS / "api_life_cycle.md").read_text(encoding="utf-8")
    assert "`@Deprecated` with `@deprecated Use {@link #newMethod()} instead.`" in text and "`@RequiresOptIn`" in text
    (tmp_path / "Reader.java").write_text(
        "public class Reader {\n  /** @deprecated Use {@link #newMethod()} instead. */\n"
        "  @Deprecated public void oldMethod() {}\n  public void newMethod() {}\n}\n"
    )
    (tmp_path / "Caller.java").write_text(
        "class Caller {\n  void call(Reader reader) {\n    reader.newMethod();\n    reader.oldMethod();\n  }\n}\n"
    )
    command = ["javac", "-Xlint:all", "Reader.java", "Caller.java"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.findall(r"^Caller\.java:(\d+): warning: \[deprecation\] (\w+)", done.stderr, re.MULTILINE) == [
        ("4", "oldMethod")
    ]


@pytest.mark.skipif(shutil.which("clang") is None, reason="no compiler of Objective-C")
def test_objective_c_markers(tmp_path: Path):
    """LIFE-08, LIFE-10: the attributes of the page; the warning has their text."""
    text = " ".join((DOCS / "api_life_cycle.md").read_text(encoding="utf-8").split())
    attributes = re.findall(r"`(__attribute__\(\(deprecated\(\".+?\"\)\)\))`", text)
    assert len(attributes) == 2
    (tmp_path / "caller.m").write_text(
        "__attribute__((objc_root_class)) @interface Reader\n"
        f"- (void)oldMethod {attributes[0]};\n- (void)trial {attributes[1]};\n- (void)newMethod;\n@end\n"
        "void call(Reader *reader) {\n  [reader newMethod];\n  [reader oldMethod];\n  [reader trial];\n}\n"
    )
    command = ["clang", "-fsyntax-only", "caller.m"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.findall(r"caller\.m:(\d+):\d+: warning: '(\w+)' is deprecated: (.+?) \[", done.stderr) == [
        ("8", "oldMethod", "Use newMethod instead."),
        ("9", "trial", "This API is experimental and may change without notice."),
    ]


def test_the_table_covers_all_rows():
    areas = read_areas()
    assert len({a.name for a in areas}) == len(areas) == 79
    assert sum(len(a.rows) for a in areas) == 1066


@pytest.mark.parametrize(
    ("area", "message"),
    [
        ("asks: [A page says it., no dot]", r"rows.yaml: ABC-02 asks 'no dot'. Write what the row asks in a sentence"),
        ("rows: 2, asks: [It is so.]", r"rows.yaml: ABC has the unknown field 'rows'. Remove it."),
        ("notes: {}", r"rows.yaml: ABC has no field 'asks'. Add it."),
        ("asks: [It is so.], notes: {'02': {done: x}}", r"rows.yaml: ABC-02 has a note that says 'done'. Write"),
        ("asks: [It is so.], notes: {'01': {maybe: x}}", r"rows.yaml: ABC-01 has a note that says 'maybe'. Write"),
    ],
)
def test_what_is_wrong_in_the_rows_is_named(area: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.yaml"
    file.write_text(f"- {{area: ABC, title: Letters, {area}}}\n")
    with pytest.raises(ValueError, match=message):
        read_areas(file)


SOURCES_OF_TESTS = {
    "test_a.py": (
        '"""ABC-01: of all."""\nTABLE = "ABC-02"\n\ndef helper():\n    """ABC-03"""\n\ndef test_abc04_names():\n'
        '    """ABC-05."""\n    "ABC-06"  # ABC-07\n\n'
        'class TestX:\n    async def test_y(self):\n        """ABC2-08"""\n',
        [["ABC-04", "ABC-05"], ["ABC2-08"]],
    ),
    "a_test.cpp": (
        "// ABC-01: of the file.\n\nint helper();  // ABC-02\n// ABC-03\n// to ABC-04.\n"
        "TEST_F(Suite, ABC_05_Name) {  // ABC-06\n"
        '  call("} // ABC-07", R"x( { ABC-08 )x", \'{\');\n  if (x) { /* ABC-09 */ }\n}\n// ABC-10\nint other;\n\n'
        "TEST(Suite, Second) {}\n",
        [["ABC-05", "ABC-03", "ABC-04", "ABC-06", "ABC-09"], []],
    ),
    "ATest.kt": (
        "/** ABC-01 */\nclass ATest {\n  /** ABC-02 */\n  @Test\n  fun `a name`() {\n    call() // ABC-03\n  }\n"
        "  // ABC-04\n  private fun helper() {}\n}\n",
        [["ABC-02", "ABC-03"]],
    ),
    "ATests.swift": (
        "/// ABC-01\nfinal class ATests: XCTestCase {\n  func helper() {}  // ABC-02\n"
        "  /// ABC-03\n  func testABC04Name() {}\n}\n",
        [["ABC-04", "ABC-03"]],
    ),
    "a.bats": ('# ABC-01\n\n# ABC-02\n@test "ABC-03 runs" {\n  echo ABC-04\n}\n', [["ABC-02", "ABC-03"]]),
}
"""A file, and the ids that each of its tests names."""


@pytest.mark.parametrize("name", SOURCES_OF_TESTS)
def test_an_id_counts_in_the_name_and_the_description_of_a_test_only(name: str, tmp_path: Path) -> None:
    source, expected = SOURCES_OF_TESTS[name]
    (tmp_path / name).write_text(source)
    assert [[f"{a}-{row}" for a, row in ids_in(text)] for text in texts_of_tests(tmp_path / name)] == expected


def test_a_kind_of_file_without_a_rule_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test_a.rs").write_text("")
    with pytest.raises(ValueError, match=r"no rule says which functions are tests; add one for '\.rs'"):
        list(texts_of_tests(tmp_path / "test_a.rs"))


def test_ids_in_texts():
    assert list(ids_in('"""ABC-01, ABC-03 to ABC-05: ..., ABC2-06 – ABC2-07"""')) == [
        ("ABC", "01"),
        *(("ABC", f"0{i}") for i in (3, 4, 5)),
        ("ABC2", "06"),
        ("ABC2", "07"),
    ]
    assert list(ids_in("TEST(Module, ABC_04_LoadsTwice)  // utf-8, ISO-8601, sha-256")) == [("ABC", "04")]
