# SPDX-License-Identifier: BSD-3-Clause
"""The files of an arm64 Linux for QEMU's -L: Debian's Python and the peers' wheels, unpacked and not installed, and for
each processor a /proc/cpuinfo, which QEMU takes from there instead of the host's."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from bench.arm.counting import CACHE
from bench.arm.processors import Processor
from bench.environments import ENGINES, REQUIREMENTS
from bench.worker import ROOT

SUITE = "bookworm"
PACKAGES = [
    *("libc6", "libstdc++6", "libgcc-s1", "libgomp1", "zlib1g", "libexpat1", "libffi8", "liblzma5", "libbz2-1.0"),
    *("libssl3", "libuuid1", "libcrypt1", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib"),
]
PYTHON = "usr/bin/python3.11"
WHEELS = {
    "ncnn": ("ncnn", "numpy"),
    "mnn": ("MNN", "numpy"),
    "litert": ("ai-edge-litert", "numpy"),
    "onnxruntime": ("onnxruntime", "numpy"),
    "openvino": ("openvino", "numpy"),
}
"""The packages that the modules of bench.engines import when they run a program."""
PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")


def system_of(processor: Processor) -> Path:
    """The folder of Debian's files with the processor's /proc and /sys."""
    folder = CACHE / "systems" / processor.name
    files = {"proc/cpuinfo": processor.cpuinfo}
    # The libraries choose numbers of threads by these.
    files |= {f"sys/devices/system/cpu/{name}": "0\n" for name in ("possible", "present", "online")}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for entry in _debian().iterdir():
        link = folder / entry.name
        if not link.is_symlink():
            link.symlink_to(entry.resolve())
    return folder


def _debian() -> Path:
    """Debian's packages for arm64, downloaded by a separate apt, so that the machine's is not changed."""
    folder = CACHE / "debian"
    if folder.exists():
        return folder
    work = CACHE / "apt"
    shutil.rmtree(work, ignore_errors=True)
    for name in ("lists/partial", "cache/archives/partial", "sources.d", "packages", "root"):
        (work / name).mkdir(parents=True)
    keyring = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    signed = f" signed-by={keyring}" if keyring.exists() else ""
    (work / "sources.list").write_text(f"deb [arch=arm64{signed}] {_mirror()} {SUITE} main\n")
    (work / "status").touch()
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Dir::Cache": work / "cache",
        "Dir::Etc::SourceList": work / "sources.list",
        "Dir::Etc::SourceParts": work / "sources.d",
        "Dir::State::Lists": work / "lists",
        "Dir::State::status": work / "status",
    }
    options = [argument for key, value in settings.items() for argument in ("-o", f"{key}={value}")]
    for command in (["update"], ["download", *PACKAGES]):
        subprocess.run(["apt-get", "-q", *options, *command], cwd=work / "packages", check=True, stdout=sys.stderr)
    for package in sorted((work / "packages").glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(work / "root")], check=True)
    (work / "root").rename(folder)
    return folder


def _mirror() -> str:
    """The Debian mirror that scripts/third_party uses."""
    sys.path.insert(0, str(ROOT / "scripts"))
    from third_party_sources import debian_mirror

    return debian_mirror()


def wheels_of(engine: str) -> Path:
    """A folder with the engine's packages for arm64."""
    wanted = requirements(engine)
    folder = CACHE / "wheels" / engine
    stamp = folder / "requirements.txt"
    if stamp.exists() and stamp.read_text().split() == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    platforms = [argument for name in PLATFORMS for argument in ("--platform", name)]
    abi = ["--only-binary=:all:", "--python-version=3.11", "--implementation=cp", "--abi=cp311", "--abi=none"]
    command = [sys.executable, "-m", "pip", "install", "-q", *platforms, *abi, "--target", str(folder), *wanted]
    subprocess.run(command, check=True, stdout=sys.stderr)
    stamp.write_text("\n".join(wanted))
    return folder


def requirements(engine: str) -> list[str]:
    """The packages that run the engine's programs, in the versions that write them."""
    own = ENGINES / f"{engine}.txt"
    lines = (own if own.exists() else REQUIREMENTS).read_text().splitlines()
    pins = {re.split("[=<>]", line)[0]: line for line in lines if line and not line.startswith("#")}
    return [pins.get(name, name) for name in WHEELS[engine]]
