# SPDX-License-Identifier: BSD-3-Clause
"""IOS-01, IOS-03, BLD-32: the output of scripts/build_apple_frameworks.sh has the form that Xcode expects, and the
check of it finds errors."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_LIST = [_ROOT / "scripts/backend_manifests.py", "--platform", "ios", "--list", "product", "option", "symbol"]
_BACKENDS = {
    line.split("\t")[0]: tuple(line.split("\t")[1:])
    for line in subprocess.run(_LIST, capture_output=True, text=True, check=True).stdout.splitlines()
}
"""Product -> option and symbol."""
_TOOL = _ROOT / "sdk/ios/frameworks/xcframework.py"
_TARGETS = {
    "ios-arm64": "arm64-apple-ios13.0",
    "ios-arm64-simulator": "arm64-apple-ios13.0-simulator",
    "macos-arm64": "arm64-apple-macos11.0",
    "ios-arm64-maccatalyst": "arm64-apple-ios14.0-macabi",
    "xros-arm64": "arm64-apple-xros1.0",
    "xros-arm64-simulator": "arm64-apple-xros1.0-simulator",
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
    (tmp_path / "thing.h").write_text("ET_API int et_thing(void);\n")
    source = tmp_path / "thing.c"
    source.write_text(
        "int et_thing(void) { return 1; }\nstatic int hidden(void) { return 2; }\nint (*use)(void) = hidden;\n"
    )
    slices = []
    for name, target in _TARGETS.items():
        object_ = tmp_path / f"a_rather_long_name_of_{name}.o"
        subprocess.run([_CLANG, "-target", target, "-c", str(source), "-o", str(object_)], check=True)
        library = tmp_path / f"libthing_{name}.a"
        subprocess.run([_AR, "rcs", "--format=darwin", str(library), str(object_)], check=True)
        slices.append(f"{name}={library}")
    output = tmp_path / "thing.xcframework"
    assert _tool("assemble", output, *slices) == (0, "")
    return output


def test_ios01_a_framework_has_a_library_for_each_system(framework: Path) -> None:
    header = framework.parent / "thing.h"
    assert _tool("check", framework, "--header", header, "--symbol", "use") == (0, "thing.xcframework: good\n")
    plist = plistlib.loads((framework / "Info.plist").read_bytes())
    entries = {entry["LibraryIdentifier"]: entry for entry in plist["AvailableLibraries"]}
    assert entries.keys() == _TARGETS.keys()
    assert entries["ios-arm64-simulator"]["SupportedPlatformVariant"] == "simulator"
    assert "SupportedPlatformVariant" not in entries["ios-arm64"]
    assert entries["ios-arm64-maccatalyst"]["SupportedPlatformVariant"] == "maccatalyst"
    assert entries["xros-arm64"]["SupportedPlatform"] == "xros"
    for name, entry in entries.items():
        assert entry["LibraryPath"] == f"libthing_{name}.a"
        assert (framework / name / entry["LibraryPath"]).is_file()


def test_ios01_the_check_finds_a_library_of_another_system(framework: Path) -> None:
    shutil.copyfile(framework / "macos-arm64/libthing_macos-arm64.a", framework / "ios-arm64/libthing_ios-arm64.a")
    status, text = _tool("check", framework)
    assert status == 1
    assert "is for the platform 1, not 2" in text


def test_ios01_the_check_finds_what_is_missing(framework: Path) -> None:
    assert "et_other is defined 0 times" in _tool("check", framework, "--symbol", "et_other")[1]
    assert "hidden is defined 0 times" in _tool("check", framework, "--symbol", "hidden")[1]
    assert "the header other.h is missing" in _tool("check", framework, "--header", "other.h")[1]
    (framework.parent / "thing.h").write_text("ET_API int et_other(void);\n")
    assert "et_other is defined 0 times" in _tool("check", framework, "--header", framework.parent / "thing.h")[1]
    (framework / "macos-arm64/libthing_macos-arm64.a").unlink()
    assert "libthing_macos-arm64.a is missing" in _tool("check", framework)[1]
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
        (["--magic"], "there is no option --magic; --help lists them, and those of backends are: --"),
        (["magic"], "there is no option magic"),
    ):
        wrong = subprocess.run([script, *arguments], capture_output=True, text=True)
        assert wrong.returncode == 1
        assert words in wrong.stderr


def test_ios04_linking_a_product_is_enough() -> None:
    """IOS-04: the manifest has no unsafe flags. The source of each product refers to the symbol that registers its
    kernels."""
    sources = _ROOT / "sdk/ios"
    manifest = (_ROOT / "Package.swift").read_text()
    assert "unsafeFlags" not in manifest and "all_load" not in manifest
    script = (_ROOT / "scripts/build_apple_frameworks.sh").read_text()
    for product in ("kernels_optimized", "kernels_quantized", "kernels_llm", "kernels_selected"):
        assert f'"{product}"' in manifest
        (source,) = (sources / f"Sources/{product}").glob("*.c")
        symbol = source.read_text().rsplit("registers)(void) = ", 1)[1].split(";")[0]
        assert f"{product}) echo {symbol} ;;" in script


def test_ios04_linking_the_product_of_a_backend_is_enough() -> None:
    """IOS-04: the source of a backend's product, which is generated from the manifest, refers to the symbol that
    registers the backend."""
    subprocess.run([_ROOT / "sdk/ios/frameworks/backend_targets.py"], check=True)
    folder = _ROOT / "sdk/ios/Backends"
    assert sorted(path.name for path in folder.iterdir()) == sorted(_BACKENDS) != []
    for product, (_, symbol) in _BACKENDS.items():
        assert f"registers)(void) = {symbol};" in (folder / product / f"{product}.c").read_text()
        assert f"bool {symbol}(void);" in (folder / product / "include" / f"{product}.h").read_text()


def test_the_privacy_manifest_says_that_nothing_is_collected() -> None:
    manifest = plistlib.loads((_ROOT / "sdk/ios/Sources/ExecuTorch/PrivacyInfo.xcprivacy").read_bytes())
    assert manifest["NSPrivacyTracking"] is False
    assert manifest["NSPrivacyCollectedDataTypes"] == []
    # Apple's documentation lists the APIs that need a reason; the runtime calls none of them.
    assert manifest["NSPrivacyAccessedAPITypes"] == []


_PROGRAMS = {
    "uname": "echo Darwin",
    "cmake": """
