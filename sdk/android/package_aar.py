#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packs compiled files into an AAR and a Maven repository. The same input gives the same bytes.

The AAR has a prefab package (https://google.github.io/prefab) with the C interface, for native code of an app.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import re
import zipfile
from pathlib import Path

import maven
from artifacts import GROUP, artifact
from check_aar import C_API, DECLARED

HERE = Path(__file__).resolve().parent
LIBRARY = HERE / "executorch_android"
# The prefab package and its module: find_package(executorch), executorch::executorch_c, as with the C++ package.
PACKAGE, MODULE = "executorch", "executorch_c"
MIN_SDK = 21

STYLE = "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto}pre{white-space:pre-wrap}"
# Matches a comment, the text after it, and the declaration.
DECLARATION = re.compile(r"/\*\*(.*?)\*/\s*(?:@[^\n]*\n\s*)*(public[^{=\n]*(?:\([^)]*\)[^{=\n]*)?)", re.S)

AAR_METADATA = "aarFormatVersion=1.0\naarMetadataVersion=1.0\nminCompileSdk=21\n"


def write_zip(path: Path, members: dict[str, bytes]) -> None:
    """Sorted and without dates, so that the bytes depend only on the content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, members[name], compresslevel=9)


def jar(path: Path, members: dict[str, bytes]) -> bytes:
    write_zip(path, {"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\r\n\r\n", **members})
    return path.read_bytes()


def files_under(folder: Path, pattern: str) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob(pattern) if path.is_file()}


def documentation(sources: dict[str, bytes]) -> dict[str, bytes]:
    """A page for each file: the comments of the public declarations."""
    pages, links = {}, []
    for name, text in sorted(sources.items()):
        body = []
        found = DECLARATION.findall(text.decode())
        for comment, declaration in found:
            lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.strip().splitlines()]
            body.append(f"<pre><b>{html.escape(' '.join(declaration.split()))}</b></pre>")
            body.append(f"<pre>{html.escape(chr(10).join(lines))}</pre>")
        if body:
            title = Path(name).stem
            links.append(f'<li><a href="{title}.html">{title}</a></li>')
            page = f"<title>{title}</title><style>{STYLE}</style><h1>{title}</h1>{''.join(body)}"
            pages[f"{title}.html"] = page.encode()
    pages["index.html"] = f"<title>{GROUP}.executorch</title><style>{STYLE}</style><ul>{''.join(links)}</ul>".encode()
    return pages


def prefab(version: str, ndk: int, libraries: dict[str, bytes]) -> dict[str, bytes]:
    """The files of the prefab package: the headers of the C interface, and the libraries by ABI.

    Only the leading numbers of `version` are used, for CMake; `ndk` is the NDK's major version. The schema is 2.
    """
    module = f"prefab/modules/{MODULE}"
    numbers = re.match(r"\d+(\.\d+)*", version)
    assert numbers is not None
    package: dict[str, object] = {"schema_version": 2, "name": PACKAGE, "version": numbers[0], "dependencies": []}
    members: dict[str, dict[str, object]] = {
        "prefab/prefab.json": package,
        f"{module}/module.json": {"export_libraries": [], "library_name": "libexecutorch"},
    }
    for abi in libraries:
        # No STL: libc++ is linked statically, its symbols are hidden and the interface is C.
        description: dict[str, object] = {"abi": abi, "api": MIN_SDK, "ndk": ndk, "stl": "none", "static": False}
        members[f"{module}/libs/android.{abi}/abi.json"] = description
    # The interface; other headers of the folder are internal.
    headers = {path.name: path.read_bytes() for path in C_API.glob("*.h") if DECLARED.search(path.read_text("utf-8"))}
    return {
        **{name: (json.dumps(content, indent=2) + "\n").encode() for name, content in members.items()},
        **{f"{module}/libs/android.{abi}/libexecutorch.so": library for abi, library in libraries.items()},
        **{f"{module}/include/executorch/extension/c_api/{name}": header for name, header in headers.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=Path, required=True, help="the folder of the compiled classes")
    parser.add_argument("--library", action="append", default=[], required=True, metavar="ABI=FILE")
    parser.add_argument("--ndk", type=int, default=0, help="the major version of the NDK; 0: this machine's compiler")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--artifact", default="default", help="its name, as artifacts.py has it")
    parser.add_argument("--name", default="executorch.aar")
    parser.add_argument("--version", required=True)
    parser.add_argument("--kotlin", required=True, help="the version of kotlin-stdlib")
    args = parser.parse_args()
    try:
        made = artifact(args.artifact)
    except ValueError as error:
        parser.error(str(error))

    sources = files_under(LIBRARY / "src/main/java", "*.kt")
    classes = files_under(args.classes, "*.class") | files_under(args.classes, "*.kotlin_module")
    repository = args.out / "maven"
    folder, stem = maven.folder_of(repository, made.id, args.version), f"{made.id}-{args.version}"
    members = {
        "AndroidManifest.xml": (LIBRARY / "src/main/AndroidManifest.xml").read_bytes(),
        "META-INF/com/android/build/gradle/aar-metadata.properties": AAR_METADATA.encode(),
        "R.txt": b"",
        "classes.jar": jar(args.out / "classes.jar", classes),
        "proguard.txt": (LIBRARY / "consumer-proguard-rules.pro").read_bytes(),
    }
    libraries = {abi: Path(path).read_bytes() for abi, _, path in (library.partition("=") for library in args.library)}
    members |= {f"jni/{abi}/libexecutorch.so": library for abi, library in libraries.items()}
    try:
        vendors = [(abi, path) for abi in libraries for path in made.vendor_libraries(abi)]
    except ValueError as error:
        parser.error(str(error))
    members |= {f"jni/{abi}/{path.name}": path.read_bytes() for abi, path in vendors}
    members |= prefab(args.version, args.ndk, libraries)
    aar = args.out / args.name
    write_zip(aar, members)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}.aar").write_bytes(aar.read_bytes())
    jar(folder / f"{stem}-sources.jar", sources)
    jar(folder / f"{stem}-javadoc.jar", documentation(sources))
    (folder / f"{stem}.pom").write_text(maven.pom(made, args.version, args.kotlin), encoding="utf-8")
    module = maven.gradle_module(
        made, args.version, args.kotlin, folder / f"{stem}.aar", folder / f"{stem}-sources.jar"
    )
    (folder / f"{stem}.module").write_text(module, encoding="utf-8")
    bom = maven.write_bom(repository, args.version)
    for path in (*folder.glob(f"{stem}*"), bom):
        if path.suffix != ".sha256":
            maven.write_checksum(path)
    (args.out / f"{args.name}.sha256sums").write_text(f"{hashlib.sha256(aar.read_bytes()).hexdigest()}  {args.name}\n")
    (args.out / "classes.jar").unlink()
    print(f"{aar}: {aar.stat().st_size:,} bytes")
    for name, data in sorted(members.items()):
        print(f"  {name}: {len(data):,} bytes")


if __name__ == "__main__":
    main()
