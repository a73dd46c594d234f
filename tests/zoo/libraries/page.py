# SPDX-License-Identifier: BSD-3-Clause
"""docs/generated/models.md: which models work, and how they compare with the original."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch

from zoo.libraries.examine import BACKENDS, SHAPES, Cell, Result

PAGE = Path(__file__).resolve().parents[3] / "docs" / "generated" / "models.md"

HEAD = """# Models

Does my model work? These models of torchvision, timm, transformers and torchaudio, with random weights, were captured
by `torch.export`, lowered without a backend and with XNNPACK, run by `sdk.runtime`, and compared with eager: every
model of torchvision, one of each family of timm, and architectures of transformers and torchaudio in small
configurations. {examined}

"""

LEGEND = """
Each program is made twice. *Fixed* has the sizes of the example (a batch of one). *Dynamic* has one dimension that may
change, the batch or the length of a sequence, and runs at the smallest, the exported and the largest size.

- **works**: the largest difference from eager is at most 1e-4 of the largest value of each result, on both backends.
  A model that magnifies rounding has a larger limit: three times the distance of eager from the same model in float64.
- **not captured**: `torch.export` of PyTorch {torch} refuses the model, so there is nothing to lower. The reason is
  PyTorch's; [exporting](../export.md) says what usually helps.
- **fails**: captured, and not lowered or not right; the reason follows.

`scripts/zoo --all --results FILE` examines the models and `scripts/pages models FILE` writes this page; `scripts/zoo
NAME` examines one. `scripts/test.sh zoo` compares all rows with what it finds, and the gate a few.
"""

WORKS, NOT_CAPTURED, FAILS = "works", "not captured", "fails"

_PLAIN = (
    (r"specialized it to be a constant|specialized because", "the code of the model makes the dimension constant"),
    (r"Constraints violated|Not all values", "it cannot prove a condition on the dynamic size"),
    (
        r"data-dependent expression.*?(?:Caused by: \(\S*?([^/\s]+) in (\w+)\))",
        "a size or a branch depends on data, at {} in `{}`",
    ),
    (r"data-dependent expression", "a size or a branch depends on data"),
    (
        r"has no upper bound",
        "a size depends on data and has no upper bound, which `torch._check` can give it",
    ),
)
"""Short texts for frequent errors of torch.export."""


def shortened(reason: str) -> str:
    """An error in short, for a table: its meaning where it is a frequent one, else its first sentence, as the rest
    differs from one release of PyTorch to the next."""
    for pattern, text in _PLAIN:
        found = re.search(pattern, reason)
        if found:
            return text.format(*found.groups())
    reason = re.split(r"\. |\s\(|; | For more | Please | While executing", reason, maxsplit=1)[0]
    reason = re.sub(r"\S*/(\S+)", r"\1", reason)
    return reason[:140].rstrip(" .").replace("|", "\\|").replace("<", "\\<")


def row(result: Result) -> list[str]:
    """The model, and its outcomes with fixed shapes and with a dynamic dimension."""
    return [f"`{result.name}`", *(outcome(result, kind) for kind in SHAPES)]


def outcome(result: Result, kind: str) -> str:
    """Returns the outcome of the model with this kind of shapes: `WORKS`, or `NOT_CAPTURED` or `FAILS` with the
    reason."""
    if result.failure:
        return f"{FAILS}: {shortened(result.failure)}"
    refused = result.captured.get(kind)
    if refused is None:
        return "not examined"
    if refused:
        return f"{NOT_CAPTURED}: {shortened(refused)}"
    reasons = {
        backend: shortened(re.sub(r"^(\w+)[^:]*", r"\1", cell.reason, count=1))
        for backend in BACKENDS
        if (cell := result.cells.get(f"{kind}/{backend}")) and cell.reason
    }
    if not reasons:
        return WORKS
    where = "" if len(reasons) == len(BACKENDS) else f" on {next(iter(reasons))}"
    return f"{FAILS}{where}: " + "; ".join(dict.fromkeys(reasons.values()))


def read(path: Path) -> list[Result]:
    """The results that `scripts/zoo --results` has written: for each model, package and number of rounds, the last."""
    found: dict[tuple[str, str, int], Result] = {}
    for line in path.read_text().splitlines():
        result = Result.read(json.loads(line))
        found[result.name, result.package, result.rounds] = result
    return list(found.values())


def render(results: Iterable[Result], names: Sequence[str]) -> str:
    """The page: which of the models `names` work, and a comparison of both packages' timed results."""
    results = list(results)
    ours = {result.name: result for result in results if result.package == "sdk" and result.rounds == 1}
    timed = [
        {result.name: result for result in results if result.package == package and result.rounds > 1}
        for package in ("sdk", "executorch")
    ]
    libraries: dict[str, list[Result]] = {}
    for name in sorted(ours):
        libraries.setdefault(name.split("/")[0], []).append(ours[name])
    missing = len(set(names) - set(ours))
    examined = (
        f"{len(ours)} of the {len(ours) + missing} models that `scripts/zoo --list` names have been examined."
        if missing
        else f"All {len(ours)} that `scripts/zoo --list` names have been examined."
    )
    parts = [
        HEAD.format(examined=examined) + _summary(libraries) + LEGEND.format(torch=torch.__version__.split("+")[0])
    ]
    failing = [each for each in ours.values() if any(outcome(each, kind).startswith(FAILS) for kind in SHAPES)]
    if failing:
        parts.append("## What fails\n\n" + _table(["model", *SHAPES], [row(each) for each in failing]))
    for library, members in libraries.items():
        rows = [[*row(each), _difference([each])] for each in members]
        parts.append(f"## {library}\n\n" + _table(["model", *SHAPES, "largest difference"], rows))
    both = sorted(set(timed[0]) & set(timed[1]))
    if both:
        parts.append(_beside(both, *timed))
    return "\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in rows)]) + "\n"


