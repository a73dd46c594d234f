# SPDX-License-Identifier: BSD-3-Clause
"""IOS-01, IOS-03, BLD-32: what scripts/build_apple_frameworks.sh puts together has the form that Xcode expects, and the
check of it finds what is wrong."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_TOOL = _ROOT / "sdk/ios/frameworks/xcframework.py"
_TARGETS = {
    "ios-arm64": "arm64-apple-ios13.0",
    "ios-arm64-simulator": "arm64-apple-ios13.0-simulator",
    "macos-arm64": "arm64-apple-macos11.0",
}


def _found(*names: str) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)


_CLANG = _found("clang-19", "clang")
_AR = _found("llvm-ar-19", "llvm-ar")


def _tool(*arguments: str | Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, str(_TOOL), *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def framework(tmp_path: Path) -> Path:
    """A framework of one function for each system."""
    if _CLANG is None or _AR is None:
        pytest.skip("clang and llvm-ar are not installed")
    headers = tmp_path / "include"
    headers.mkdir()
    (headers / "thing.h").write_text("ET_API int et_thing(void);\n")
    source = tmp_path / "thing.c"
    source.write_text(
        "int et_thing(void) { return 1; }\nstatic int hidden(void) { return 2; }\nint (*use)(void) = hidden;\n"
    )
    slices = []
    for name, target in _TARGETS.items():
        object_ = tmp_path / f"a_rather_long_name_of_{name}.o"
        subprocess.run([_CLANG, "-target", target, "-c", str(source), "-o", str(object_)], check=True)
        library = tmp_path / f"{name}.a"
        subprocess.run([_AR, "rcs", "--format=darwin", str(library), str(object_)], check=True)
        slices.append(f"{name}={library}")
    output = tmp_path / "thing.xcframework"
    assert _tool("assemble", output, "--headers", headers, *slices) == (0, "")
    return output


def test_ios01_a_framework_has_a_library_and_headers_for_each_system(framework: Path) -> None:
    assert _tool("check", framework, "--header", "thing.h", "--symbol", "use") == (0, "thing.xcframework: good\n")
    plist = plistlib.loads((framework / "Info.plist").read_bytes())
    entries = {entry["LibraryIdentifier"]: entry for entry in plist["AvailableLibraries"]}
    assert entries.keys() == _TARGETS.keys()
    assert entries["ios-arm64-simulator"]["SupportedPlatformVariant"] == "simulator"
    assert "SupportedPlatformVariant" not in entries["ios-arm64"]
    for name, entry in entries.items():
        assert (framework / name / entry["LibraryPath"]).is_file()
        assert (framework / name / entry["HeadersPath"] / "thing.h").is_file()


def test_ios01_the_check_finds_a_library_of_another_system(framework: Path) -> None:
    shutil.copyfile(framework / "macos-arm64/libthing.a", framework / "ios-arm64/libthing.a")
    status, text = _tool("check", framework)
    assert status == 1
    assert "is for the platform 1, not 2" in text


def test_ios01_the_check_finds_what_is_missing(framework: Path) -> None:
    assert "et_other is defined 0 times" in _tool("check", framework, "--symbol", "et_other")[1]
    assert "hidden is defined 0 times" in _tool("check", framework, "--symbol", "hidden")[1]
    assert "the header other.h is missing" in _tool("check", framework, "--header", "other.h")[1]
    (framework / "macos-arm64/libthing.a").unlink()
    assert "libthing.a is missing" in _tool("check", framework)[1]
    (framework / "Info.plist").write_bytes(b"nothing")
    assert "Info.plist cannot be read" in _tool("check", framework)[1]


def test_ios01_the_check_finds_what_no_framework_of_an_app_defines(framework: Path, tmp_path: Path) -> None:
    source = tmp_path / "caller.c"
    source.write_text("int et_thing(void);\nint et_caller(void) { return et_thing(); }\n")
    slices = []
    for name, target in _TARGETS.items():
        object_, library = tmp_path / f"caller.{name}.o", tmp_path / f"caller.{name}.a"
        subprocess.run([_CLANG, "-target", target, "-c", str(source), "-o", str(object_)], check=True)
        subprocess.run([_AR, "rcs", "--format=darwin", str(library), str(object_)], check=True)
        slices.append(f"{name}={library}")
    output = tmp_path / "caller.xcframework"
    assert _tool("assemble", output, *slices) == (0, "")
    status, text = _tool("check", output, "--symbol", "et_caller")
    assert status == 1
    assert "macos-arm64: _et_thing is defined nowhere" in text
    assert _tool("check", output, "--needs", framework) == (0, "caller.xcframework: good\n")


def test_ios03_the_script_says_what_it_does_and_refuses_what_it_does_not_know() -> None:
    script = str(_ROOT / "scripts/build_apple_frameworks.sh")
    help_ = subprocess.run([script, "--help"], capture_output=True, text=True, check=True).stdout
    assert "--products" in help_ and "--models" in help_ and "cmake-out" in help_
    assert "set -euo" not in help_
    wrong = subprocess.run([script, "--products", "backend_magic"], capture_output=True, text=True)
    assert wrong.returncode == 1
    assert "there is no product backend_magic" in wrong.stderr
    for arguments, words in (
        (["--models"], "--models takes the app's .pte files"),
        (["--models", "nowhere.pte"], "there is no file or folder nowhere.pte"),
        (["--products", "kernels_selected"], "name them with --models"),
    ):
        wrong = subprocess.run([script, *arguments], capture_output=True, text=True)
        assert wrong.returncode == 1
        assert words in wrong.stderr


def test_ios04_linking_a_product_is_enough() -> None:
    """IOS-04: no unsafe flags; each product refers to the symbol of its library that registers what it holds."""
    sources = _ROOT / "sdk/ios"
    manifest = (sources / "Package.swift").read_text()
    assert "unsafeFlags" not in manifest and "all_load" not in manifest
    script = (_ROOT / "scripts/build_apple_frameworks.sh").read_text()
    for product in ("kernels_optimized", "kernels_quantized", "kernels_selected", "backend_xnnpack"):
        assert f'"{product}"' in manifest
        (source,) = (sources / f"Sources/{product}").glob("*.c")
        symbol = source.read_text().rsplit("registers)(void) = ", 1)[1].split(";")[0]
        assert f"{product}) echo {symbol} ;;" in script


def test_the_privacy_manifest_says_that_nothing_is_collected() -> None:
    manifest = plistlib.loads((_ROOT / "sdk/ios/Sources/ExecuTorch/PrivacyInfo.xcprivacy").read_bytes())
    assert manifest["NSPrivacyTracking"] is False
    assert manifest["NSPrivacyCollectedDataTypes"] == []
    # What needs a reason is what its documentation lists; the runtime calls none of it.
    assert manifest["NSPrivacyAccessedAPITypes"] == []


@pytest.mark.parametrize(("flags", "wanted"), [((), "Release"), (("--debug",), "Debug")])
def test_ios01_the_kind_of_build(tmp_path: Path, flags: tuple[str, ...], wanted: str) -> None:
    """What the script asks of CMake on a Mac, which these programs pretend to be."""
    asked = tmp_path / "asked"
    for name, text in {"uname": "echo Darwin", "xcodebuild": "", "cmake": f'echo "$@" >>{asked}; exit 7'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    script = _ROOT / "scripts/build_apple_frameworks.sh"
    command = [script, "--slices", "macos-arm64", "--output", tmp_path / "out", *flags]
    done = subprocess.run(command, env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True)
    assert done.returncode == 7
    first = asked.read_text().splitlines()[0].split()
    assert f"-DCMAKE_BUILD_TYPE={wanted}" in first
    assert ("-DEXECUTORCH_LOG_LEVEL=debug" in first) == (wanted == "Debug")
    assert first[first.index("-B") + 1].endswith("-debug") == (wanted == "Debug")
