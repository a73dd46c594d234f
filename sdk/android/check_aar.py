#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails unless a file is an AAR that Android's tools and devices accept: checks its parts, manifest and native
libraries."""

from __future__ import annotations

import argparse
import io
import json
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from xml.etree import ElementTree

C_API = Path(__file__).resolve().parents[1] / "cpp/executorch/extension/c_api"
sys.path.insert(0, str(C_API))
from check_exports import DECLARED  # noqa: E402

PAGE = 16384
MACHINES = {"arm64-v8a": 183, "x86_64": 62, "armeabi-v7a": 40, "x86": 3}
# BIONIC: libraries that every Android has. HOST: the libraries of glibc and of C++, for the same library built for this
# machine.
BIONIC = {"libc.so", "libm.so", "libdl.so", "liblog.so"}
HOST = {
    *("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"),
    *("libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"),
}
ANDROID = "{http://schemas.android.com/apk/res/android}"
# An exported symbol in a line of `readelf --dyn-syms`.
SYMBOL = re.compile(r" (FUNC|OBJECT) +(GLOBAL|WEAK) +DEFAULT +(?!UND)\w+ ")
MEMBERS = re.compile(
    r"AndroidManifest\.xml|R\.txt|classes\.jar|proguard\.txt|META-INF/com/android/.*|jni/[^/]+/lib[^/]+\.so|prefab/.*"
)
CLASSES = ("Module", "Tensor", "EValue", "DType", "MethodMetadata", "ExecuTorchRuntime", "ExecutorchRuntimeException")
KEPT = ("Native", "EValue", "Tensor", "Run", "ExecutorchRuntimeException")
PREFAB, PREFAB_MODULE = "prefab/prefab.json", "prefab/modules/executorch_c"
PARTS = {"AndroidManifest.xml", "R.txt", "classes.jar", "proguard.txt", PREFAB, f"{PREFAB_MODULE}/module.json"}


def segments(elf: bytes) -> list[tuple[int, int, int, int]]:
    """Type, offset, address and alignment of each segment of an ELF file (System V gABI, chapter 5)."""
    wide = elf[4] == 2
    start = struct.unpack_from("<Q" if wide else "<I", elf, 32 if wide else 28)[0]
    size, count = struct.unpack_from("<HH", elf, 54 if wide else 42)
    found = []
    for i in range(count):
        if wide:
            kind, _, offset, address, _, _, _, align = struct.unpack_from("<IIQQQQQQ", elf, start + i * size)
        else:
            kind, offset, address, _, _, _, _, align = struct.unpack_from("<IIIIIIII", elf, start + i * size)
        found.append((kind, offset, address, align))
    return found


def check_elf(name: str, elf: bytes) -> list[str]:
    """Returns what is wrong with a shared library of this SDK or of a vendor."""
    abi = name.split("/")[1]
    if elf[:4] != b"\x7fELF":
        return [f"{name} is not an ELF file"]
    wrong = []
    machine = struct.unpack_from("<H", elf, 18)[0]
    if machine != MACHINES.get(abi):
        wrong.append(f"{name} is for machine {machine}, {abi} is {MACHINES.get(abi)}")
    for kind, offset, address, align in segments(elf):
        if kind == 1 and (align < PAGE or align % PAGE or (offset - address) % PAGE):
            wrong.append(f"{name} has a segment aligned to {align} bytes: too little for pages of {PAGE}")
    return wrong


def check_library(name: str, elf: bytes, host: bool, functions: set[str]) -> list[str]:
    """Returns what is wrong with this SDK's library. It must export `functions`, the C interface."""
    wrong = check_elf(name, elf)
    if wrong:
        return wrong
    with tempfile.NamedTemporaryFile() as file:
        file.write(elf)
        file.flush()
        command = ["readelf", "-W", "-d", "--dyn-syms", file.name]
        dynamic = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    if needed - (HOST if host else BIONIC):
        wrong.append(f"{name} needs {sorted(needed - (HOST if host else BIONIC))}, which not every device has")
    exported = {line.split()[-1].split("@")[0] for line in dynamic.splitlines() if SYMBOL.search(line)}
    exported.discard("EXECUTORCH_C_1")  # the name of the symbols' version
    wanted = {"JNI_OnLoad", *functions}
    wrong += [f"{name} does not export {function}" for function in sorted(wanted - exported)]
    wrong += [f"{name} exports {function}, which is not of its interface" for function in sorted(exported - wanted)]
    return wrong


