# SPDX-License-Identifier: BSD-3-Clause
"""The artifacts of the Android library: the contents of each, and that an app takes one of them."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from test_check_aar import ANDROID, CLASSES, GOOD_FLAGS, check, compile_library
from test_check_aar import pytestmark as pytestmark

ROOT = ANDROID.parents[1]
MAVEN = "{http://maven.apache.org/POM/4.0.0}"
PATHS = (*ROOT.glob("backends/*/backend.json"), *ROOT.glob("backends/*/*/backend.json"))
MANIFESTS = {found["name"].rpartition("/")[2]: found for found in (json.loads(path.read_text()) for path in PATHS)}
USUAL = next(name for name, found in MANIFESTS.items() if "android" in found["platforms"] and "sdk" not in found)
"""A backend of the default artifact, and a backend that only the artifact with its name contains."""
ADDED = max(name for name, found in MANIFESTS.items() if not found["platforms"])


def artifacts(*names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ANDROID / "artifacts.py", *names]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def pack(folder: Path, library: Path, artifact: str) -> Path:
    """The folder of the artifact in the repository."""
    classes = folder / "classes/org/pytorch/executorch"
    classes.mkdir(parents=True, exist_ok=True)
    for name in CLASSES:
        (classes / f"{name}.class").write_bytes(b"\xca\xfe\xba\xbe\0\0\0\x34")  # major version 52: Java 8
    command = [sys.executable, ANDROID / "package_aar.py", "--classes", folder / "classes", "--out", folder / "out"]
    command += ["--library", f"x86_64={library}", "--version", "1.2.3", "--kotlin", "2.4.20"]
    subprocess.run([*command, "--artifact", artifact, "--name", f"{artifact}.aar"], check=True)
    name = artifacts(artifact).stdout.splitlines()[0]
    return folder / "out/maven/org/pytorch" / name / "1.2.3"


def test_the_backends_of_each_artifact_come_from_the_manifests() -> None:
    """VK-11: the artifact of a backend contains it and the backends of executorch-android."""
    assert artifacts("default").stdout.splitlines() == ["executorch-android", "-DEXECUTORCH_BUILD_BACKENDS=android"]
    assert artifacts("cpu").stdout.splitlines() == ["executorch-android-cpu", "-DEXECUTORCH_BUILD_BACKENDS=none"]
    for name in (name for name, found in MANIFESTS.items() if "android" not in found["platforms"]):
        options = ["-DEXECUTORCH_BUILD_BACKENDS=android", f"-D{MANIFESTS[name]['option']}=ON"]
        assert artifacts(name).stdout.splitlines() == [f"executorch-android-{name}", *options]


def test_an_artifact_that_is_not_there_is_said() -> None:
    for name, says in (
        ("opengl", "there is no artifact opengl; expected default, cpu or a backend: "),
        (USUAL, f"executorch-android has the backend {USUAL}: take the artifact `default`"),
    ):
        done = artifacts(name)
        assert done.returncode == 1 and says in done.stderr and done.stdout == ""
        script = ["bash", ROOT / "scripts/build_android_library.sh", "--artifacts", "cpu", name]
        done = subprocess.run(script, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and says in done.stderr
    script = ["bash", ROOT / "scripts/build_android_library.sh", "--host", "--artifacts"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "--artifacts takes names: default, cpu, or the name of a backend" in done.stderr


def test_an_aar_carries_the_libraries_of_vendors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest's libraries, below the folder that its sdk's variable names; none where that is not set."""
    monkeypatch.syspath_prepend(ANDROID)
    import artifacts
    import check_aar

    manifest = {
        "name": "acme",
        "title": "Acme",
        "option": "EXECUTORCH_BUILD_ACME",
        "platforms": ["android"],
        "sdk": {"variable": "ACME_SDK", "text": "the Acme SDK"},
        "libraries": {"android": ["lib/{abi}/libacme.so"]},
    }
    (tmp_path / "backends/acme").mkdir(parents=True)
    (tmp_path / "backends/acme/backend.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(artifacts, "BACKENDS", tmp_path / "backends")
    made = artifacts.artifact("default")
    assert made.contents == "kernels for CPUs" and made.vendor_libraries("x86_64") == []
    monkeypatch.setenv("ACME_SDK", str(tmp_path))
    assert made.contents == "kernels for CPUs, Acme"
    with pytest.raises(ValueError, match=r"lib/x86_64/libacme.so, .* for Acme: ACME_SDK must name the folder of the"):
        made.vendor_libraries("x86_64")
    (tmp_path / "lib/x86_64").mkdir(parents=True)
    library = compile_library(tmp_path, GOOD_FLAGS).rename(tmp_path / "lib/x86_64/libacme.so")
    assert made.vendor_libraries("x86_64") == [library]
    assert check_aar.MEMBERS.fullmatch("jni/x86_64/libacme.so") and not check_aar.MEMBERS.fullmatch("jni/x86_64/acme")
    # For a library of a vendor, the processor and the pages are checked, but not its needed libraries and exports.
    assert check_aar.check_elf("jni/x86_64/libacme.so", library.read_bytes()) == []
    assert "is for machine 62" in check_aar.check_elf("jni/arm64-v8a/libacme.so", library.read_bytes())[0]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("android")
    library = compile_library(folder, GOOD_FLAGS)
    return {name: pack(folder, library, name) for name in (ADDED, "default", "cpu")}


def test_gradle_accepts_one_artifact_in_an_app(repository: dict[str, Path]) -> None:
    """Gradle's module metadata 1.1: each variant provides the capability org.pytorch:executorch-android, and its own.
    Gradle itself is not on this machine."""
    for name, folder in repository.items():
        artifact = folder.parent.name
        stem = f"{artifact}-1.2.3"
        assert "<!-- do_not_remove: published-with-gradle-metadata -->" in (folder / f"{stem}.pom").read_text()
        module = json.loads((folder / f"{stem}.module").read_text())
        assert module["formatVersion"] == "1.1"
        assert module["component"] | {"attributes": None} == {
            "group": "org.pytorch",
            "module": artifact,
            "version": "1.2.3",
            "attributes": None,
        }
        assert len({variant["name"] for variant in module["variants"]}) == len(module["variants"]) == 3
        found: dict[tuple[str, str], Any] = {
            (variant["attributes"]["org.gradle.category"], variant["attributes"]["org.gradle.usage"]): variant
            for variant in module["variants"]
        }
        for usage in ("java-api", "java-runtime"):
            variant = found["library", usage]
            assert variant["attributes"]["org.gradle.libraryelements"] == "aar"
            stdlib = {"group": "org.jetbrains.kotlin", "module": "kotlin-stdlib", "version": {"requires": "2.4.20"}}
            assert variant["dependencies"] == [stdlib]
            assert variant["files"][0]["url"] == f"{stem}.aar"
        assert found["documentation", "java-runtime"]["files"][0]["url"] == f"{stem}-sources.jar"
        for variant in module["variants"]:
            capabilities = {f"{each['group']}:{each['name']}:{each['version']}" for each in variant["capabilities"]}
            assert capabilities == {"org.pytorch:executorch-android:1.2.3", f"org.pytorch:{artifact}:1.2.3"}, name
            (file,) = variant["files"]
            data = (folder / file["url"]).read_bytes()
            assert (file["size"], file["name"]) == (len(data), file["url"])
            for kind in ("sha512", "sha256", "sha1", "md5"):
                assert file[kind] == hashlib.new(kind, data).hexdigest()


def test_builds_without_gradles_metadata_find_two_of_the_same_name(repository: dict[str, Path]) -> None:
    """Two artifacts have the same classes and the same name of the library, which the Android plug-in refuses."""
    members = []
    for folder in repository.values():
        with zipfile.ZipFile(next(folder.glob("*.aar"))) as aar:
            members.append(set(aar.namelist()))
    assert members[0] == members[1] == members[2]
    assert {"classes.jar", "jni/x86_64/libexecutorch.so"} <= members[0]


def test_the_bom_lists_every_artifact(repository: dict[str, Path]) -> None:
    bom = repository["default"].parents[1] / "executorch-bom/1.2.3/executorch-bom-1.2.3.pom"
    entries = ElementTree.parse(bom).iter(f"{MAVEN}dependency")
    found = [[entry.findtext(f"{MAVEN}{tag}") for tag in ("groupId", "artifactId", "version")] for entry in entries]
    names = ["executorch-android", "executorch-android-cpu", f"executorch-android-{ADDED}"]
    assert found == [["org.pytorch", name, "1.2.3"] for name in names]
    assert bom.with_name(f"{bom.name}.sha256").read_text().strip() == hashlib.sha256(bom.read_bytes()).hexdigest()
    described = (repository[ADDED] / f"executorch-android-{ADDED}-1.2.3.pom").read_text()
    titles = ", ".join(MANIFESTS[name]["title"] for name in (USUAL, ADDED))
    assert f"<description>Runs PyTorch models on Android: kernels for CPUs, {titles}.</description>" in described


def test_each_artifact_is_as_it_should_be(repository: dict[str, Path]) -> None:
    for folder in repository.values():
        assert "is correct" in check(next(folder.glob("*.aar")))


def test_gradles_build_makes_the_same_artifacts() -> None:
    """Gradle's build asks the same script for the id and the options. Gradle itself is not installed here."""
    build = (ANDROID / "executorch_android/build.gradle.kts").read_text()
    assert 'commandLine("python3", file("../artifacts.py").path' in build
    assert "artifactId = artifact.first()" in build and ") + artifact.drop(1)" in build
    assert "EXECUTORCH_BUILD_BACKENDS" not in build
