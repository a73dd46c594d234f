#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes an xcframework from static libraries, and checks one.

    xcframework.py assemble OUTPUT.xcframework SLICE=LIBRARY.a ...
    xcframework.py check OUTPUT.xcframework [--header HEADER ...] [--symbol NAME ...] [--needs OTHER.xcframework ...]

PLATFORMS lists the slices. `check` examines the Info.plist and the processor and
platform of every object file. Everything that each --header declares with ET_API, and each --symbol, must be defined
once. Symbols that the library imports, except Apple's, must be defined in it or in a library that --needs names.
"""

from __future__ import annotations

import argparse
import plistlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from macho import MachO, archive_members

PLATFORMS = {
    "ios-arm64": ("ios", None, 2),
    "ios-arm64-simulator": ("ios", "simulator", 7),
    "ios-arm64-maccatalyst": ("ios", "maccatalyst", 6),
    "macos-arm64": ("macos", None, 1),
    "xros-arm64": ("xros", None, 11),
    "xros-arm64-simulator": ("xros", "simulator", 12),
}
"""Slice -> SupportedPlatform, SupportedPlatformVariant, and the platform's number in object files."""


OURS = re.compile(r"_(_ZN?K?\d*(10executorch|5torch)|et_|executorch_|xnn_|pthreadpool_|cpuinfo_)")
"""Symbols that no library of Apple defines."""


def assemble(output: Path, libraries: dict[str, Path]) -> None:
    """Writes `output`, and replaces an existing one. The libraries keep their names."""
    shutil.rmtree(output, ignore_errors=True)
    entries = []
    for slice_, library in libraries.items():
        platform, variant, _ = PLATFORMS[slice_]
        folder = output / slice_
        folder.mkdir(parents=True)
        shutil.copyfile(library, folder / library.name)
        entry = {
            "LibraryIdentifier": slice_,
            "LibraryPath": library.name,
            "BinaryPath": library.name,
            "SupportedArchitectures": ["arm64"],
            "SupportedPlatform": platform,
        }
        if variant is not None:
            entry["SupportedPlatformVariant"] = variant
        entries.append(entry)
    plist = {"AvailableLibraries": entries, "CFBundlePackageType": "XFWK", "XCFrameworkFormatVersion": "1.0"}
    (output / "Info.plist").write_bytes(plistlib.dumps(plist))


def problems(framework: Path, headers: list[Path], symbols: list[str], needs: list[Path]) -> Iterator[str]:
    """A line for each error in an xcframework that is linked with the ones that it `needs`."""
    try:
        plist = plistlib.loads((framework / "Info.plist").read_bytes())
    except (OSError, plistlib.InvalidFileException, ValueError) as error:
        yield f"Info.plist cannot be read: {error}"
        return
    if plist.get("CFBundlePackageType") != "XFWK" or plist.get("XCFrameworkFormatVersion") != "1.0":
        yield "Info.plist is not that of an xcframework of format 1.0"
    entries = plist.get("AvailableLibraries", [])
    if not entries:
        yield "Info.plist names no library"
    folders = {path.name for path in framework.iterdir() if path.is_dir()}
    if folders != {entry["LibraryIdentifier"] for entry in entries}:
        yield f"the folders are {sorted(folders)}, Info.plist names others"
    for entry in entries:
        name = entry["LibraryIdentifier"]
        for problem in _slice_problems(framework / name, entry, headers, symbols, needs):
            yield f"{name}: {problem}"


def _slice_problems(
    folder: Path, entry: dict[str, object], headers: list[Path], symbols: list[str], needs: list[Path]
) -> Iterator[str]:
    known = {(platform, variant): number for platform, variant, number in PLATFORMS.values()}
    platform = known.get((entry["SupportedPlatform"], entry.get("SupportedPlatformVariant")))  # type: ignore[call-overload]
    library = folder / str(entry["LibraryPath"])
    if not library.is_file():
        yield f"{library.name} is missing"
        return
    wanted = set(symbols)
    for header in headers:
        if not header.is_file():
            yield f"the header {header.name} is missing"
            continue
        wanted |= set(re.findall(r"^ET_API [^;(]*?\b(\w+)\(", header.read_text(encoding="utf-8"), re.MULTILINE))
    defined: dict[str, int] = {}
    linked: set[str] = set()
    undefined: set[str] = set()
    count = 0
    for name, content in archive_members(library.read_bytes()):
        count += 1
        try:
            object_ = MachO(content)
        except ValueError as error:
            yield f"{name}: {error}"
            continue
        if object_.architecture != "arm64":
            yield f"{name} is for {object_.architecture}"
        # An object without code may have no platform.
        if object_.platform not in (platform, None):
            yield f"{name} is for the platform {object_.platform}, not {platform}"
        for symbol in object_.defined:
            defined[symbol] = defined.get(symbol, 0) + 1
        linked.update(object_.defined, object_.hidden)
        undefined.update(object_.undefined)
    if count == 0:
        yield f"{library.name} holds no object files"
    for symbol in sorted(wanted):
        if defined.get(f"_{symbol}", 0) != 1:
            yield f"{symbol} is defined {defined.get(f'_{symbol}', 0)} times, expected once"
    for other in needs:
        for path in (other / folder.name).glob("*.a"):
            for _, content in archive_members(path.read_bytes()):
                object_ = MachO(content)
                linked.update(object_.defined, object_.hidden)
    for symbol in sorted(undefined - linked):
        if OURS.match(symbol):
            yield f"{symbol} is defined nowhere"


def main() -> int:
    """Runs one of the two commands. Returns 1 if `check` finds errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    assembling = commands.add_parser("assemble")
    assembling.add_argument("output", type=Path)
    assembling.add_argument("libraries", nargs="+", metavar="SLICE=LIBRARY.a")
    checking = commands.add_parser("check")
    checking.add_argument("framework", type=Path)
    checking.add_argument("--header", action="append", default=[], type=Path)
    checking.add_argument("--symbol", action="append", default=[])
    checking.add_argument("--needs", action="append", default=[], type=Path)
    args = parser.parse_args()
    if args.command == "assemble":
        libraries = dict(item.split("=", 1) for item in args.libraries)
        unknown = libraries.keys() - PLATFORMS.keys()
        if unknown:
            parser.error(f"there is no slice {sorted(unknown)[0]}; the slices are {', '.join(PLATFORMS)}")
        assemble(args.output, {slice_: Path(path) for slice_, path in libraries.items()})
        return 0
    found = list(problems(args.framework, args.header, args.symbol, args.needs))
    for problem in found:
        print(f"{args.framework.name}: {problem}")
    if not found:
        print(f"{args.framework.name}: good")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