def check_prefab(members: dict[str, bytes]) -> list[str]:
    """The prefab package, as its documentation describes it: its metadata, and for each ABI the AAR's own library."""
    wrong = []
    package = json.loads(members[PREFAB])
    if (package["schema_version"], package["name"], package["dependencies"]) != (2, "executorch", []):
        wrong.append(f"{PREFAB} describes another package: {package}")
    if not re.fullmatch(r"\d+(\.\d+){0,3}", package["version"]):
        wrong.append(f"{PREFAB} has the version {package['version']}, which CMake cannot read")
    library_name = json.loads(members[f"{PREFAB_MODULE}/module.json"])["library_name"]
    for name in [name for name in members if name.startswith("jni/") and name.endswith("/libexecutorch.so")]:
        abi = name.split("/")[1]
        folder = f"{PREFAB_MODULE}/libs/android.{abi}"
        if members.get(f"{folder}/{library_name}.so") != members[name]:
            wrong.append(f"{folder}/{library_name}.so is not {name}")
        found = json.loads(members.get(f"{folder}/abi.json", b"{}"))
        # Prefab refuses a shared library that names a static STL, for any app.
        expected = {"abi": abi, "api": 21, "ndk": found.get("ndk"), "stl": "none", "static": False}
        if found != expected or not isinstance(found.get("ndk"), int):
            wrong.append(f"{folder}/abi.json describes another library: {found}")
    return wrong


def check_manifest(text: bytes) -> list[str]:
    root = ElementTree.fromstring(text)
    sdk = root.find("uses-sdk")
    wrong = []
    if root.get("package") != "org.pytorch.executorch":
        wrong.append(f"the manifest's package is {root.get('package')}")
    if sdk is None or sdk.get(f"{ANDROID}minSdkVersion") != "21":
        wrong.append("the manifest's minSdkVersion is not 21")
    if any(element.tag not in ("manifest", "uses-sdk") for element in root.iter()):
        wrong.append("the manifest declares permissions or components: a library that only computes needs none")
    return wrong


def link_with_aapt2(manifest: bytes, framework: Path) -> list[str]:
    """What aapt2, which converts the manifest in the build of an app, says is wrong with it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "AndroidManifest.xml"
        path.write_bytes(manifest)
        command = ["aapt2", "link", "-o", f"{folder}/out.apk", "--manifest", str(path), "-I", str(framework)]
        done = subprocess.run(command, capture_output=True, text=True)
    return [f"aapt2 refuses the manifest: {done.stderr.strip()}"] if done.returncode else []


def check(path: Path, host: bool, framework: Path | None) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    wrong = [f"{name} is missing" for name in sorted(PARTS - set(members))]
    if wrong:
        return wrong
    wrong += [f"{name} does not belong in it" for name in members if not MEMBERS.fullmatch(name)]
    libraries = [name for name in members if name.startswith("jni/")]
    if not any(name.endswith("/libexecutorch.so") for name in libraries):
        wrong.append("there is no native library")
    headers = [text.decode() for name, text in members.items() if name.startswith(f"{PREFAB_MODULE}/include/")]
    functions = {function for text in headers for function in DECLARED.findall(text)}
    if not functions:
        wrong.append("the prefab package has no headers")
    for name in libraries:
        ours = name.endswith("/libexecutorch.so")
        wrong += check_library(name, members[name], host, functions) if ours else check_elf(name, members[name])
    wrong += check_prefab(members)
    wrong += check_manifest(members["AndroidManifest.xml"])
    if framework is not None:
        wrong += link_with_aapt2(members["AndroidManifest.xml"], framework)
    with zipfile.ZipFile(io.BytesIO(members["classes.jar"])) as classes:
        names = set(classes.namelist())
        for name in names:
            if name.endswith(".class") and struct.unpack(">H", classes.read(name)[6:8])[0] > 52:
                wrong.append(f"{name} is compiled for Java after 8")
    for wanted in CLASSES:
        if f"org/pytorch/executorch/{wanted}.class" not in names:
            wrong.append(f"classes.jar has no {wanted}")
    # R8 must keep the names that the native library looks up.
    rules = members["proguard.txt"].decode()
    wrong += [f"proguard.txt does not keep {kept}" for kept in KEPT if f".{kept} " not in rules]
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("aar", type=Path)
    parser.add_argument("--host", action="store_true", help="its library is this machine's")
    parser.add_argument("--framework", type=Path, help="an android.jar or framework-res.apk: runs aapt2 too")
    args = parser.parse_args()
    wrong = check(args.aar, args.host, args.framework)
    print("\n".join(wrong) or f"{args.aar.name} is correct")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
