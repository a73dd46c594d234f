#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails when a library of the runtime core needs a heap, exceptions, RTTI, threads or static initialisers.

Firmware has none of these. Only the default platform layer, which a port replaces, may use the heap and stdio.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator

PLATFORM_OBJECTS = re.compile(r"^(posix|minimal)\.cpp\.")

# The deleting destructor of MemoryAllocator, which the compiler puts beside a class derived from it. Nothing calls it,
# and linking with --gc-sections drops it.
NEVER_CALLED = {("method.cpp", "operator delete(void*, unsigned long)"), ("method.cpp", "operator delete(void*)")}

FORBIDDEN = {
    "the heap": r"malloc|calloc|realloc|free|aligned_alloc|posix_memalign|strdup|operator (new|delete).*",
    "exceptions": r"__cxa_(throw|rethrow|begin_catch|allocate_exception).*|__gxx_.*|_Unwind_.*|std::__throw_.*",
    "RTTI": r"__dynamic_cast|__cxa_bad_cast|vtable for __cxxabiv1::.*|typeinfo for .*",
    "threads": r"pthread_.*|std::(mutex|thread|condition_variable)::.*|std::__once_.*|__tls_get_addr",
    "static initialisers": r"_GLOBAL__(sub_)?I_.*|__cxx_global_var_init.*|__cxa_atexit|__cxa_guard_.*|__dso_handle",
    "streams and locales": r"std::(basic_)?[io]?stream.*|std::(cout|cerr|clog)|std::locale.*|std::ios_base.*",
}


def symbols(nm: str, library: str) -> Iterator[tuple[str, str]]:
    """Object file and symbol of every reference and definition in an archive."""
    listing = subprocess.run([nm, "-A", "-C", library], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        # <archive>:<object>:<address or spaces> <type> <symbol>
        match = re.match(r"^.*\.a[:\[](?P<object>[^:\]]+)\]?:\s*[0-9a-f]*\s+\S\s+(?P<symbol>.*)$", line)
        if match:
            yield match["object"], match["symbol"].split("@")[0]


def problems(nm: str, library: str) -> Iterator[str]:
    seen = 0
    for object_file, symbol in symbols(nm, library):
        seen += 1
        for what, pattern in FORBIDDEN.items():
            if PLATFORM_OBJECTS.match(object_file) or (object_file.rsplit(".", 1)[0], symbol) in NEVER_CALLED:
                continue
            if re.fullmatch(pattern, symbol):
                yield f"{library}: {object_file} uses {what}: {symbol}"
    if seen == 0:
        yield f"{library}: {nm} lists no symbols"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nm", default="nm", help="the nm of the toolchain")
    parser.add_argument("libraries", nargs="+", help="static libraries")
    args = parser.parse_args()
    found = [problem for library in args.libraries for problem in problems(args.nm, library)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
