# SPDX-License-Identifier: BSD-3-Clause
"""Make everything that a release consists of, in one folder, with checksums.

    scripts/make_release                     all parts of the version in python/sdk/__init__.py, into dist/<version>
    scripts/make_release --dry-run           the same before the release: what is not ready is noted, not an error
    scripts/make_release --parts source sbom only these parts
    scripts/make_release --tag               and then the tag v<version>

The parts are:
    source    <name>-full.tar.gz: the tree with the pinned third-party sources, from which every build works offline
    sbom      the bill of materials, in SPDX 2.3
    python    an sdist, and wheels of the Python and the C++ package for this Python and machine, built from the source
              archive without network and repaired by auditwheel; --wheels takes those of cibuildwheel instead
    android   executorch.aar and a Maven repository (needs ANDROID_NDK; a dry run without it has this machine's library)
    apple     xcframeworks as archives; sdk/ios/release.json in the tag has their checksums (needs a Mac; a dry run
              elsewhere compiles unsigned ones)
    web       the npm package (needs clang-19 and Emscripten's libraries; --web takes what sdk/web/build made elsewhere)
The notes of the release, from CHANGELOG.md, and SHA256SUMS are always written. If EXECUTORCH_SIGNING_KEY names a key of
GnuPG, SHA256SUMS and the artifacts of Maven are signed with it; without it, a note says that nothing is.

A release needs a changelog with a dated section of the version, a tree without changes, and a version that has no tag.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import bill_of_materials
import release_parts
from release_parts import ReleaseError, Request
from source_archive import source_date, tree_files, write_archive
from third_party_pins import PINS

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("source", "sbom", "python", "android", "apple", "web")
KEY_VARIABLE = "EXECUTORCH_SIGNING_KEY"
# Files that readers copy from repeat the version. This pattern matches it in them.
COORDINATES = re.compile(r"org\.pytorch:executorch-android(?:-bom)?:([0-9][\w.-]*)")


def read_version(root: Path) -> str:
    found = re.search(r'^__version__ = "(.*)"$', (root / "python/sdk/__init__.py").read_text(), re.M)
    if not found or not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", found[1]):
        raise ReleaseError(
            f"python/sdk/__init__.py has the version {found[1] if found else None!r}; "
            "expected one such as 1.2.3 or 1.2.3rc1"
        )
    return found[1]


def changelog_section(text: str, version: str) -> tuple[str, str | None]:
    """The text of a version's section and its date (None if it has none). Without a section: that of `Unreleased`."""
    for title in (version, "Unreleased"):
        found = re.search(rf"^## \[{re.escape(title)}\]( - (\d{{4}}-\d\d-\d\d))?\n(.*?)(?=^## |\Z)", text, re.M | re.S)
        if found:
            return found[3].strip(), found[2]
    raise ReleaseError(f"CHANGELOG.md has no section `## [{version}] - YYYY-MM-DD`: write one")


def not_ready(root: Path, version: str) -> list[str]:
    """The reasons why the tree cannot be released, a line each, with what to do."""
    problems = []
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    _, date = changelog_section(text, version)
    if date is None:
        problems.append(f"CHANGELOG.md: the section of {version} has no date: write `## [{version}] - YYYY-MM-DD`")
    elif re.search(r"^## \[Unreleased\]\s+(?!## )\S", text, re.M):
        problems.append(f"CHANGELOG.md: `Unreleased` has entries: move them to the section of {version}")
    changed = subprocess.run(
        ["git", "-C", str(root), "status", "--porcelain"], capture_output=True, text=True, check=True
    )
    if changed.stdout.strip():
        problems.append(
            f"{len(changed.stdout.splitlines())} files are changed or new: commit or remove them (git status)"
        )
    tags = subprocess.run(
        ["git", "-C", str(root), "tag", "--list", f"v{version}"], capture_output=True, text=True, check=True
    )
    if tags.stdout.strip():
        problems.append(f"the tag v{version} exists: raise __version__ in python/sdk/__init__.py")
    return problems


def other_versions(root: Path, version: str, names: list[str]) -> list[str]:
    """The lines of the tree that name another version of the packages than `version`."""
    problems = []
    for name in names:
        if (
            not name.endswith((".md", ".kts", ".gradle", ".toml"))
            or name.startswith("tests/")
            or name == "CHANGELOG.md"
        ):
            continue
        for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
            problems += [
                f"{name}:{number} names version {found}: write {version}"
                for found in COORDINATES.findall(line)
                if found != version
            ]
    return problems


def write_bill(path: Path, version: str, date: int, pins: dict[str, object]) -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = {"": project["dependencies"], **project["optional-dependencies"]}
    bill = bill_of_materials.document(version, date, pins, requirements)
    path.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    for name, pin in sorted(pins.items()):
        if pin.license == "NOASSERTION":
            release_parts.note(f'{path.name} has no licence of {name}: add "license", an SPDX expression, to its pin')


def write_sums(folder: Path) -> Path:
    """SHA256SUMS of all files below `folder`, in the form that `sha256sum -c` reads."""
    sums = folder / "SHA256SUMS"
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path not in (sums, sums.with_name("SHA256SUMS.asc"))
    ]
    sums.write_text("".join(lines))
    return sums


