#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The artifacts of the Android library, of which an app takes one.

    artifacts.py NAME

prints the id of an artifact, and below it the options of CMake for its native library. NAME is `default` (the backends
whose manifest names Android), `cpu` (none), or the name of a backend, which the artifact has besides those.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

BACKENDS = Path(__file__).resolve().parents[2] / "backends"
GROUP, BASE = "org.pytorch", "executorch-android"


@dataclass(frozen=True)
class Artifact:
    """What the native library of an artifact has besides the kernels for CPUs."""

    name: str
    backends: tuple[str, ...]
    options: tuple[str, ...]

    @property
    def id(self) -> str:
        """In Maven."""
        return BASE if self.name == "default" else f"{BASE}-{self.name}"

    @property
    def contents(self) -> str:
        """A readable description: `kernels for CPUs`, and the backends."""
        return ", ".join(("kernels for CPUs", *self.backends))


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
    return Artifact(name, tuple(manifests[key]["title"] for key in usual), tuple(options))


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
