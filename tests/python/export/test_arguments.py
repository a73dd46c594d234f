# SPDX-License-Identifier: BSD-3-Clause
"""The arguments that the command line accepts, and its errors for others."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdk.backends import registry
from sdk.export.cli.arguments import parse
from sdk.export.cli.specs import DTYPES, DynamicDim, InputSpec, dynamic_dim, input_spec


@pytest.mark.parametrize(
    ("text", "shape", "dtype", "low", "high"),
    [
        ("1x3x224x224:float32", (1, 3, 224, 224), "float32", None, None),
        ("8:int64", (8,), "int64", None, None),
        ("scalar:f64", (), "float64", None, None),
        ("2x3:torch.float16", (2, 3), "float16", None, None),
        ("0x4:bool", (0, 4), "bool", None, None),
        ("1x128:int64=0..30521", (1, 128), "int64", 0, 30521),
        ("4:float32=-1.5..1.5", (4,), "float32", -1.5, 1.5),
        ("4:uint8=7", (4,), "uint8", 7, None),
        ("4:int64=9007199254740993", (4,), "int64", 9007199254740993, None),
        ("4:int8=-128..127", (4,), "int8", -128, 127),
        ("4:bool=true", (4,), "bool", 1, None),
        ("4:float16=-65504..65504", (4,), "float16", -65504, 65504),
    ],
)
def test_input_spec(text: str, shape: tuple[int, ...], dtype: str, low: float | None, high: float | None) -> None:
    assert input_spec(text) == InputSpec(text, shape, dtype, low, high)


@pytest.mark.parametrize(
    ("text", "number"), [("=3", 3), ("=-2", -2), ("=0.5", 0.5), ("=true", True), ("=False", False)]
)
def test_input_spec_number(text: str, number: float) -> None:
    spec = input_spec(text)
    assert spec.number == number and type(spec.number) is type(number)
    assert spec.shape is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1x3", "`1x3` is not SHAPE:DTYPE"),
        ("1x3:flot32", "for example 1x3:float32"),
        ("1,3:float32", "`1,3` in `1,3:float32` is not a shape"),
        ("-1x3:float32", "is not a shape"),
        (":float32", "is not a shape"),
        ("1:int8=0.5", "not a whole number, which int8 needs"),
        ("1:int8=5..2", "ends at 2, below its start 5"),
        ("1:int8=300", "int8 has the numbers from -128 to 127, found 300"),
        ("1:uint8=-1..3", "uint8 has the numbers from 0 to 255, found -1"),
        ("1:bool=0..5", "bool has the numbers from 0 to 1, found 5"),
        ("1:int64=1..99999999999999999999", "found 99999999999999999999"),
        ("1:int64=inf", "not a whole number"),
        ("=99999999999999999999", "int64 has the numbers from"),
        ("1:float16=0..70000", "the largest float16 is 65504, found 70000"),
        ("1:float32=1e39", "the largest float32 is 3.40282e+38"),
        ("1:float32=1e400", "the largest float32 is 3.40282e+38, found 1e400"),
        ("1:float64=0..-1e400", "the largest float64 is 1.79769e+308, found -1e400"),
        (f"1:float64={10**400}", "the largest float64 is 1.79769e+308"),
        ("1:float32=0..inf", "a range has two finite ends"),
        ("=x", "`x` is not a number"),
        ("", "is not SHAPE:DTYPE"),
    ],
)
def test_input_spec_explains(text: str, says: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as error:
        input_spec(text)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("text", "proposed"),
    [
        ("1,8", "1x8:float32"),
        ("(1, 8)", "1x8:float32"),
        ("[2, 3], int64", "2x3:int64"),
        ("1×8:float16", "1x8:float16"),
        ("1X8:float32", "1x8:float32"),
        ("1x8-int8", "1x8:int8"),
        ("float64:1x8", "1x8:float64"),
        ("1x8:1", "1x8:float32"),
        ("1x8:torch.FloatTensor", "1x8:float32"),
        ("encode:1,8", "encode:1x8:float32"),
        ("8", "8:float32"),
        ("", "1x3x224x224:float32"),
        ("2x8:floaty", "2x8:float32"),
        ("2x8:FLOAT", "2x8:float32"),
        ("encode:2x8:it64", "encode:2x8:int64"),
        ("scalar:bol=true", "scalar:bool=true"),
        ("2x8:floaty=0..2", "2x8:float32=0..2"),
        ("2x8:floaty=x", "2x8:float32"),
        ("2,8:int8=3", "2x8:int8=3"),
    ],
)
def test_what_is_proposed_can_be_written(text: str, proposed: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as error:
        input_spec(text)
    assert re.search(f"for example {re.escape(proposed)}[.,]", str(error.value))
    assert "mean" not in str(error.value)
    input_spec(proposed)


@given(st.one_of(st.text(max_size=30), st.text("0123456789x:,()[] =.-float32int8", max_size=20)))
def test_every_proposal_is_valid(text: str) -> None:
    for read in (input_spec, dynamic_dim):
        try:
            read(text)
        except argparse.ArgumentTypeError as error:
            for example in re.findall(r"for example ([^ ,]+?)[.,]?(?: |$)", str(error)):
                if "=3" not in example:
                    read(example)


@pytest.mark.parametrize("text", ["x.0=1-8", "x:0=1..8", "x[0]=1..8", "x.0=1,8", "x.0=1:8"])
def test_what_is_proposed_for_a_dimension(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"for example x\.0=1\.\.8\."):
        dynamic_dim(text)


@given(st.lists(st.integers(0, 10**6), max_size=5), st.sampled_from(sorted(DTYPES)))
def test_any_shape_and_dtype_is_read_back(shape: list[int], dtype: str) -> None:
    spec = input_spec(f"{'x'.join(map(str, shape)) or 'scalar'}:{dtype}")
    assert spec.shape == tuple(shape)
    assert spec.dtype == DTYPES[dtype]


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (input_spec, dynamic_dim):
        try:
            read(text)
        except argparse.ArgumentTypeError as error:
            assert str(error)


def test_dynamic_dim() -> None:
    assert dynamic_dim("x.0=1..8") == DynamicDim("x", 0, 1, 8)
    assert dynamic_dim("state.1.-2=2..512") == DynamicDim("state.1", -2, 2, 512)


@pytest.mark.parametrize("text", ["x=1..8", "x.0", "x.0=1-8", "x.0=8", ".0=1..2", "x.a=1..2"])
def test_dynamic_dim_explains(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"is not NAME\.DIM=MIN\.\.MAX"):
        dynamic_dim(text)


def test_dynamic_dim_is_below_the_largest_size_of_a_program() -> None:
    assert dynamic_dim("x.0=1..2147483646").high == 2147483646
    with pytest.raises(argparse.ArgumentTypeError, match="the largest size of a dimension is 2147483646, found 2147"):
        dynamic_dim("x.0=1..2147483647")


def test_dynamic_dim_needs_a_range() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="not below the largest"):
        dynamic_dim("x.0=8..8")


def test_defaults() -> None:
    options = parse(["net.py:Net"], "export")
    default = registry.default_backend()
    assert default is not None and options.backends == (default.name, "portable") and options.by_default
    assert parse(["net.py:Net", "--quantize", "int8"], "export").backends == options.backends
    for named in (["--backend", "portable"], ["--recipe", "x"]):
        options = parse(["net.py:Net", *named], "export")
        assert options.backends == ("portable",) and not options.by_default
    assert options.verify and not options.strict and options.output is None and options.report is None


def test_unknown_backend_lists_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        parse(["net.py:Net", "--backend", "portabel"], "export")
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert "there is no backend `portabel`" in said and "Did you mean `portable`?" in said
    assert "usage:" not in said


def test_an_unknown_option_names_the_closest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["net.py:Net", "--inptus=x.pt"], "export")
    assert "unrecognized arguments: --inptus=x.pt. Did you mean `--inputs`?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parse(["net.py:Net", "other"], "export")
    assert "unrecognized arguments: other\n" in capsys.readouterr().err


def test_report_needs_a_known_ending(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["net.py:Net", "--report", "report.pdf"], "export")
    assert "neither in .json nor in .html" in capsys.readouterr().err


def test_help_describes_every_option_without_importing_torch() -> None:
    program = (
        "import sys; from sdk.export.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert 'torch' not in sys.modules, 'importing torch makes --help slow'"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for option in ("--input", "--inputs", "--dynamic", "--backend", "--output", "--external-weights", "--no-verify"):
        assert option in done.stdout
    for option in ("--strict", "--report", "--verbose", "--version", "--tolerance"):
        assert option in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_module_and_console_command_are_the_same() -> None:
    def help_of(*command: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", *command, "--help"], capture_output=True, text=True, check=True
        ).stdout

    as_module = help_of("sdk.export")
    assert as_module.replace("python -m sdk.export MODEL", "sdk export MODEL", 1) == help_of("sdk", "export")
