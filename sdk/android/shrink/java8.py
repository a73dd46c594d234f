#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the public classes of Java 8, without their code, to a jar: a shrinker needs them to know the platform.

JDKs contain them for `javac --release 8` (lib/ct.sym), with a newer version number, which Debian's ProGuard cannot
read. They use nothing that is newer than Java 8.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

JAVA_8 = (52).to_bytes(4, "big")


def main(java_home: str, jar: str) -> None:
    with zipfile.ZipFile(Path(java_home) / "lib/ct.sym") as symbols, zipfile.ZipFile(jar, "w") as classes:
        for name in symbols.namelist():
            # Folders are named after the releases that have the class: 879A/java.base/java/io/Closeable.sig.
            releases, _, path = name.partition("/")
            _, _, path = path.partition("/")
            if "8" in releases and path.endswith(".sig"):
                content = symbols.read(name)
                classes.writestr(path.removesuffix(".sig") + ".class", content[:4] + JAVA_8 + content[8:])


if __name__ == "__main__":
    main(*sys.argv[1:])
