# SPDX-License-Identifier: BSD-3-Clause
"""Copies Objective-C files so that GCC can compile them. GCC supports no instance variables in an @implementation, so
they are moved to the @interface.

    objc_for_gcc.py FOLDER-OF-SOURCES OUTPUT
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

IMPLEMENTATION = re.compile(r"^@implementation (\w+) (\{\n.*?\n\})\n", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Writes all sources and headers of a folder, and of its `include`, to `OUTPUT`."""
    source, output = Path(sys.argv[1]), Path(sys.argv[2])
    files = {path.name: path.read_text() for pattern in ("*.m", "*.h", "include/*.h") for path in source.glob(pattern)}
    for name in [name for name in files if name.endswith(".m")]:
        for class_, variables in IMPLEMENTATION.findall(files[name]):
            interface = re.compile(rf"^@interface {class_} : NSObject[^\n]*\n", re.MULTILINE)
            header = next(other for other in files if interface.search(files[other]))
            files[header] = interface.sub(lambda match, text=variables: match[0] + text + "\n", files[header])
            if "<CExecuTorch/" not in files[header]:
                files[header] = files[header].replace("#import", "#import <CExecuTorch/executorch.h>\n#import", 1)
        files[name] = IMPLEMENTATION.sub(r"@implementation \1\n", files[name])
    output.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (output / name).write_text(text)


if __name__ == "__main__":
    main()