def _summary(libraries: Mapping[str, Sequence[Result]]) -> str:
    rows = []
    every = [each for members in libraries.values() for each in members]
    for library, members in [*libraries.items(), ("all", every)]:
        counts = [
            str(sum(outcome(each, kind).startswith(which) for each in members))
            for kind in SHAPES
            for which in (WORKS, NOT_CAPTURED, FAILS)
        ]
        rows.append([library, str(len(members)), *counts, _difference(members)])
    head = [f"{kind}: {which}" for kind in SHAPES for which in (WORKS, NOT_CAPTURED, FAILS)]
    return _table(["library", "examined", *head, "largest difference"], rows)


def _difference(members: Sequence[Result]) -> str:
    errors = [cell.error for each in members for cell in each.cells.values() if not cell.reason]
    return f"{max(errors):.0e}" if errors else ""


BESIDE = """## Beside the original

The same models, exported by the same `torch.export` and lowered with XNNPACK by this SDK and by the wheel
`executorch==1.4.1`, with fixed shapes and one thread, one model at a time: seconds of CPU time from the exported
program to the bytes of the file, size of the file, most memory of the process, and the fastest of {rounds} runs. A
column is *ours / the original's*. If one of them does not work, the text below says so. `scripts/zoo` with `--package`,
`--rounds` and `--jobs 1` measures them.

"""


def _beside(names: Sequence[str], sdk: Mapping[str, Result], original: Mapping[str, Result]) -> str:
    rows, ratios, failures = [], [], []
    for name in names:
        pair = [each[name] for each in (sdk, original)]
        cells = [each.cells.get("fixed/xnnpack", Cell(reason=each.failure or "torch.export cannot")) for each in pair]
        if any(cell.reason for cell in cells):
            reasons = [shortened(cell.reason) or WORKS for cell in cells]
            failures.append([f"`{name}`", *reasons])
            continue
        ratios.append([cells[0].cpu / cells[1].cpu, cells[0].size / cells[1].size, cells[0].latency / cells[1].latency])
        values = [
            "{:.1f} / {:.1f}".format(*(cell.cpu for cell in cells)),
            "{:.2f} / {:.2f}".format(*(cell.size / 1e6 for cell in cells)),
            "{:.0f} / {:.0f}".format(*(each.memory / 1e6 for each in pair)),
            "{:.2f} / {:.2f}".format(*(cell.latency * 1e3 for cell in cells)),
        ]
        rows.append([f"`{name}`", *values])
    text = BESIDE.format(rounds=max(sdk[name].rounds for name in names))
    if ratios:
        means = [statistics.geometric_mean(column) for column in zip(*ratios, strict=True)]
        text += (
            f"Of {len(names)} models {len(ratios)} work in both. In the geometric mean ours takes {means[0]:.2f} of\n"
            f"the original's lowering time, {means[1]:.2f} of its file size and {means[2]:.2f} of its latency.\n\n"
        )
    text += _table(["model", "lowering, CPU s", "file, MB", "memory, MB", "latency, ms"], rows)
    if failures:
        text += "\n" + _table(["does not work in both", "ours", "the original"], failures)
    return text


def rows_of_page() -> dict[str, list[str]]:
    """The rows of docs/generated/models.md by model: the outcome of each kind of shapes."""
    rows: dict[str, list[str]] = {}
    if not PAGE.exists():
        return rows
    for line in PAGE.read_text().split("\n## Beside")[0].splitlines():
        cells = re.split(r" (?<!\\)\| ", line[2:-2])
        if line.startswith("| `"):
            rows[cells[0].strip("`")] = cells[1 : 1 + len(SHAPES)]
    return rows
