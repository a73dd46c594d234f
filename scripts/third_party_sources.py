# SPDX-License-Identifier: BSD-3-Clause
"""Fetch pinned third-party sources into <output>/<name>, and check them byte for byte.

The output folder is third_party/ where the tree has one (the full source archive of a release), otherwise
.cache/third_party/.

Sources are tried in this order, and every one of them must give the same bytes:
  1. the sources that are already unpacked there (then nothing is done and nothing is printed);
  2. a folder of archives named by EXECUTORCH_THIRD_PARTY_MIRROR;
  3. the upstream archive, unless PyPI's source distribution replaces it, which pip downloads;
  4. Debian's source package, through apt with a private configuration (no root, no change to the machine), or the npm
     package, through npm.

Archives of one release differ between hosts (compression, extra files), so the content is pinned: the SHA-256 over the
sorted paths and file hashes of the part that the builds use. Archives of Debian, of npm and of PyPI also have their own
hash. A release that none of them has comes from its upstream or the mirror.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import fnmatch
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

from third_party_pins import PINS, Pin

MIRROR_VARIABLE = "EXECUTORCH_THIRD_PARTY_MIRROR"
STAMP = ".content-sha256"
NETWORK_TIMEOUT_S = 30


class SourceError(Exception):
    """A source did not provide the pinned bytes; the message says why."""


def note(text: str) -> None:
    print(f"third_party: {text}", file=sys.stderr, flush=True)


def content_hash(root: pathlib.Path) -> str:
    """SHA-256 over `sha256(file)  path` lines, sorted by path. A link is hashed by its target."""
    lines = []
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if name == STAMP or (path.is_dir() and not path.is_symlink()):
            continue
        data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        lines.append(f"{name}\0{hashlib.sha256(data).hexdigest()}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def unpack(archive: pathlib.Path, pin: Pin, target: pathlib.Path) -> None:
    """Unpack the kept part of `archive`, without its top folder if it has a single one, and only below `target`."""
    with tarfile.open(archive) as tar:
        members = [member for member in tar.getmembers() if member.isfile() or member.issym()]
        names = [re.sub(r"^\./", "", member.name) for member in members]
        tops = {name.split("/", 1)[0] for name in names}
        strip = len(tops) == 1 and all("/" in name for name in names)
        links = []
        for member, full_name in zip(members, names, strict=True):
            name = full_name.split("/", 1)[1] if strip else full_name
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in pin.keep):
                continue
            if name.startswith("/") or ".." in name.split("/"):
                raise SourceError(f"{archive.name} holds the path {name!r}, which leaves the folder")
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                links.append((path, member.linkname))
                continue
            source = tar.extractfile(member)
            assert source is not None
            with source, path.open("wb") as out:
                shutil.copyfileobj(source, out)
            path.chmod(0o755 if member.mode & 0o100 else 0o644)
        for path, linkname in links:  # links are created last, so that no file is written through one
            path.symlink_to(linkname)


def check_archive(path: pathlib.Path, pin: Pin) -> pathlib.Path:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if pin.archive_sha256 and found != pin.archive_sha256:
        raise SourceError(f"{path.name} has SHA-256 {found}, expected {pin.archive_sha256}")
    return path


def from_mirror(pin: Pin, scratch: pathlib.Path) -> pathlib.Path:
    folder = os.environ.get(MIRROR_VARIABLE)
    if not folder:
        raise SourceError(f"{MIRROR_VARIABLE} is not set")
    path = pathlib.Path(folder) / pin.file
    if not path.is_file():
        raise SourceError(f"{path} does not exist")
    return check_archive(path, pin)


def from_upstream(pin: Pin, scratch: pathlib.Path) -> pathlib.Path:
    path = scratch / "upstream.tar.gz"
    request = urllib.request.Request(pin.url, headers={"User-Agent": "third_party"})
    try:
        with urllib.request.urlopen(request, timeout=NETWORK_TIMEOUT_S) as response, path.open("wb") as out:
            shutil.copyfileobj(response, out)
    except (urllib.error.URLError, OSError) as error:
        raise SourceError(f"{pin.url}: {getattr(error, 'reason', error)}") from error
    return path


def debian_mirror() -> str:
    """The Debian mirror of this machine, so that a local mirror or proxy setting is used."""
    root = pathlib.Path("/etc/apt")
    for path in [root / "sources.list", *sorted((root / "sources.list.d").glob("*"))]:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            for line in path.read_text().splitlines():
                found = re.match(r"(?:URIs:|deb(?:-src)?(?:\s+\[[^]]*\])?)\s+(\S+/debian/?)(?:\s|$)", line)
                if found:
                    return found[1].rstrip("/")
    raise SourceError("apt names no Debian mirror on this machine")


def from_debian(pin: Pin, scratch: pathlib.Path) -> pathlib.Path:
    if shutil.which("apt-get") is None:
        raise SourceError("apt-get is not on this machine")
    root = scratch / "apt"
    for folder in ("lists/partial", "cache/archives/partial", "sources.d"):
        (root / folder).mkdir(parents=True)
    # apt would download as the user _apt if it exists, who cannot access the private scratch folder.
    sources = root / "sources.list"
    keyring = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    signed = f" [signed-by={keyring}]" if keyring.exists() else ""
    sources.write_text(f"deb-src{signed} {debian_mirror()} {pin.suite} main\n")
    settings = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": root / "sources.d",
        "Dir::State::Lists": root / "lists",
        "Dir::Cache": root / "cache",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "Acquire::http::Timeout": NETWORK_TIMEOUT_S,
    }
    options = [argument for key, value in settings.items() for argument in ("-o", f"{key}={value}")]
    for command in (["update"], ["source", "--tar-only", "--download-only", pin.package]):
        done = subprocess.run(["apt-get", "-q", *options, *command], cwd=scratch, text=True, capture_output=True)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if line.startswith(("E:", "Err"))]
            raise SourceError(f"apt-get {command[0]} ({pin.suite}): {' '.join(errors) or done.stderr[-300:]}")
    path = scratch / pin.archive
    if not path.is_file():
        found = ", ".join(sorted(entry.name for entry in scratch.glob("*.tar.*"))) or "nothing"
        raise SourceError(f"Debian {pin.suite} no longer has {pin.archive} (it gave {found})")
    return check_archive(path, pin)


def from_npm(pin: Pin, scratch: pathlib.Path) -> pathlib.Path:
    if shutil.which("npm") is None:
        raise SourceError("npm is not on this machine")
    command = ["npm", "pack", "--ignore-scripts", "--silent", pin.package]
    done = subprocess.run(command, cwd=scratch, text=True, capture_output=True)
    path = scratch / pin.archive
    if done.returncode != 0 or not path.is_file():
        raise SourceError(f"npm pack {pin.package}: {done.stderr.strip()[-300:] or 'it gave no ' + pin.archive}")
    return check_archive(path, pin)


def from_pypi(pin: Pin, scratch: pathlib.Path) -> pathlib.Path:
    # An isolated build of a wheel hides pip by PYTHONPATH, and some virtual environments do not have it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    has_pip = subprocess.run([sys.executable, "-m", "pip", "--version"], env=environment, capture_output=True)
    pip = [sys.executable, "-m", "pip"] if has_pip.returncode == 0 else [shutil.which("pip3") or "pip"]
    name = pin.pypi.partition("==")[0]
    # pip runs the archive's build to read its metadata, so it may run only for the pinned archive.
    wanted = scratch / "requirements.txt"
    wanted.write_text(f"{pin.pypi} --hash=sha256:{pin.archive_sha256}\n")
    command = [*pip, "download", "--quiet", "--no-deps", "--no-binary", name, "--requirement", str(wanted)]
    try:
        done = subprocess.run(command, cwd=scratch, env=environment, text=True, capture_output=True)
    except OSError as error:
        raise SourceError(f"{pin.pypi}: there is no pip, which downloads it ({error})") from error
    path = scratch / pin.file
    if done.returncode != 0 or not path.is_file():
        reason = done.stderr.strip()[-300:] or f"it gave no {pin.file}"
        raise SourceError(f"pip download {pin.pypi}: {reason}")
    return check_archive(path, pin)


def sources(pin: Pin) -> tuple[tuple[str, Callable[[Pin, pathlib.Path], pathlib.Path]], ...]:
    """The sources of a release, in order: the label in messages, and the function that fetches the archive."""
    found = [("mirror folder", from_mirror)]
    if pin.pypi:
        return (*found, ("PyPI source distribution", from_pypi))
    found.append(("upstream archive", from_upstream))
    if pin.package:
        found.append(("Debian source package", from_debian) if pin.suite else ("npm package", from_npm))
    return tuple(found)


@contextlib.contextmanager
def locked(path: pathlib.Path) -> Iterator[None]:
    """Takes a lock, so that two builds that start at once do not unpack into the same folder."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def default_output() -> pathlib.Path:
    root = pathlib.Path(__file__).resolve().parent.parent
    carried = root / "third_party"
    return carried if carried.is_dir() else root / ".cache" / "third_party"


