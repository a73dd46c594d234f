#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if a library of the runtime core needs a heap, exceptions, RTTI, threads, locks, static initialisers, the
operating system or floating-point arithmetic.

Firmware has none of these. Only the default platform layer, which a port replaces, may use the heap and stdio. The
forbidden symbols have names for messages; of all others, the core may use only a few functions on bytes and text.

Kernels run on the same firmware (RTC-11), so the same rules hold for them, but they may use floating-point arithmetic
and the mathematical functions of the C library.
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

FLOATING_POINT_FUNCTIONS = "floating-point functions"

FORBIDDEN = {
    "the heap": r"malloc|calloc|realloc|free|aligned_alloc|posix_memalign|strdup|operator (new|delete).*",
    "exceptions": r"__cxa_(throw|rethrow|begin_catch|allocate_exception).*|__gxx_.*|_Unwind_.*|std::__throw_.*",
    "RTTI": r"__dynamic_cast|__cxa_bad_cast|vtable for __cxxabiv1::.*|typeinfo for .*",
    "threads": r"pthread_.*|std::(mutex|thread|condition_variable)::.*|std::__once_.*|__tls_get_addr",
    "static initialisers": r"_GLOBAL__(sub_)?I_.*|__cxx_global_var_init.*|__cxa_atexit|__cxa_guard_.*|__dso_handle",
    "the operating system": r"(v?f?printf|puts|f?write|f?read|f?open|f?close|mmap|munmap|ioctl|syscall|getenv|"
    r"clock_.*|time|nanosleep|sched_.*|exit|abort|raise|signal)(64)?",
    FLOATING_POINT_FUNCTIONS: r"(fmod|fabs|floor|ceil|round|trunc|fmax|fmin|pow|exp|log|sqrt)[fl]?|"
    r"__(aeabi_[df]|(add|sub|mul|div)[sd]f).*",
    "streams and locales": r"std::(basic_)?[io]?stream.*|std::(cout|cerr|clog)|std::locale.*|std::ios_base.*",
}

# Functions that every C library for boards has, the platform layer, and functions that compilers add themselves.
ALLOWED = re.compile(
    r"mem(cpy|move|set|cmp|chr)|str(len|n?cmp|n?cpy|chr)|v?snprintf|et_pal_\w+|dladdr|"
    r"_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__(mem|str|v?snprintf)\w*_chk"
)

# Arithmetic, comparison and conversion of floats on x86-64. Moves are not: they copy bytes of any kind.
FLOATING_POINT = re.compile(
    r"\sv?((add|sub|mul|div|sqrt|max|min|cmp\w*|u?comi|round)[sp][sd]|cvt\w+|f(add|sub|mul|div|ild|ist)\w*)\s"
)


def symbols(nm: str, library: str) -> Iterator[tuple[str, str, str]]:
    """Object file, kind (`U`: undefined) and symbol of every reference and definition in an archive."""
    listing = subprocess.run([nm, "-A", "-C", library], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        # <archive>:<object>:<address or spaces> <type> <symbol>
        match = re.match(r"^.*\.a[:\[](?P<object>[^:\]]+)\]?:\s*[0-9a-f]*\s+(?P<kind>\S)\s+(?P<symbol>.*)$", line)
        if match:
            yield match["object"], match["kind"], match["symbol"].split("@")[0]


def problems(nm: str, library: str, *, is_core: bool) -> Iterator[str]:
    seen = 0
    for object_file, kind, symbol in symbols(nm, library):
        seen += 1
        if PLATFORM_OBJECTS.match(object_file) or (object_file.rsplit(".", 1)[0], symbol) in NEVER_CALLED:
            continue
        what = next((what for what, pattern in FORBIDDEN.items() if re.fullmatch(pattern, symbol)), None)
        if what == FLOATING_POINT_FUNCTIONS and not is_core:
            continue
        if what is not None:
            yield f"{library}: {object_file} uses {what}: {symbol}"
        elif is_core and kind == "U" and "executorch" not in symbol and not ALLOWED.fullmatch(symbol):
            yield f"{library}: {object_file} uses {symbol}, which no list allows"
    if seen == 0:
        yield f"{library}: {nm} lists no symbols"


def floating_point(objdump: str, library: str) -> Iterator[str]:
    listing = subprocess.run(
        [objdump, "-d", "-C", "--no-show-raw-insn", library], capture_output=True, text=True, check=True
    )
    object_file = function = ""
    for line in listing.stdout.splitlines():
        if "file format" in line:
            object_file = line.split(":")[0]
        elif line.endswith(">:"):
            function = line.split(" ", 1)[1][1:-2]
        elif FLOATING_POINT.search(line) and not PLATFORM_OBJECTS.match(object_file):
            yield f"{library}: {object_file} computes with floats in {function}: {line.split(chr(9))[-1].strip()}"
    if not function:
        yield f"{library}: {objdump} shows no code"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nm", default="nm", help="the nm of the toolchain")
    parser.add_argument("--objdump", help="the objdump of the toolchain; only for x86-64")
    parser.add_argument("--kernels", nargs="+", default=[], help="static libraries of kernels")
    parser.add_argument("libraries", nargs="+", help="static libraries of the core")
    args = parser.parse_args()
    found = [problem for library in args.libraries for problem in problems(args.nm, library, is_core=True)]
    found += [problem for library in args.kernels for problem in problems(args.nm, library, is_core=False)]
    if args.objdump:
        found += [problem for library in args.libraries for problem in floating_point(args.objdump, library)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
