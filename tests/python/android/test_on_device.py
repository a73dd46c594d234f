# SPDX-License-Identifier: BSD-3-Clause
"""sdk/android/test_on_device with stand-ins of adb and d8, which run the program on this machine: what is sent to the
device, what it starts, and the errors if something is missing. It has not been run with a device."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "sdk/android/test_on_device"
# The output of sdk/android/test: an AAR with this machine's library.
AAR = ROOT / "build/android/aar/executorch-host.aar"

# `push` copies below $DEVICE; `shell` runs there.
ADB = """#!/usr/bin/env bash
set -e
echo "$*" >>"${DEVICE}.log"
case "$1" in
  push) target="${DEVICE}${*: -1}"; [[ -d "${target}" ]] || exit 1; cp -r "${@:2:$#-2}" "${target}" ;;
  shell)
    [[ "$2" != getprop ]] || { [[ -n "${ABI}" ]] || exit 1; printf '%s\\r\\n' "${ABI}"; exit; }
    PATH="${STAND_INS}:${PATH}" bash -c "${2//\\/data\\/local/${DEVICE}/data/local}" ;;
esac
"""
# Java's own format: the classes and those of the libraries in one archive.
D8 = """#!/usr/bin/env python3
import sys, zipfile
from pathlib import Path
arguments = sys.argv[1:]
assert arguments[:4] == ["--release", "--min-api", "21", "--output"], arguments
with zipfile.ZipFile(arguments[4], "w") as jar:
    for path in map(Path, arguments[5:]):
        if path.suffix == ".class":
            jar.write(path, path.name)
        else:
            with zipfile.ZipFile(path) as library:
                for name in library.namelist():
                    if name.endswith(".class") and not name.startswith("META-INF/"):
                        jar.writestr(name, library.read(name))
"""
APP_PROCESS = '#!/usr/bin/env bash\n[[ "$2" == / ]] && exec java "$1" "${@:3}"\n'


@pytest.fixture
def device(tmp_path: Path) -> dict[str, str]:
    """Returns an environment with an empty device, and a folder with the stand-ins."""
    sdk = tmp_path / "sdk"
    files = {"platform-tools/adb": ADB, "build-tools/35.0.0/d8": D8, "stand_ins/app_process": APP_PROCESS}
    for name, text in files.items():
        path = sdk / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "device").mkdir()
    names = {"DEVICE": "device", "ANDROID_HOME": "sdk", "STAND_INS": "sdk/stand_ins"}
    return {**os.environ, **{name: str(tmp_path / folder) for name, folder in names.items()}, "ABI": "x86_64"}


def run(device: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=device, check=False)


@pytest.mark.skipif(not AAR.exists() or not shutil.which("javac"), reason="sdk/android/test makes the AAR")
def test_the_program_runs_with_the_library_of_the_aar(device: dict[str, str]) -> None:
    done = run(device, AAR)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "the shrunk app works"
    assert not list(Path(device["DEVICE"]).rglob("*.pte")), "it leaves nothing on the device"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "scripts/build_android_library.sh makes it"),
        ({"ANDROID_HOME": ""}, "adb is missing"),
        ({"ABI": ""}, "adb has no device"),
        ({"ABI": "armeabi-v7a"}, "the device is armeabi-v7a"),
    ],
)
def test_what_is_missing_is_said(device: dict[str, str], change: dict[str, str], said: str, tmp_path: Path) -> None:
    aar = tmp_path / "a.aar"
    if change:
        with zipfile.ZipFile(aar, "w") as archive:
            archive.writestr("jni/x86_64/libexecutorch.so", b"")
    done = run({**device, **change, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}, aar)
    assert done.returncode == 1
    assert said in done.stderr
    assert not list(Path(device["DEVICE"]).iterdir()), "nothing is sent"
