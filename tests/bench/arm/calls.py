# SPDX-License-Identifier: BSD-3-Clause
"""Calls an engine in the emulator: calls.py ENGINE PROGRAM INPUTS OUTPUT CALLS. Writes the first result of the first
call, and marks the other calls for the plugin that counts."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from bench.engines import declaration

MARK = 0x6D61726B  # counter.c


def mark() -> None:
    with contextlib.suppress(OSError):  # the file descriptor -1 is invalid
        os.lseek(-1, MARK, os.SEEK_SET)


def main() -> None:
    name, program, inputs, output, calls = sys.argv[1:]
    engine = declaration(name).make(name, 1)
    engine.prepare()
    call = engine.load(program, list(np.load(inputs).values()))
    np.save(output, np.asarray(engine.first_result(call())))
    mark()
    for _ in range(int(calls) - 1):
        call()
    mark()


if __name__ == "__main__":
    main()
