# SPDX-License-Identifier: BSD-3-Clause
"""Copies Objective-C files so that GCC can compile them. GCC supports no instance variables in an @implementation, so
they are moved to the @interface.

    objc_for_gcc.py FOLDER-OF-SOURCES OUTPUT
"""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path

IMPLEMENTATION = re.compile(r"^@implementation (\w+) (\{\n.*?\n\})\n", re.MULTILINE | re.DOTALL)

CLASS_OF_VARIABLE = re.compile(r"\b(ExecuTorch\w+) \*")


def _with_variables(known: str, variables: str, interface: re.Match[str]) -> str:
    return f"{known}{interface[0]}{variables}\n"


def main() -> None:
    """Writes all sources and headers of a folder, and of its `include`, to `OUTPUT`."""
    source, output = Path(sys.argv[1]), Path(sys.argv[2])
    files = {path.name: path.read_text() for pattern in ("*.m", "*.h", "include/*.h") for path in source.glob(pattern)}
    for name in [name for name in files if name.endswith(".m")]:
        for class_, variables in IMPLEMENTATION.findall(files[name]):
            interface = re.compile(rf"^@interface {class_} : NSObject[^\n]*\n", re.MULTILINE)
            header = next(other for other in files if interface.search(files[other]))
            # Classes of internal headers, which the public one does not import.
            known = "".join(f"@class {name};\n" for name in sorted(set(CLASS_OF_VARIABLE.findall(variables))))
            files[header] = interface.sub(partial(_with_variables, known, variables), files[header])
            if "<CExecuTorch/" not in files[header]:
                files[header] = files[header].replace("#import", "#import <CExecuTorch/executorch.h>\n#import", 1)
        files[name] = IMPLEMENTATION.sub(r"@implementation \1\n", files[name])
    output.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (output / name).write_text(text)


if __name__ == "__main__":
    main()
