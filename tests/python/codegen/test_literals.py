# SPDX-License-Identifier: BSD-3-Clause
"""Names from users' files in generated C, C++ and CMake: each is refused, or the generated literal has its text."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY))

from codegen import embed_program, gen  # noqa: E402
from codegen.flatbuffer import ProgramError  # noqa: E402
from codegen.functions_yaml import entries_of, load_functions  # noqa: E402
from codegen.kernel_keys import SCALAR_TYPE_NAMES, dtypes_of_key  # noqa: E402
from codegen.literals import CPP_KEYWORDS, cmake_argument, comment, cpp_literal, is_identifier  # noqa: E402
from codegen.program_operators import program_uses  # noqa: E402
from codegen.schema import SchemaError, check_operator_name, parse_schema  # noqa: E402
from codegen.selection import Selection, from_list, from_programs, from_yaml  # noqa: E402
from codegen.size import measure  # noqa: E402
from codegen.tools.gen_selected_op_variants import render_header  # noqa: E402

ADD = REPOSITORY / "tests/data/corpus/add/model.pte"
HOSTILE = [
    'aten::add.out") return true; system("touch /tmp/x',
    "aten::add.out\n#include </etc/passwd>",
    "aten::add.out\n",
    "aten::add.out\\",
    "aten::add out",
    "aten::add.out??/",
    "aten::add.out*/",
    "aten::add.o\u00fct",
    "aten::\u0661",
    "add.out",
    "aten::",
    "::add.out",
    "aten::1add.out",
    "a::b::c.out",
    "aten::add.out.out",
    "aten::add.out;aten::mm.out",
    "${EVIL}::x.y",
    "",
    "\0",
]


def compiled(text: str, tmp_path: Path, suffix: str = ".cpp", *options: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / f"generated{suffix}"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    compiler = ["c++", "-std=c++17"] if suffix == ".cpp" else ["cc", "-std=c99"]  # with trigraphs
    return subprocess.run([*compiler, "-Wall", "-Werror", *options, str(path)], capture_output=True, text=True)


@pytest.mark.parametrize("name", HOSTILE)
def test_only_names_of_operators_are_selected(name: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"is not the name of an operator; expected namespace::name\.overload"):
        Selection().add(name, (), "")
    kept = tmp_path / "selected_operators.yaml"
    kept.write_text(
        f"operators: {{{name!r}: }}\n"
        if "\\" not in repr(name)
        else f'operators: {{"{name.encode("unicode_escape").decode()}": }}\n'
    )
    with pytest.raises(SchemaError):
        from_yaml(kept)


def test_names_of_operators_are_selected() -> None:
    names = ["aten::add.out", "aten::_local_scalar_dense", "executorch_prim::et_view.default", "my_ops::f2.out_3"]
    assert from_list(names).operators == sorted(names)
    assert [check_operator_name(name) for name in names] == names
    with pytest.raises(SchemaError, match="aten::x y"):
        from_list("aten::add.out,x y")
    with pytest.raises(SchemaError, match="'7' is not"):
        check_operator_name(7)


def test_a_program_with_another_text_for_a_name_is_refused(tmp_path: Path) -> None:
    """Replaces a text by one of the same length, so that nothing else in the file changes."""
    data = ADD.read_bytes()
    assert data.count(b"aten::add") == 1
    for evil in (b'aten::a"d', b"aten::\nad", b"aten;:add", b"aten::a\\d"):
        path = tmp_path / "model.pte"
        path.write_bytes(data.replace(b"aten::add", evil))
        with pytest.raises(ProgramError, match=r"model\.pte: the program is damaged: .*is not the name of an operator"):
            from_programs([path])


def test_a_program_with_another_dtype_is_refused() -> None:
    """A tensor's dtype is one byte of the file. Every value of every byte gives an error or a dtype of the header."""
    data = bytearray(ADD.read_bytes())
    refused = 0
    for place in range(8, len(data)):
        before = data[place]
        data[place] = 200  # -56
        try:
            uses = program_uses(bytes(data))
            assert all(0 <= dtype < 64 for use in uses.values() for dtype in use.dtypes)
        except ProgramError as error:
            refused += "has the dtype -56" in str(error)
        data[place] = before
    assert refused


