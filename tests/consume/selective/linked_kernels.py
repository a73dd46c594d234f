# SPDX-License-Identifier: BSD-3-Clause
"""linked_kernels.py ROOT MAP KERNEL...: fails unless the linker's map names exactly these kernels of the libraries in
ROOT, which is where an installation keeps the generator and the libraries' tables."""

from __future__ import annotations

import sys
from pathlib import Path

root, link_map, *expected = sys.argv[1:]
sys.path.insert(0, root)

from codegen.functions_yaml import load_functions  # noqa: E402
from codegen.link_map import pieces  # noqa: E402

# Only code: equal constants are merged, and the map names them after any of the objects that contain them.
kept = pieces(Path(link_map).read_text(encoding="utf-8"))
symbols = {piece.symbol for piece in kept if piece.section.startswith(".text")}
kernels = {entry.unqualified for path in Path(root).glob("kernels/*/functions.yaml") for entry in load_functions(path)}
linked = {name for name in kernels if any(f"6native{len(name)}{name}E" in symbol for symbol in symbols)}
print(f"{len(linked)} of {len(kernels)} kernels are linked: {', '.join(sorted(linked))}")
sys.exit(linked != set(expected))
