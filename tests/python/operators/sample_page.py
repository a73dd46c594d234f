# SPDX-License-Identifier: BSD-3-Clause
"""docs/generated/operator_samples.md: how many of PyTorch's samples are lowered and right, function by function."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from pathlib import Path

from sample_program import NOT_CAPTURED, NOT_LOWERED, NOT_RUN, REFUSED, RIGHT, WRONG
from sample_table import DTYPES, EXCEPTIONS, OP_INFOS, Result

PAGE = Path(__file__).resolve().parents[3] / "docs" / "generated" / "operator_samples.md"

_HEAD = """# PyTorch's samples of every operator

PyTorch's operator database (OpInfo) has samples of every public function on tensors. Each one that eager computes is
captured with `torch.export`, lowered without a backend, run, and compared with eager: number, dtypes, shapes and
layouts of the results, and their values within the tolerances of PyTorch's tests. Up to 24 samples of a function in one
dtype are one program; a sample that such a program does not compute right is run in a separate program, which decides.

If a sample is not captured, `torch.export` fails, before any code of this package runs; the table names the error.

`scripts/operator_samples --results FILE` tries the samples and `scripts/pages operator_samples FILE` writes this page;
`tests/python/operators/test_every_operator.py` compares the same samples.

"""

_Counts = collections.Counter[str]


def _shares(outcomes: _Counts) -> tuple[float, float, float]:
    """Returns how many samples eager computes, how many of these are captured, and how many are right."""
    computed = sum(outcomes.values()) - outcomes[REFUSED]
    return computed, computed - outcomes[NOT_CAPTURED], outcomes[RIGHT]


def _which(limit: int | None, functions: int) -> str:
    samples = "All samples" if limit is None else f"At most {limit} samples of each dtype, evenly spaced,"
    tried = (
        f"all {len(OP_INFOS)} functions" if functions == len(OP_INFOS) else f"{functions} of {len(OP_INFOS)} functions"
    )
    return f"{samples} of {tried}"


def _other_numbers(results: Iterable[Result]) -> list[str]:
    """A sentence for each seed."""
    by_seed: dict[tuple[int, int | None], list[Result]] = collections.defaultdict(list)
    for result in results:
        if result.task.seed is not None:
            by_seed[result.task.seed, result.task.limit].append(result)
    sentences = []
    for (seed, limit), of_seed in sorted(by_seed.items(), key=lambda pair: pair[0][0]):
        total: _Counts = collections.Counter()
        for result in of_seed:
            for outcomes in result.counts.values():
                total.update(outcomes)  # type: ignore[arg-type]
        computed, captured, right = _shares(total)
        sentences.append(
            f"{_which(limit, len(of_seed))}, with the random numbers of seed {seed}: {computed:.0f} are computed by"
            f" eager, {captured:.0f} captured, and {right:.0f} right, {right / captured:.2%} of the captured."
        )
    return sentences


def read_results(files: Iterable[Path]) -> list[Result]:
    """Reads the results in these files of `scripts/operator_samples --results`. A file that does not exist has no
    results."""
    return [Result.read(line) for file in files if file.exists() for line in file.read_text().splitlines()]


def render(results: Sequence[Result]) -> str:
    """Renders the totals by dtype, and the functions with samples that are not right. The last result of a task
    counts."""
    results = list({result.task: result for result in results}.values())
    main = [result for result in results if result.task.seed is None]
    (limit,) = {result.task.limit for result in main}
    by_dtype: dict[str, _Counts] = collections.defaultdict(collections.Counter)
    by_function: dict[str, _Counts] = collections.defaultdict(collections.Counter)
    for result in main:
        for dtype, outcomes in result.counts.items():
            for counter in (by_dtype[dtype], by_dtype["all"], by_function[result.task.function]):
                counter.update(outcomes)  # type: ignore[arg-type]
    weights = "" if limit is None else " Each sample is weighted by the number of samples that it represents."
    lines = [
        f"{_which(limit, len(main))}, with the random numbers of PyTorch's tests.{weights}",
        "",
        "| dtype | computed by eager | captured | lowered and right | of the captured | of all |",
        "|---|---|---|---|---|---|",
    ]
    for dtype in [*(str(dtype).removeprefix("torch.") for dtype in DTYPES), "all"]:
        computed, captured, right = _shares(by_dtype[dtype])
        shares = f"{right / max(captured, 1):.2%} | {right / max(computed, 1):.2%}"
        lines.append(f"| {dtype} | {computed:.0f} | {captured:.0f} | {right:.0f} | {shares} |")
    for sentence in _other_numbers(results):
        lines += ["", sentence]
    whole = sum(outcomes[RIGHT] + outcomes[REFUSED] == sum(outcomes.values()) for outcomes in by_function.values())
    lines += [
        "",
        f"Of {len(by_function)} functions that have samples in these dtypes, all of {whole} are right. Of the others:",
        "",
        "| function | right | not captured | not lowered | not run | wrong | why |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, outcomes in sorted(by_function.items()):
        kinds = (RIGHT, NOT_CAPTURED, NOT_LOWERED, NOT_RUN, WRONG)
        if any(outcomes[kind] for kind in kinds[1:]):
            why = EXCEPTIONS.get(name, ("", "not explained"))[1]
            lines.append(f"| `{name}` | " + " | ".join(f"{outcomes[kind]:.0f}" for kind in kinds) + f" | {why} |")
    failed = sorted(result.task.function for result in main if result.failure)
    if failed:
        lines += ["", "Not done in time, or crashed: " + ", ".join(f"`{name}`" for name in failed) + "."]
    return _HEAD + "\n".join(lines) + "\n"