@pytest.mark.parametrize("dtype", ["-1", "64", "127", "999999999999", "6_0", "\u0666", " 6", "6.0", ""])
def test_dtypes_of_keys_fit_the_header(dtype: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a kernel key"):
        dtypes_of_key(f"v1/{dtype};0,1")
    kept = tmp_path / "selected_operators.yaml"
    kept.write_text(f'operators: {{aten::add.out: }}\net_kernel_metadata: {{aten::add.out: ["v1/{dtype};0,1"]}}\n')
    with pytest.raises(SchemaError, match=r"selected_operators\.yaml"):
        from_yaml(kept)


def test_the_largest_dtype_compiles(tmp_path: Path) -> None:
    selection = Selection()
    selection.add("aten::add.out", {"v1/63;0|6;0"}, "")
    header = render_header(selection)
    assert "0x8000000000000040u" in header and "dtype 63" in header
    check = header + '\nstatic_assert(should_include_kernel_dtype("add.out", ::executorch::aten::ScalarType::Float));'
    include = f"-I{REPOSITORY / 'sdk/cpp'}"
    done = compiled(check.replace("#pragma once", ""), tmp_path, ".cpp", "-fsyntax-only", include)
    assert done.returncode == 0, done.stderr
    assert len(SCALAR_TYPE_NAMES) <= 64


@given(st.text())
@example('"); system("x')
@example("??/")
@example("\\")
@example("a\n0\x001")
@example("\udc80\udcff")
def test_a_literal_is_the_text(text: str) -> None:
    literal = cpp_literal(text)
    assert literal.isascii() and literal.isprintable()
    assert re.fullmatch(r'"([^"\\?]|\\[0-7]{3})*"', literal)
    octals = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), literal[1:-1])
    encoded = octals.encode("latin-1")
    if not any(0xD800 <= ord(char) <= 0xDFFF for char in text):
        assert encoded.decode("utf-8") == text


