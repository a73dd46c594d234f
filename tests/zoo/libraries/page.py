# SPDX-License-Identifier: BSD-3-Clause
"""docs/models.md: which models work, and how they do beside the original."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from zoo.libraries.examine import BACKENDS, SHAPES, Cell, Result

PAGE = Path(__file__).resolve().parents[3] / "docs" / "models.md"

HEAD = """# Models

Models of torchvision, timm, transformers and torchaudio with random weights: every model of torchvision, one of each
family of timm, and architectures of transformers and torchaudio with small configurations. Each is captured by
`torch.export` with fixed shapes (a batch of one) and with one dynamic dimension, lowered without a backend and with
XNNPACK, run by `sdk.runtime`, and compared with eager at 1e-4 of the largest value of each result. Dynamic programs
run at the smallest, the exported and the largest size of the dimension.

- `yes`: right in both kinds of shapes, or in the one that `torch.export` captures;
- otherwise the reason, and the stage it comes from;
- `-`: nothing to lower, as `torch.export` refuses both.

The tests in `tests/zoo/libraries` (`scripts/test.sh zoo`) compare this page with what they find. `scripts/zoo --all
--results FILE` examines the models, `scripts/zoo --page FILE` writes this page.
"""

YES, NOTHING = "yes", "-"


def shortened(reason: str) -> str:
    """The first sentence of an error, for a table: the rest of it differs from one release of PyTorch to the next."""
    reason = re.split(r"\. |\s\(|; | For more | Please | While executing", reason, maxsplit=1)[0]
    reason = re.sub(r"\S*/(\S+)", r"\1", reason)
    return reason[:140].rstrip(" .").replace("|", "\\|").replace("<", "\\<")


def row(result: Result) -> list[str]:
    """The model, what torch.export captures of it, and what becomes of it on each backend."""
    if result.failure:
        return [f"`{result.name}`", shortened(result.failure), *[NOTHING] * len(BACKENDS)]
    kinds = [kind for kind in SHAPES if result.captured.get(kind) == ""]
    refused = {shortened(reason) for reason in result.captured.values() if reason}
    captured = " and ".join(kinds) or "torch.export cannot"
    if refused:
        captured += ": " + "; ".join(sorted(refused)) if not kinds else "; dynamic: " + "; ".join(sorted(refused))
    return [f"`{result.name}`", captured, *(_outcome(result, backend) for backend in BACKENDS)]


def _outcome(result: Result, backend: str) -> str:
    cells = [result.cells[key] for kind in SHAPES if (key := f"{kind}/{backend}") in result.cells]
    if not cells:
        return NOTHING
    reasons = dict.fromkeys(shortened(cell.reason) for cell in cells if cell.reason)
    return "; ".join(reasons) or YES


def read(path: Path) -> list[Result]:
    """The results that `scripts/zoo --results` has written; the last one of each model and package."""
    found: dict[tuple[str, str, int], Result] = {}
    for line in path.read_text().splitlines():
        result = Result.read(json.loads(line))
        found[result.name, result.package, result.rounds] = result
    return list(found.values())


def render(results: Iterable[Result]) -> str:
    """The page: what works, and where there are timed results of both packages, how they compare."""
    results = list(results)
    ours = {result.name: result for result in results if result.package == "sdk" and result.rounds == 1}
    timed = [
        {result.name: result for result in results if result.package == package and result.rounds > 1}
        for package in ("sdk", "executorch")
    ]
    libraries: dict[str, list[Result]] = {}
    for name in sorted(ours):
        libraries.setdefault(name.split("/")[0], []).append(ours[name])
    parts = [HEAD, _summary(libraries)]
    for library, members in libraries.items():
        parts.append(f"## {library}\n\n" + _table(["model", "captured", *BACKENDS], [row(each) for each in members]))
    both = sorted(set(timed[0]) & set(timed[1]))
    if both:
        parts.append(_beside(both, *timed))
    return "\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in rows)]) + "\n"


def _summary(libraries: Mapping[str, Sequence[Result]]) -> str:
    rows = []
    for library, members in libraries.items():
        counts = [
            sum(any(reason == "" for reason in each.captured.values()) for each in members),
            sum(each.captured.get("dynamic") == "" for each in members),
            *(sum(_outcome(each, backend) == YES for each in members) for backend in BACKENDS),
        ]
        errors = [cell.error for each in members for cell in each.cells.values() if not cell.reason]
        rows.append([library, str(len(members)), *map(str, counts), f"{max(errors, default=0):.0e}"])
    head = [
        "library",
        "models",
        "captured",
        "with a dynamic dimension",
        *(f"work: {b}" for b in BACKENDS),
        "largest difference",
    ]
    return _table(head, rows)


BESIDE = """## Beside the original

The same models, exported by the same `torch.export` and lowered with XNNPACK by this SDK and by the wheel
`executorch==1.4.1`, with fixed shapes and one thread, one model at a time: seconds from the exported program to the
bytes of the file, size of the file, most memory of the process, and the fastest of {rounds} runs. A column is *ours /
the original's*; where one of them does not work it says so below. `scripts/zoo` with `--package`, `--rounds` and
`--jobs 1` measures them.

"""


def _beside(names: Sequence[str], sdk: Mapping[str, Result], original: Mapping[str, Result]) -> str:
    rows, ratios, failures = [], [], []
    for name in names:
        pair = [each[name] for each in (sdk, original)]
        cells = [each.cells.get("fixed/xnnpack", Cell(reason=each.failure or "torch.export cannot")) for each in pair]
        if any(cell.reason for cell in cells):
            reasons = [shortened(cell.reason) or YES for cell in cells]
            failures.append([f"`{name}`", *reasons])
            continue
        ratios.append(
            [cells[0].lowering / cells[1].lowering, cells[0].size / cells[1].size, cells[0].latency / cells[1].latency]
        )
        values = [
            "{:.1f} / {:.1f}".format(*(cell.lowering for cell in cells)),
            "{:.2f} / {:.2f}".format(*(cell.size / 1e6 for cell in cells)),
            "{:.0f} / {:.0f}".format(*(each.memory / 1e6 for each in pair)),
            "{:.2f} / {:.2f}".format(*(cell.latency * 1e3 for cell in cells)),
        ]
        rows.append([f"`{name}`", *values])
    text = BESIDE.format(rounds=max(sdk[name].rounds for name in names))
    if ratios:
        means = [statistics.geometric_mean(column) for column in zip(*ratios, strict=True)]
        text += (
            f"Of {len(names)} models {len(ratios)} work in both. In the geometric mean ours takes {means[0]:.2f} of "
            f"the original's lowering time, {means[1]:.2f} of its file size and {means[2]:.2f} of its latency.\n\n"
        )
    text += _table(["model", "lowering, s", "file, MB", "memory, MB", "latency, ms"], rows)
    if failures:
        text += "\n" + _table(["does not work in both", "ours", "the original"], failures)
    return text


def rows_of_page() -> dict[str, list[str]]:
    """The rows of docs/models.md by model: what torch.export captures, and the outcome on each backend."""
    rows: dict[str, list[str]] = {}
    if not PAGE.exists():
        return rows
    for line in PAGE.read_text().split("\n## Beside")[0].splitlines():
        cells = re.split(r" (?<!\\)\| ", line[2:-2])
        if line.startswith("| `"):
            rows[cells[0].strip("`")] = cells[1:]
    return rows