def sign(path: Path) -> None:
    key = os.environ[KEY_VARIABLE]
    command = ["gpg", "--batch", "--yes", "--local-user", key, "--armor", "--detach-sign", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError(f"gpg cannot sign with the key {key} of {KEY_VARIABLE}: {done.stderr.strip()}")


def make(arguments: argparse.Namespace) -> tuple[Path, dict[str, bytes]]:
    """Makes the release. Returns its folder, and the files that only the tag and the archive have."""
    version = read_version(ROOT)
    if not (ROOT / ".git").exists():
        raise ReleaseError(f"{ROOT} is not a git checkout; a release is made from one, not from an archive")
    names = tree_files(ROOT)
    wrong = other_versions(ROOT, version, names)
    problems = not_ready(ROOT, version)
    if arguments.dry_run:
        for problem in problems:
            release_parts.note(f"before the release: {problem}")
        problems = []
    if not os.environ.get(KEY_VARIABLE):
        release_parts.note(f"nothing is signed: set {KEY_VARIABLE} to the name of a key of GnuPG")
    if wrong or problems:
        raise ReleaseError("this tree cannot be released:\n  " + "\n  ".join(wrong + problems))
    output = (arguments.output or ROOT / "dist" / version).resolve()
    if output.exists() and any(output.iterdir()):
        raise ReleaseError(f"{output} is not empty: remove it, or name another folder with --output")
    output.parent.mkdir(parents=True, exist_ok=True)
    date = source_date(ROOT)
    # All or nothing: the folder has its name only when every part is complete.
    with tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=output.parent) as scratch:
        folder, work = Path(scratch, "release"), Path(scratch, "work")
        folder.mkdir()
        work.mkdir()
        request = Request(ROOT, version, date, folder, work, arguments)
        if "android" in arguments.parts:
            release_parts.make_android(request)
        # Before the source archive, because the archive and the tag have the release.json that this writes.
        written = release_parts.make_apple(request) if "apple" in arguments.parts else {}
        if {"source", "python"} & set(arguments.parts):
            archive = (folder if "source" in arguments.parts else work) / f"pte-sdk-{version}-full.tar.gz"
            write_archive(archive, ROOT, names, fetched(), date, written)
            release_parts.made(archive)
            if "python" in arguments.parts:
                release_parts.make_python(request, archive)
        if "web" in arguments.parts:
            release_parts.make_web(request)
        if "sbom" in arguments.parts:
            write_bill(folder / f"pte-sdk-{version}.spdx.json", version, date, PINS)
            release_parts.made(folder / f"pte-sdk-{version}.spdx.json")
        notes, _ = changelog_section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
        (folder / "RELEASE_NOTES.md").write_text(f"# pte-sdk {version}\n\n{notes}\n", encoding="utf-8")
        if os.environ.get(KEY_VARIABLE):
            for path in sorted(folder.glob("maven/**/*")):
                if path.suffix in (".aar", ".jar", ".pom", ".module"):
                    sign(path)
            sign(write_sums(folder))
        else:
            write_sums(folder)
        if output.exists():
            output.rmdir()
        folder.replace(output)
    return output, written


def fetched() -> dict[str, Path]:
    """The folders of all third-party sources."""
    fetch = [sys.executable, str(ROOT / "scripts" / "third_party"), "--print", *PINS]
    folders = subprocess.run(fetch, stdout=subprocess.PIPE, text=True)
    if folders.returncode:
        raise ReleaseError("a third-party source is missing; the lines above say which, and what to do")
    return dict(zip(PINS, map(Path, folders.stdout.splitlines()), strict=True))


def tag(root: Path, version: str, written: dict[str, bytes]) -> None:
    """Makes the tag v<version>: the current commit and, above it, the files in `written`.

    The branch, the index and the files of the tree stay as they are.
    """

    def git(*command: str, content: bytes | None = None, **environment: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(root), *command],
            input=content,
            capture_output=True,
            env={**os.environ, **environment},
            check=False,
        )
        if done.returncode:
            raise ReleaseError(f"git {command[0]} failed: {done.stderr.decode().strip()}")
        return done.stdout.decode().strip()

    commit = "HEAD"
    if written:
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
            git("read-tree", "HEAD", **index)
            for name, content in sorted(written.items()):
                blob = git("hash-object", "-w", "--stdin", content=content)
                git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", **index)
            tree = git("write-tree", **index)
        commit = git("commit-tree", tree, "-p", "HEAD", "-m", f"Release {version}: checksums of the xcframeworks")
    key = os.environ.get(KEY_VARIABLE)
    git("tag", *(["-s", "-u", key] if key else ["-a"]), "-m", f"Version {version}", f"v{version}", commit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="note what is not ready for a release, and go on")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="only these (default: all)")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="a new or empty folder (default: dist/<version>)")
    parser.add_argument("--tag", action="store_true", help="make the tag v<version>, signed if there is a key")
    parser.add_argument(
        "--wheels", type=Path, metavar="FOLDER", help="part python: take the wheels and the sdist that are there"
    )
    parser.add_argument(
        "--aar", type=Path, metavar="FOLDER", help="part android: take what scripts/build_android_library.sh made there"
    )
    parser.add_argument(
        "--frameworks",
        type=Path,
        metavar="FOLDER",
        help="part apple: take what scripts/build_apple_frameworks.sh made there",
    )
    parser.add_argument(
        "--web", type=Path, metavar="FOLDER", help="part web: take the package that sdk/web/build made there"
    )
    parser.add_argument("--url", help="part apple: where the files of the release will be, for Package.swift")
    arguments = parser.parse_args()
    if arguments.tag and (arguments.dry_run or arguments.parts != list(PARTS)):
        parser.error("--tag needs all parts, and no --dry-run")
    if shutil.which("git") is None:
        raise SystemExit("make_release: git is missing; it says which files belong to the release")
    try:
        output, written = make(arguments)
        if arguments.tag:
            tag(ROOT, read_version(ROOT), written)
    except ReleaseError as error:
        raise SystemExit(f"make_release: {error}") from None
    print(f"make_release: {output}: {len((output / 'SHA256SUMS').read_text().splitlines())} files")