def test_the_compiler_reads_the_same_text(tmp_path: Path) -> None:
    texts = ["", 'a"b', "a\\b", "??/", "a\nb\r", "\x007", "ünï 日本", "%s%n", "*/ //", "$(x) `y`", "\x7f\x80"]
    lines = [f"  check({cpp_literal(text)}, {len(text.encode())});" for text in texts]
    body = (
        "#include <stdio.h>\n"
        "void check(const char* text, int size) {\n"
        '  for (int i = 0; i < size; ++i) printf("%02x", (unsigned char)text[i]);\n'
        '  puts("");\n'
        "}\n"
    )
    for suffix in (".cpp", ".c"):
        text = f"{body}int main(void) {{\n" + "\n".join(lines) + "\n  return 0;\n}\n"
        done = compiled(text, tmp_path, suffix, "-o", str(tmp_path / "check"))
        assert done.returncode == 0, done.stderr
        found = subprocess.run(
            [str(tmp_path / "check")], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert found == [text.encode().hex() for text in texts]


@given(st.text())
@example("a\nint x;")
@example("a\\")
@example("??/")
@example("*/")
def test_a_comment_stays_one(text: str) -> None:
    shown = comment(text)
    assert shown.isascii() and shown.isprintable() and len(shown) <= 83
    assert not set(shown) & set("\\/*@<>")


@pytest.mark.parametrize(
    "name", ["a\nint evil;\n.pte", "a\\", "a??/", "a*/ int evil;", "a\rint evil;", "\udcff.pte", "{0}.pte"]
)
def test_an_embedded_program_may_have_any_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / name.replace("/", "\u2215")
    path.write_bytes(b"abc")
    output, header = tmp_path / "model.c", tmp_path / "model.h"
    assert embed_program.main([str(path), "--output", str(output), "--header", str(header)]) == 0
    plain = tmp_path / "in/plain.pte"
    plain.write_bytes(b"abc")
    of_plain = embed_program.c_source(b"abc", "model_pte", plain.name)
    assert output.read_text().splitlines()[2:] == of_plain.splitlines()[2:]
    done = compiled(
        f"{header.read_text().replace('#pragma once', '')}\n{output.read_text()}", tmp_path, ".c", "-fsyntax-only"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("symbol", ["a b", "1a", "\u00fc", "int", "a;b", "a\n"])
def test_a_symbol_is_an_identifier(symbol: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        embed_program.main([str(ADD), "--symbol", symbol, "--output", "x.c"])
    assert "is not a C identifier" in capsys.readouterr().err


def test_schemas_with_quotes_reach_pytorch(tmp_path: Path) -> None:
    """The default of a string, and spaces of every kind."""
    functions = tmp_path / "custom_ops.yaml"
    functions.write_text(
        '- func: \'my::f.out(Tensor x, str mode="a\\"b",\n    *, Tensor(a!) out) -> Tensor(a!)\'\n'
        "  kernels: [{kernel_name: f}]\n"
    )
    entries = load_functions(functions)
    text = gen.render_for_pytorch(entries, "p/")["RegisterToPyTorch.cpp"]
    assert f"m.def({cpp_literal(entries[0].schema.unqualified_text)});" in text
    assert "\\042a\\134\\042b\\042" in text


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("my::f.out(Tensor class, *, Tensor(a!) out) -> Tensor(a!)", "is named 'class'"),
        ("my::f.out(Tensor context, *, Tensor(a!) out) -> Tensor(a!)", "is named 'context'"),
        ("my::f.out(Tensor \u00fc, *, Tensor(a!) out) -> Tensor(a!)", "is named '\u00fc'"),
        ("my::f.out(Tensor x){}, *, Tensor(a!) out) -> Tensor(a!)", "argument"),
        ("new::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "needs the C\\+\\+ name 'new'"),
        ("my::delete(Tensor(a!) x) -> Tensor(a!)", "needs the C\\+\\+ name 'delete'"),
        ("std::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "needs the C\\+\\+ name 'std'"),
        ("my; int x::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "is not an operator schema"),
        ("my::f.out\n.x(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "is not an operator schema"),
    ],
)
def test_schemas_that_cpp_cannot_declare_are_refused(schema: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        parse_schema(schema)


@pytest.mark.parametrize("kernel", ["f; int x", "f\n", "a::int::f", "\u00fc", "::f", "a::", "f()", ""])
def test_kernels_that_cpp_cannot_call_are_refused(kernel: str) -> None:
    with pytest.raises(SchemaError, match="'kernel_name' that is a C\\+\\+ name"):
        entries_of([{"op": "add.out", "kernels": [{"kernel_name": kernel}]}], Path("functions.yaml"))


@pytest.mark.parametrize("prefix", ['x"\n', "a>b/", "a\\", "$x"])
def test_the_folder_of_headers_is_one(prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--functions-yaml", "f.yaml", "--library", "l", "--output-dir", "o", "--include-prefix", prefix]
    with pytest.raises(SystemExit):
        gen.main(arguments)
    assert "--include-prefix" in capsys.readouterr().err


def test_identifiers() -> None:
    assert all(map(is_identifier, ("a", "_1", "add_out")))
    assert not any(map(is_identifier, ("", "1a", "a-b", "\u00fc", "a\n", *CPP_KEYWORDS)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        '"',
        "\\",
        "\\\\;"[:2],
        "$ENV{HOME}",
        "${x}",
        "@x@",
        "]]",
        "]=]",
        "a]",
        "a]=",
        "#[[",
        "$<1:x>",
        "(",
        "\u00fc",
    ],
)
def test_cmake_reads_the_same_text(text: str, tmp_path: Path) -> None:
    script = tmp_path / "check.cmake"
    script.write_text(f"set(x EVALUATED)\nfile(WRITE result {cmake_argument(text)})\n", encoding="utf-8")
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}:/usr/bin:/usr/local/bin")
    assert cmake
    subprocess.run([cmake, "-P", str(script)], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "result").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", ["a;b", "a\nb", "a\rb", "a\0b"])
def test_what_a_list_of_cmake_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="use a path without it"):
        cmake_argument(text)


def test_the_size_of_a_program_whose_path_cmake_cannot_hold(tmp_path: Path) -> None:
    path = tmp_path / "a;b.pte"
    path.write_bytes(ADD.read_bytes())
    with pytest.raises(gen.SelectionError, match="use a path without it"):
        measure([path], build_folder=tmp_path / "build")
    assert not (tmp_path / "build/CMakeLists.txt").exists()


def test_templates_write_no_text_as_it_is() -> None:
    """Between quotation marks of the generated file, a template has identifiers; all else goes through a filter."""
    checked = {"library", "include_prefix"}
    for path in (REPOSITORY / "codegen/templates").glob("*.jinja"):
        for line in path.read_text().splitlines():
            line = re.sub(r"\{%.*?%\}|\{\{[^}]*\|[^}]*\}\}|\{\{ \"[^}]*\}\}", "", line)
            for quoted in re.findall(r'"([^"]*)"', line):
                for name in re.findall(r"\{\{ (.*?) \}\}", quoted):
                    assert name in checked, f"{path.name}: {line}"