echo "cmake $@" >>"$ASKED"
[ "$1" = --build ] || exit 0
mkdir -p "$2"
folder=$2
shift 5
for name; do touch "$folder/lib$(echo "$name" | sed s/_ops_table/_kernels_bindings/).a"; done""",
    "libtool": 'touch "$3"',
    "ar": 'echo "ar $@" >>"$ASKED"; [ "$1" != t ] || echo "__.SYMDEF call.cpp.o llm.cpp.o llm_x.cpp.o" | tr " " "\\n"',
    "xcodebuild": 'echo "xcodebuild $@" >>"$ASKED"',
    "python": f"""
case "$1" in */backend_*.py) exec "{sys.executable}" "$@" ;; esac
echo "python $@" >>"$ASKED\"""",
}
"""Stand-ins for a Mac's tools that the script uses: each prints its arguments and makes empty libraries."""


def _asked_on_a_mac(folder: Path, *arguments: str) -> list[str]:
    """Runs the script in a separate tree, with output in `folder`/out. Returns its calls of other programs."""
    bin_, tree = folder / "bin", folder / "tree"
    for path in (bin_, tree / "scripts", tree / "sdk/ios"):
        path.mkdir(parents=True)
    for name in ("backends", "cmake", "scripts/backend_manifests.py", "sdk/ios/frameworks"):
        (tree / name).symlink_to(_ROOT / name)
    for name, text in _PROGRAMS.items():
        (bin_ / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin_ / name).chmod(0o755)
    (tree / "sdk/ios/Sources").symlink_to(_ROOT / "sdk/ios/Sources")
    script = tree / "scripts/build_apple_frameworks.sh"
    script.symlink_to(_ROOT / "scripts/build_apple_frameworks.sh")
    environment = os.environ | {"PATH": f"{bin_}:{os.environ['PATH']}", "ASKED": str(folder / "asked")}
    environment["PYTHON"] = str(bin_ / "python")
    command = [script, *arguments, "--output", folder / "out"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return (folder / "asked").read_text().splitlines()


@pytest.mark.parametrize(("flags", "suffix", "wanted"), [((), "", "Release"), (("--debug",), "_debug", "Debug")])
def test_ios01_each_product_is_built_with_and_without_log_messages(
    tmp_path: Path, flags: tuple[str, ...], suffix: str, wanted: str
) -> None:
    asked = _asked_on_a_mac(tmp_path, "--slices", "macos-arm64", *flags)
    first = asked[0].split()
    assert f"-DCMAKE_BUILD_TYPE={wanted}" in first
    assert f"-DEXECUTORCH_LOG_LEVEL={'debug' if suffix else 'error'}" in first
    assert {f"-D{option}=ON" for option, _ in _BACKENDS.values()} <= set(first)
    made = {line.rsplit("/", 1)[1] for line in asked if line.startswith("xcodebuild ")}
    products = ("executorch", "executorch_llm", "kernels_llm", "kernels_optimized", "kernels_quantized", *_BACKENDS)
    assert made == {f"{product}{suffix}.xcframework" for product in products}
    # The functions of the C interface for language models are in the product that has the rest of them.
    assert {"-DEXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON", "-DEXECUTORCH_BUILD_KERNELS_LLM=ON"} <= set(first)
    removed = {line.split()[2].rsplit("/", 1)[1]: line.split()[3:] for line in asked if line.startswith("ar d ")}
    assert removed == {
        "c_api_of_executorch.a": ["llm.cpp.o", "llm_x.cpp.o"],
        "c_api_of_executorch_llm.a": ["call.cpp.o"],
    }


def test_ios01_every_system_is_built_by_its_name(tmp_path: Path) -> None:
    asked = _asked_on_a_mac(tmp_path, "--products", "executorch", "--slices", "all")
    folders = {line.split(" -B ")[1].split()[0].rsplit("/build-", 1)[1]: line for line in asked if " -B " in line}
    assert folders.keys() == _TARGETS.keys()
    assert "-DCMAKE_SYSTEM_NAME=visionOS -DCMAKE_OSX_SYSROOT=xrsimulator" in folders["xros-arm64-simulator"]
    assert "--target=arm64-apple-ios14.0-macabi" in folders["ios-arm64-maccatalyst"]
    assert all("-DEXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=OFF" in line for line in folders.values())
    (made,) = [line for line in asked if line.startswith("xcodebuild ")]
    for name in ("ios", "simulator", "macos", "maccatalyst", "xros", "xrsimulator"):
        assert f"/libexecutorch_{name}.a" in made


@pytest.mark.parametrize("chosen", [list(_BACKENDS)[:1], list(_BACKENDS)[1:]], ids="-".join)
def test_mps06_ios24_each_backend_has_an_option(chosen: list[str], tmp_path: Path) -> None:
    """The script builds the runtime, kernels and this backend."""
    flags = [product.replace("backend_", "--") for product in chosen]
    asked = _asked_on_a_mac(tmp_path, *flags, "--slices", "ios-arm64")
    made = {line.rsplit("/", 1)[1] for line in asked if line.startswith("xcodebuild ")}
    assert made == {f"{product}.xcframework" for product in ("executorch", "kernels_optimized", *chosen)}
    on = {option for option, _ in _BACKENDS.values() if f"-D{option}=ON" in asked[0].split()}
    assert on == {_BACKENDS[product][0] for product in chosen}


def test_ios04_libraries_have_the_names_that_force_load_goes_by(tmp_path: Path) -> None:
    name = next(iter(_BACKENDS))
    asked = _asked_on_a_mac(tmp_path, "--products", f"executorch_debug,{name}")
    out = tmp_path / "out"
    made = {line.rsplit("/", 1)[1]: line for line in asked if line.startswith("xcodebuild ")}
    assert made.keys() == {"executorch_debug.xcframework", f"{name}.xcframework"}
    for platform, slice_ in (("ios", "ios-arm64"), ("simulator", "ios-arm64-simulator"), ("macos", "macos-arm64")):
        runtime = f"-library {out}/build-{slice_}-debug/products/libexecutorch_debug_{platform}.a"
        backend = f"-library {out}/build-{slice_}/products/lib{name}_{platform}.a"
        assert runtime in made["executorch_debug.xcframework"]
        assert backend in made[f"{name}.xcframework"]
        assert (out / f"build-{slice_}/products/lib{name}_{platform}.a").is_file()
    # Headers of the C interface, for apps that link the libraries by name.
    assert (out / "include/CExecuTorch/executorch.h").is_file()
    assert not (out / "include/CExecuTorch/executorch.h").is_symlink()