def is_current(target: pathlib.Path, pin: Pin) -> bool:
    stamp = target / STAMP
    return stamp.is_file() and stamp.read_text().strip() == pin.content_sha256


def install(name: str, pin: Pin, output: pathlib.Path, only: str | None) -> None:
    target = output / name
    tried = []
    for label, fetch in sources(pin):
        if only and not label.startswith(only):
            continue
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=output) as folder:
            scratch = pathlib.Path(folder)
            try:
                if label != "mirror folder":
                    note(f"{name}: fetching ({label}) ...")
                unpacked = scratch / "unpacked"
                unpacked.mkdir()
                unpack(fetch(pin, scratch), pin, unpacked)
                found = content_hash(unpacked)
                if found != pin.content_sha256:
                    raise SourceError(f"its content has SHA-256 {found}, expected {pin.content_sha256}")
            except (SourceError, OSError, tarfile.TarError) as error:
                tried.append(f"{label}: {error}")
                continue
            (unpacked / STAMP).write_text(pin.content_sha256 + "\n")
            if target.exists():
                target.rename(scratch / "replaced")
            unpacked.rename(target)
            note(f"{name}: ready in {target} ({label})")
            return
    reasons = "".join(f"\n    - {reason}" for reason in tried)
    hash_of_file = f" (SHA-256 {pin.archive_sha256})" if pin.archive_sha256 else ""
    raise SystemExit(
        f"third_party: {name} could not be fetched. What was tried:{reasons}\n"
        f"  Connect this machine to one of these sources, or put {pin.file}{hash_of_file}\n"
        f"  into a folder and set {MIRROR_VARIABLE} to it, then run the same command again."
    )


