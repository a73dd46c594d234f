# SPDX-License-Identifier: BSD-3-Clause
"""scripts/make_release, without the parts that compile. tests/release uses its files."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "scripts"
CHANGELOG = (
    "# Changelog\n\n## [Unreleased]\n\n{unreleased}\n\n## [1.2.3]{date}\n\n- Something.\n\n## [1.2.2] - 2026-01-01\n"
)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))  # as when it is run
    return importlib.import_module("release_command")


@pytest.fixture
def tree(tmp_path: Path, script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small checkout of version 1.2.3 that is ready for its release, and one third-party source."""
    root = tmp_path / "tree"
    (root / "python" / "sdk").mkdir(parents=True)
    (root / "python" / "sdk" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (root / "CHANGELOG.md").write_text(CHANGELOG.format(unreleased="", date=" - 2026-11-26"))
    (root / "android.md").write_text('implementation("org.pytorch:executorch-android:1.2.3")\n')
    (root / "pyproject.toml").write_text(
        '[project]\ndependencies = ["numpy>=1"]\n[project.optional-dependencies]\nx = ["y"]\n'
    )
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("run")
    (root / ".gitignore").write_text("ignored\n")
    (root / "ignored").write_text("no part of it\n")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b.example", *command]
        subprocess.run(git, check=True)
    source = tmp_path / "source"
    (source / "include").mkdir(parents=True)
    (source / "include" / "a.h").write_text("a\n")

    pin = argparse.Namespace(
        url="https://a.example/archive/refs/tags/v1.10.tar.gz", content_sha256="0" * 64, license="MIT"
    )
    monkeypatch.setattr(script, "ROOT", root)
    monkeypatch.setattr(script, "PINS", {"a": pin})
    monkeypatch.setattr(script, "fetched", lambda: {"a": source})
    monkeypatch.delenv(script.KEY_VARIABLE, raising=False)
    return root


def make(
    script: ModuleType, output: Path, *, dry_run: bool = False, parts: tuple[str, ...] = ("source", "sbom")
) -> Path:
    arguments = {"dry_run": dry_run, "parts": parts, "output": output, "tag": False, "url": None}
    output, written = script.make(argparse.Namespace(**arguments, wheels=None, aar=None, frameworks=None))
    assert written == {}
    return output


def test_a_release_has_archive_bill_notes_and_checksums(script: ModuleType, tree: Path, tmp_path: Path) -> None:
    output = make(script, tmp_path / "out")
    names = {path.name for path in output.iterdir()}
    assert names == {"pte-sdk-1.2.3-full.tar.gz", "pte-sdk-1.2.3.spdx.json", "RELEASE_NOTES.md", "SHA256SUMS"}
    assert (output / "RELEASE_NOTES.md").read_text() == "# pte-sdk 1.2.3\n\n- Something.\n"
    for line in (output / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert digest == hashlib.sha256((output / name).read_bytes()).hexdigest()
    with tarfile.open(output / "pte-sdk-1.2.3-full.tar.gz") as tar:
        members = {member.name.removeprefix("pte-sdk-1.2.3-full/"): member for member in tar.getmembers()}
    assert members.keys() == {
        *("python/sdk/__init__.py", "CHANGELOG.md", "android.md", "pyproject.toml", "run", "link", ".gitignore"),
        "third_party/a/include/a.h",
    }
    assert members["run"].mode == 0o755 and members["android.md"].mode == 0o644
    assert members["link"].linkname == "run"


def test_the_same_tree_gives_the_same_bytes(script: ModuleType, tree: Path, tmp_path: Path) -> None:
    first = make(script, tmp_path / "first")
    (tree / "android.md").touch()
    second = make(script, tmp_path / "second")
    assert (first / "SHA256SUMS").read_bytes() == (second / "SHA256SUMS").read_bytes()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"CHANGELOG.md": CHANGELOG.format(unreleased="", date="")}, "the section of 1.2.3 has no date"),
        ({"CHANGELOG.md": CHANGELOG.format(unreleased="- More.", date=" - 2026-11-26")}, "`Unreleased` has entries"),
        ({"CHANGELOG.md": "# Changelog\n"}, "has no section `## [1.2.3] - YYYY-MM-DD`"),
        ({"new": "x"}, "1 files are changed or new: commit or remove them"),
        ({"android.md": "org.pytorch:executorch-android:1.2.2"}, "android.md:1 names version 1.2.2: write 1.2.3"),
        ({"python/sdk/__init__.py": '__version__ = "next"\n'}, "expected one such as 1.2.3"),
    ],
)
def test_what_keeps_a_tree_from_being_released_is_an_error(
    script: ModuleType, tree: Path, tmp_path: Path, changes: dict[str, str], expected: str
) -> None:
    for name, text in changes.items():
        (tree / name).write_text(text)
    with pytest.raises(script.ReleaseError, match=re.escape(expected)):
        make(script, tmp_path / "out")
    assert not list(tmp_path.glob("*out*")), "something half made is left"


