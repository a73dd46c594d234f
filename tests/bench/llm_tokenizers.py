# SPDX-License-Identifier: BSD-3-Clause
"""Usage: llm_tokenizers.py TOKENIZER.json...: compares encoding with Hugging Face's `tokenizers`, on one thread.

The text is this repository's documentation. Each row is for a number of characters: MB/s (bytes of UTF-8) of both,
medians of calls in turn, and their ratio. The last figures are the time to load the compiled form of a tokenizer, which
is in a program, and the time to parse the file.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

ROOT = Path(__file__).resolve().parents[2]
LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
SECONDS = 1.0
"""The time that each row is measured, in seconds."""


def milliseconds(*calls: Callable[[], Any]) -> list[float]:
    """The median CPU time of each call; they take turns."""
    samples: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(samples[0]) < 5:
        for call, times in zip(calls, samples, strict=True):
            start = time.process_time()
            call()
            times.append((time.process_time() - start) * 1e3)
    return [statistics.median(times) for times in samples]


def main(paths: list[str]) -> None:
    from tokenizers import Tokenizer as Reference

    from sdk.extension.llm.tokenizers import load_tokenizer_from_buffer
    from sdk.extension.llm.tokenizers.compiled import compile_tokenizer

    pages = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("**/*.md")))
    text = pages * (max(LENGTHS) // len(pages) + 1)
    print(f"| tokenizer | characters | sdk, MB/s | tokenizers {version('tokenizers')}, MB/s | sdk / tokenizers |")
    print("|---|---|---|---|---|")
    starts = []
    for path in paths:
        content = Path(path).read_bytes()
        ours, reference = load_tokenizer_from_buffer(content), Reference.from_file(path)
        name = Path(path).stem
        for length in LENGTHS:
            part = text[:length]
            assert ours.encode(part) == reference.encode(part, add_special_tokens=False).ids
            ms = milliseconds(
                partial(ours.encode, part),
                partial(reference.encode, part, add_special_tokens=False),
            )
            speeds = [len(part.encode()) / 1e3 / each for each in ms]
            row = [name, f"{length:,}", *(f"{speed:.3g}" for speed in speeds), f"**{speeds[0] / speeds[1]:.2f}**"]
            print("| " + " | ".join(row) + " |", flush=True)
        compiled = compile_tokenizer(content)
        starts.append(
            (
                name,
                *milliseconds(
                    partial(load_tokenizer_from_buffer, compiled),
                    partial(load_tokenizer_from_buffer, content),
                ),
            )
        )
    print("\n| tokenizer | compiled, ready in ms | parsed, ready in ms |\n|---|---|---|")
    for name, compiled_ms, parsed_ms in starts:
        print(f"| {name} | {compiled_ms:.3g} | {parsed_ms:.3g} |")


if __name__ == "__main__":
    main(sys.argv[1:])