def install_all(names: list[str], output: pathlib.Path, only: str | None) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
        with locked(output / ".lock"):
            for name in names:
                if not is_current(output / name, PINS[name]):
                    install(name, PINS[name], output, only)
    except OSError as error:
        raise SystemExit(
            f"third_party: {output} cannot be written: {error}. Name another folder with --output."
        ) from error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(PINS)} (default: flatbuffers)")
    parser.add_argument(
        "--output", type=pathlib.Path, default=default_output(), help="where to unpack (default: %(default)s)"
    )
    parser.add_argument(
        "--only", choices=("mirror", "upstream", "Debian", "npm", "PyPI"), help="try one source only, to test it"
    )
    parser.add_argument("--print", action="store_true", help="print the folder of each name on standard output")
    parser.add_argument("--list", action="store_true", help="print all names, and do nothing")
    parser.add_argument(
        "--current", action="store_true", help="print the names whose pinned sources are there, and do nothing"
    )
    arguments = parser.parse_args()
    if arguments.current:
        print(*(name for name, pin in PINS.items() if is_current(arguments.output / name, pin)))
        return
    if arguments.list:
        print(*PINS)
        return
    names = arguments.names or ["flatbuffers"]
    unknown = [name for name in names if name not in PINS]
    if unknown:
        parser.error(f"unknown name {', '.join(unknown)}; the names are {', '.join(PINS)}")
    if not all(is_current(arguments.output / name, PINS[name]) for name in names):  # else it may be read-only
        install_all(names, arguments.output, arguments.only)
    if arguments.print:
        print(*(arguments.output / name for name in names), sep="\n")
