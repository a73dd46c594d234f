# SPDX-License-Identifier: BSD-3-Clause
"""What a grammar adds to a token of an answer: CPU time and time of the model on one thread, with grammars and without,
in turns. The tokens that a grammar allows are computed in another thread while the model runs.

An answer of one token is subtracted from an answer of `TOKENS` more, so that the prompt and the grammar's compilation
are not counted. All answers have as many tokens: those without a grammar do not end, and the grammars allow no shorter
one.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bench.llm import program_of
from bench.llm_files import gguf_of

TOKENS = 96
PROMPT = "Tell me about the people of a small town.\n"
_PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
GRAMMARS: dict[str, dict[str, Any]] = {
    "none": {"ignore_eos": True},
    "JSON schema: an array of objects": {
        "grammar": {"type": "array", "items": _PERSON, "minItems": TOKENS},
        "grammar_type": "json_schema",
    },
    "JSON schema: a string of 1,000 characters": {
        "grammar": {"type": "string", "minLength": 1000, "maxLength": 2000},
        "grammar_type": "json_schema",
    },
    f"regular expression: at least {TOKENS} words": {"grammar": f"([A-Za-z,]+ ){{{TOKENS},}}", "grammar_type": "regex"},
    "GBNF: lines of text": {
        "grammar": f'root ::= line{{{TOKENS},}}\nline ::= "- " [^\\n]+ "\\n"',
        "grammar_type": "gbnf",
    },
}


def measure(folder: Path, rounds: int) -> str:
    """Returns a table with a row for each grammar."""
    from sdk.extension.llm.runner import TextLLMRunner
    from sdk.extension.pybindings import portable_lib

    program = program_of("smollm2-135m", gguf_of("smollm2-135m", folder), folder)
    portable_lib._unsafe_reset_threadpool(1)
    runner = TextLLMRunner(str(program))
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in GRAMMARS}
    for turn in range(rounds + 1):  # the first one compiles the grammars, and is not counted
        print(f"round {turn} of {rounds}", file=sys.stderr, flush=True)
        for name, fields in GRAMMARS.items():
            (cpu, wall), (first_cpu, first_wall) = _seconds(runner, 1 + TOKENS, fields), _seconds(runner, 1, fields)
            if turn:
                found[name].append(((cpu - first_cpu) / TOKENS * 1000, (wall - first_wall) / TOKENS * 1000))
    medians = {name: [statistics.median(each) for each in zip(*times, strict=True)] for name, times in found.items()}
    return _table({name: (cpu, wall) for name, (cpu, wall) in medians.items()})


def _seconds(runner: Any, count: int, fields: dict[str, Any]) -> tuple[float, float]:
    """CPU time of all threads, and time, for an answer of `count` tokens."""
    from sdk.extension.llm.runner import GenerationConfig

    config = GenerationConfig(echo=False, temperature=0.0, max_new_tokens=count, **fields)
    runner.reset()
    runner.prefill(PROMPT)
    before, start, start_wall = runner.position, time.process_time(), time.perf_counter()
    runner.generate("-", config)
    took = time.process_time() - start, time.perf_counter() - start_wall
    # The last token of an answer is not among those that the model has seen.
    if not count <= runner.position - before <= count + 1:
        raise RuntimeError(f"an answer has {runner.position - before} tokens with its prompt; expected about {count}")
    return took


def _table(milliseconds: dict[str, tuple[float, float]]) -> str:
    lines = ["| grammar | time of a token, ms | longer by | CPU time of a token, ms | share of the grammar |"]
    lines.append("|---|---|---|---|---|")
    cpu_without, without = milliseconds["none"]
    for name, (cpu, wall) in milliseconds.items():
        longer, share = (
            ("", "") if name == "none" else (f"{wall / without - 1:.1%}", f"{(cpu - cpu_without) / cpu:.1%}")
        )
        lines.append(f"| {name} | {wall:.2f} | {longer} | {cpu:.2f} | {share} |")
    return "\n".join(lines) + "\n"
