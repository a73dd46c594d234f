# SPDX-License-Identifier: BSD-3-Clause
"""sdk/android/check_aar.py finds what is wrong with an AAR; package_aar.py is reproducible."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

ANDROID = Path(__file__).resolve().parents[3] / "sdk/android"
C_API = ANDROID.parent / "cpp/executorch/extension/c_api"
GOOD_FLAGS = ["-Wl,-z,max-page-size=16384", "-Wl,--version-script=exports.map"]
# The functions of the C interface.
FUNCTIONS = sorted(
    {
        name
        for path in C_API.glob("*.h")
        if "\nET_API " in path.read_text()
        for name in re.findall(r"\b(et_\w+)\(", re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S))
    }
)
SOURCE = "int JNI_OnLoad(void) { return 0; }\n" + "".join(f"int {name}(void) {{ return 0; }}\n" for name in FUNCTIONS)
CLASSES = ["Module", "Tensor", "EValue", "DType", "MethodMetadata", "ExecuTorchRuntime", "ExecutorchRuntimeException"]

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("cc") or not shutil.which("readelf"), reason="needs ELF tools"
)


def compile_library(folder: Path, flags: list[str], source: str = SOURCE) -> Path:
    (folder / "library.c").write_text(source)
    (folder / "exports.map").write_text("EXECUTORCH_C_1 { global: JNI_OnLoad; et_*; local: *; };")
    library = folder / "libexecutorch.so"
    subprocess.run(["cc", "-shared", "-fPIC", *flags, "-o", library, "library.c"], check=True, cwd=folder)
    return library


def pack(folder: Path, library: Path, abi: str = "x86_64") -> Path:
    classes = folder / "classes/org/pytorch/executorch"
    classes.mkdir(parents=True, exist_ok=True)
    for name in CLASSES:
        (classes / f"{name}.class").write_bytes(b"\xca\xfe\xba\xbe\0\0\0\x34")  # major version 52: Java 8
    subprocess.run(
        [
            *(sys.executable, ANDROID / "package_aar.py", "--classes", folder / "classes", "--out", folder / "out"),
            *("--library", f"{abi}={library}", "--version", "1.2.3", "--kotlin", "2.4.20", "--ndk", "28"),
        ],
        check=True,
    )
    return folder / "out/executorch.aar"


def check(aar: Path) -> str:
    done = subprocess.run(
        [sys.executable, ANDROID / "check_aar.py", "--host", aar], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert (done.returncode == 0) == ("is correct" in done.stdout)
    return done.stdout


def test_and01_a_good_one_passes_and_is_reproducible(tmp_path: Path) -> None:
    aar = pack(tmp_path, compile_library(tmp_path, GOOD_FLAGS))
    assert "is correct" in check(aar)
    first = aar.read_bytes()
    assert pack(tmp_path, tmp_path / "libexecutorch.so").read_bytes() == first


def test_and03_the_repository_is_complete(tmp_path: Path) -> None:
    """AND-03, AND-12: all files are there, and the Javadoc archive describes the classes."""
    pack(tmp_path, compile_library(tmp_path, GOOD_FLAGS))
    folder = tmp_path / "out/maven/org/pytorch/executorch-android/1.2.3"
    names = {path.name.removeprefix("executorch-android-1.2.3") for path in folder.iterdir()}
    parts = {".aar", ".pom", ".module", "-sources.jar", "-javadoc.jar"}
    assert names == parts | {f"{name}.sha256" for name in parts}
    with zipfile.ZipFile(folder / "executorch-android-1.2.3-javadoc.jar") as pages:
        assert "forward" in pages.read("Module.html").decode()
    bom = folder.parents[1] / "executorch-bom/1.2.3/executorch-bom-1.2.3.pom"
    names = {"m": "http://maven.apache.org/POM/4.0.0"}
    managed = ElementTree.parse(bom).findall("m:dependencyManagement/m:dependencies/m:dependency", names)
    found = [
        [entry.findtext(f"m:{tag}", None, names) for tag in ("groupId", "artifactId", "version")] for entry in managed
    ]
    assert found == [["org.pytorch", "executorch-android", "1.2.3"]]
    assert bom.with_name(f"{bom.name}.sha256").read_text().strip() == hashlib.sha256(bom.read_bytes()).hexdigest()


def test_prefab_is_what_its_documentation_describes(tmp_path: Path) -> None:
    """The layout and the metadata of schema 2. With what Prefab's CMake package takes from them, native code of an app
    finds all headers of the C interface, and links the library that the classes use."""
    library = compile_library(tmp_path, GOOD_FLAGS)
    with zipfile.ZipFile(pack(tmp_path, library)) as aar:
        aar.extractall(tmp_path / "aar")
    package = tmp_path / "aar/prefab"
    assert json.loads((package / "prefab.json").read_text()) == {
        "schema_version": 2,
        "name": "executorch",
        "version": "1.2.3",
        "dependencies": [],
    }
    module = package / "modules/executorch_c"
    assert json.loads((module / "module.json").read_text()) == {
        "export_libraries": [],
        "library_name": "libexecutorch",
    }
    libs = module / "libs/android.x86_64"
    described = {"abi": "x86_64", "api": 21, "ndk": 28, "stl": "none", "static": False}
    assert json.loads((libs / "abi.json").read_text()) == described
    assert (libs / "libexecutorch.so").read_bytes() == library.read_bytes()
    headers = [path.relative_to(module / "include") for path in (module / "include").rglob("*.h")]
    app = tmp_path / "app.cpp"
    app.write_text(
        "".join(f"#include <{header}>\n" for header in headers)
        + f"void* all[] = {{{', '.join(f'(void*)&{name}' for name in FUNCTIONS)}}};\n"
        + f"int main() {{ return sizeof(all) / sizeof(*all) == {len(FUNCTIONS)} ? 0 : 1; }}\n"
    )
    command = ["c++", "-std=c++17", "-I", module / "include", app, libs / "libexecutorch.so", "-o", tmp_path / "app"]
    subprocess.run([*command, f"-Wl,-rpath,{libs}"], check=True)
    subprocess.run([tmp_path / "app"], check=True)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("prefab.json", b'"1.2.3"', b'"1.2.3rc1"', "which CMake cannot read"),
        ("abi.json", b'"none"', b'"c++_static"', "abi.json describes another library"),
        ("libs/android.x86_64/libexecutorch.so", b"\x7fELF", b"\x7fELFX", "is not jni/x86_64/libexecutorch.so"),
        ("images.h", b"ET_API ", b"", "which is not of its interface"),
    ],
)
def test_a_wrong_prefab_package_is_found(tmp_path: Path, name: str, old: bytes, new: bytes, said: str) -> None:
    aar = pack(tmp_path, compile_library(tmp_path, GOOD_FLAGS))
    with zipfile.ZipFile(aar) as archive, zipfile.ZipFile(tmp_path / "wrong.aar", "w") as wrong:
        for member in archive.namelist():
            data = archive.read(member)
            if member.startswith("prefab/") and member.endswith(name):
                data = data.replace(old, new)
            wrong.writestr(member, data)
    assert said in check(tmp_path / "wrong.aar")


def test_gradle_builds_take_their_versions_from_the_catalog() -> None:
    """The builds take all versions from the catalog, and everything that they refer to is in it. Gradle itself is not
    installed here."""
    catalog = (ANDROID / "gradle/libs.versions.toml").read_text()
    versions = dict(re.findall(r'^([\w-]+) = "([^"]+)"$', catalog, re.M))
    aliases = set(re.findall(r"^([\w-]+) = \{", catalog, re.M)) | {f"versions-{name}" for name in versions}
    used = set(re.findall(r'version\.ref = "([\w-]+)"', catalog))
    pom = (ANDROID / "maven.py").read_text()
    assert f'COROUTINES = "{versions["coroutines"]}"\n' in pom
    for build in (
        ANDROID / "executorch_android/build.gradle.kts",
        *(ANDROID.parents[1] / "examples/android").rglob("*.kts"),
    ):
        text = build.read_text()
        assert not re.search(r'compileSdk = \d|minSdk = \d|ndkVersion = "|version "\d', text), build
        for reference in re.findall(r"\blibs\.((?:\w+\.)*\w+?)(?:\.get\b|[),\n])", text):
            name = reference.removeprefix("plugins.").replace(".", "-")
            if name == "versions-toml":  # the catalog's file
                continue
            assert name in aliases, f"{build} refers to libs.{reference}"
            used.add(name.removeprefix("versions-"))
    assert versions.keys() <= used, "a version that nothing uses"


@pytest.mark.parametrize(
    ("flags", "source", "said"),
    [
        ([*GOOD_FLAGS[1:], "-Wl,-z,max-page-size=4096"], SOURCE, "pages of 16384"),
        (GOOD_FLAGS[:1], SOURCE + "int more;", "exports more, which"),
        (GOOD_FLAGS, SOURCE.replace("JNI_OnLoad", "nothing"), "does not export JNI_OnLoad"),
        (GOOD_FLAGS, SOURCE.replace("et_result_free", "nothing"), "does not export et_result_free"),
        ([*GOOD_FLAGS, "-Wl,--no-as-needed", "-lz"], SOURCE, "libz"),
    ],
)
def test_and01_a_bad_library_is_found(tmp_path: Path, flags: list[str], source: str, said: str) -> None:
    try:
        library = compile_library(tmp_path, flags, source)
    except subprocess.CalledProcessError:
        pytest.skip("this machine's linker lacks what the case needs")
    assert said in check(pack(tmp_path, library))


def test_and01_another_machine_or_part_is_found(tmp_path: Path) -> None:
    library = compile_library(tmp_path, GOOD_FLAGS)
    assert "is for machine" in check(pack(tmp_path, library, abi="armeabi-v7a"))
    aar = pack(tmp_path, library)
    for name in ("proguard.txt", "jni/x86_64/libexecutorch.so"):
        with zipfile.ZipFile(aar) as archive, zipfile.ZipFile(tmp_path / "less.aar", "w") as less:
            for member in archive.namelist():
                if member != name:
                    less.writestr(member, archive.read(member))
        assert "missing" in check(tmp_path / "less.aar") or "no native library" in check(tmp_path / "less.aar")


def test_and07_without_an_ndk_the_script_says_what_to_do() -> None:
    script = ANDROID.parents[1] / "scripts/build_android_library.sh"
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp"}
    done = subprocess.run(["bash", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert "set ANDROID_NDK" in done.stderr
    assert "--host" in done.stderr