def test_a_released_version_is_refused(script: ModuleType, tree: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "-C", str(tree), "tag", "v1.2.3"], check=True)
    with pytest.raises(script.ReleaseError, match=r"the tag v1\.2\.3 exists: raise __version__"):
        make(script, tmp_path / "out")


def test_a_dry_run_notes_what_is_not_ready(
    script: ModuleType, tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n- Something.\n")
    output = make(script, tmp_path / "out", dry_run=True)
    assert (output / "RELEASE_NOTES.md").read_text().endswith("- Something.\n")
    noted = capsys.readouterr().err
    for expected in ("has no date", "1 files are changed or new", "nothing is signed: set EXECUTORCH_SIGNING_KEY"):
        assert expected in noted


def test_a_release_without_a_key_notes_that_nothing_is_signed(
    script: ModuleType, tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(script, tmp_path / "out")
    assert "nothing is signed: set EXECUTORCH_SIGNING_KEY" in capsys.readouterr().err


def test_an_older_release_is_not_overwritten(script: ModuleType, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kept").write_text("kept")
    with pytest.raises(script.ReleaseError, match="is not empty: remove it, or name another folder"):
        make(script, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["kept"]


@pytest.mark.skipif(shutil.which("gpg") is None, reason="gpg is not installed")
def test_a_key_signs_the_checksums(
    script: ModuleType, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "gpg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    key = "release@a.example"
    quick = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", key, "ed25519", "sign"]
    try:
        subprocess.run(quick, check=True, capture_output=True)
        monkeypatch.setenv(script.KEY_VARIABLE, key)
        output = make(script, tmp_path / "out")
        verify = ["gpg", "--verify", str(output / "SHA256SUMS.asc"), str(output / "SHA256SUMS")]
        assert "Good signature" in subprocess.run(verify, capture_output=True, text=True, check=True).stderr
        monkeypatch.setenv(script.KEY_VARIABLE, "nobody@a.example")
        with pytest.raises(script.ReleaseError, match=r"cannot sign with the key nobody@a\.example"):
            make(script, tmp_path / "other")
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], check=False)


def test_the_bill_of_materials_names_every_source(script: ModuleType) -> None:
    """The document follows the rules of SPDX 2.3: unique identifiers, known licences, and relations between existing
    elements."""
    pins = script.PINS
    bill = script.bill_of_materials.document(
        "1.2.3", 0, pins, {"": ["numpy>=1.26"], "export": ["torch>=2.13", "pte-sdk[x]"]}
    )
    json.dumps(bill)
    assert bill["spdxVersion"] == "SPDX-2.3" and bill["creationInfo"]["created"] == "1970-01-01T00:00:00Z"
    packages = {package["SPDXID"]: package for package in bill["packages"]}
    assert len(packages) == len(bill["packages"]) == 1 + len(pins) + 2
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identifier) for identifier in packages)
    for relation in bill["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= packages.keys() | {"SPDXRef-DOCUMENT"}
    contained = {r["relatedSpdxElement"] for r in bill["relationships"] if r["relationshipType"] == "CONTAINS"}
    assert contained == {f"SPDXRef-source-{name}" for name in pins}
    assert packages["SPDXRef-source-flatbuffers"]["versionInfo"] == "23.5.26"
    assert packages["SPDXRef-source-pthreadpool"]["versionInfo"] == "560c60d342a76076f0557a3946924c6478470044"
    assert packages["SPDXRef-source-pcre2"]["versionInfo"] == "10.46"


def test_archives_of_frameworks_have_the_checksums_of_the_manifest(
    script: ModuleType, tree: Path, tmp_path: Path
) -> None:
    """IOS: files that SwiftPM downloads are checked against sdk/ios/release.json."""
    framework = tmp_path / "built" / "executorch.xcframework"
    framework.mkdir(parents=True)
    (framework / "Info.plist").write_text("x")
    folder = tmp_path / "folder"
    folder.mkdir()
    arguments = argparse.Namespace(frameworks=tmp_path / "built", url="https://a.example/v1.2.3/", dry_run=False)
    request = script.Request(tree, "1.2.3", 10**9, folder, tmp_path, arguments)
    targets = tree / "sdk" / "ios" / "frameworks" / "backend_targets.py"  # of a tree without backends
    targets.parent.mkdir(parents=True)
    targets.write_text("")
    written = script.release_parts.make_apple(request)
    assert list(written) == ["sdk/ios/release.json"]
    content = json.loads(written["sdk/ios/release.json"])
    archive = folder / "executorch.xcframework.zip"
    assert content == {
        "version": "1.2.3",
        "url": "https://a.example/v1.2.3",
        "checksums": {"executorch": hashlib.sha256(archive.read_bytes()).hexdigest()},
    }
    assert zipfile.ZipFile(archive).namelist() == ["executorch.xcframework/Info.plist"]
    (framework / "Info.plist").unlink()
    framework.rmdir()
    with pytest.raises(
        script.ReleaseError, match=r"has none of .*xcframework: scripts/build_apple_frameworks\.sh makes them"
    ):
        script.release_parts.make_apple(request)


def test_the_tag_has_the_files_of_a_release(script: ModuleType, tree: Path) -> None:
    def git(*command: str) -> str:
        return subprocess.run(["git", "-C", str(tree), *command], capture_output=True, text=True, check=True).stdout

    before = git("rev-parse", "HEAD")
    subprocess.run(["git", "-C", str(tree), "config", "user.name", "a"], check=True)
    subprocess.run(["git", "-C", str(tree), "config", "user.email", "a@b.example"], check=True)
    script.tag(tree, "1.2.3", {"sdk/ios/release.json": b"{}\n"})
    assert git("show", "v1.2.3:sdk/ios/release.json") == "{}\n"
    assert git("rev-parse", "v1.2.3^{commit}~1") == before == git("rev-parse", "HEAD")
    assert git("status", "--porcelain") == ""
    with pytest.raises(script.ReleaseError, match="already exists"):
        script.tag(tree, "1.2.3", {})
    script.tag(tree, "1.2.4", {})
    assert git("rev-parse", "v1.2.4^{commit}") == before


def test_the_version_is_in_one_place() -> None:
    """CMake, pip and the Android library read the version from python/sdk/__init__.py."""
    import sdk

    pyproject = (ROOT / "pyproject.toml").read_text()
    assert 'dynamic = ["version"]' in pyproject and not re.search(r"^version =", pyproject, re.M)
    assert "VERSION 0" not in (ROOT / "CMakeLists.txt").read_text()
    shown = subprocess.run(
        ["bash", "-c", f"source {SCRIPTS}/environment.sh && sdk_version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == sdk.__version__


def test_wrong_arguments_are_refused() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "make_release"), "--tag", "--dry-run"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "--tag needs all parts, and no --dry-run" in done.stderr
