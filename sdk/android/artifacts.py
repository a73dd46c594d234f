#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The artifacts of the Android library. An app depends on one of them.

    artifacts.py NAME

prints the id of an artifact, and below it the options of CMake for its native library. NAME is `default` (the backends
whose manifest names Android), `cpu` (none), or the name of a backend, which is added to those of `default`.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BACKENDS = Path(__file__).resolve().parents[2] / "backends"
GROUP, BASE = "org.pytorch", "executorch-android"


@dataclass(frozen=True)
class Artifact:
    """An artifact, and the parts of its native library besides the kernels for CPUs."""

    name: str
    manifests: tuple[dict[str, Any], ...]
    options: tuple[str, ...]

    @property
    def backends(self) -> tuple[str, ...]:
        """The titles of the backends. A backend whose SDK is missing is left out, here and in the library."""
        return tuple(m["title"] for m in self.manifests if "sdk" not in m or _folder(m) or _file(m))

    @property
    def id(self) -> str:
        """The artifact's id in Maven."""
        return BASE if self.name == "default" else f"{BASE}-{self.name}"

    @property
    def contents(self) -> str:
        """A readable description: `kernels for CPUs`, and the backends."""
        return ", ".join(("kernels for CPUs", *self.backends))

    def vendor_libraries(self, abi: str) -> list[Path]:
        """The shared libraries of vendors that the AAR carries for an ABI.

        The environment names the folders that contain them, or the library itself. A backend whose SDK is missing is
        left out of the native library, too.

        Raises ValueError if an SDK lacks a library.
        """
        found = []
        for manifest in self.manifests:
            names = manifest.get("libraries", {}).get("android", [])
            folder, file = (_folder(manifest), _file(manifest)) if names else ("", "")
            paths = [Path(folder, name.format(abi=abi)) for name in names if folder] or [Path(file)] * bool(file)
            for path in paths:
                if not path.is_file():
                    raise ValueError(
                        f"there is no {path}, which the AAR carries for {manifest['title']}: "
                        f"{manifest['sdk']['variable']} must name the folder of {manifest['sdk']['text']}"
                    )
                found.append(path)
        return found


def _folder(manifest: dict[str, Any]) -> str:
    """The folder of a backend's SDK; empty if the environment does not name it."""
    return os.environ.get(manifest["sdk"]["variable"], "")


def _file(manifest: dict[str, Any]) -> str:
    """The library of a backend's SDK, which a variable may name instead of the folder; empty without one."""
    return os.environ.get(manifest["sdk"].get("file", ""), "")


def artifact(name: str) -> Artifact:
    """Raises ValueError for an unknown name of an artifact."""
    manifests = {}
    for path in sorted((*BACKENDS.glob("*/backend.json"), *BACKENDS.glob("*/*/backend.json"))):
        manifest = json.loads(path.read_text("utf-8"))
        manifests[manifest["name"].rpartition("/")[2]] = manifest
    usual = [key for key, manifest in manifests.items() if "android" in manifest["platforms"]]
    if name == "cpu":
        return Artifact(name, (), ("-DEXECUTORCH_BUILD_BACKENDS=none",))
    if name in usual:
        raise ValueError(f"{BASE} has the backend {name}: take the artifact `default`")
    if name != "default" and name not in manifests:
        raise ValueError(f"there is no artifact {name}; expected default, cpu or a backend: {', '.join(manifests)}")
    options = ["-DEXECUTORCH_BUILD_BACKENDS=android"]
    if name != "default":
        options.append(f"-D{manifests[name]['option']}=ON")
        usual.append(name)
    return Artifact(name, tuple(manifests[key] for key in usual), tuple(options))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: artifacts.py NAME", file=sys.stderr)
        return 2
    try:
        found = artifact(arguments[0])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(found.id, *found.options, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
