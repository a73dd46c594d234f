# SPDX-License-Identifier: BSD-3-Clause
"""The peers' table as Markdown: a table for each precision and number of threads, the means, and what was not
measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bench.comparison import LEAST_DECIBELS, LEAST_PEERS, geometric_mean
from bench.peer_table import PeerTable, Row

REASON_LENGTH = 120
MOST_TIME = 1.2
"""The goal for models without tuned kernels: at most this multiple of the fastest peer's time."""
VERDICTS = ("ahead", "level", "behind")


def page(table: PeerTable) -> str:
    """The page of one run."""
    columns = list(table.columns)
    parts = [versions(table.versions)]
    for kind in kinds(table.rows):
        parts.append("\n".join([f"{title(*kind)}:", "", *rows_table(rows_of(table.rows, kind), columns)]))
    parts += [summary(table.rows), missing(table.rows)]
    return "\n\n".join(part for part in parts if part) + "\n"


def kinds(rows: Iterable[Row]) -> list[tuple[str, int]]:
    """Precisions and numbers of threads, in the order of the rows."""
    return list(dict.fromkeys((row.precision, row.threads) for row in rows))


def rows_of(rows: Iterable[Row], kind: tuple[str, int]) -> list[Row]:
    return [row for row in rows if (row.precision, row.threads) == kind]


def title(precision: str, threads: int) -> str:
    return f"{precision}, {threads} thread{'s' if threads > 1 else ''}"


def versions(found: dict[str, dict[str, str]]) -> str:
    """A line with the packages of each engine."""
    texts = [
        f"{column} ({', '.join(f'{package} {version}' for package, version in packages.items())})"
        for column, packages in found.items()
    ]
    return "Engines: " + ", ".join(texts) + "." if texts else ""


def rows_table(rows: list[Row], columns: list[str]) -> Iterator[str]:
    head = ["model", *columns, "fastest peer / sdk"]
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        advantage = row.advantage()
        last = f"**{advantage:.2f}** {row.verdict()} ({row.fastest_peer()})" if advantage else "–"
        yield "| " + " | ".join([row.model, *(cell(row, column) for column in columns), last]) + " |"


def cell(row: Row, column: str) -> str:
    """Lower quartile, median in brackets, spread; in int8 the signal over the noise; in italics what does not count."""
    series = row.samples.get(column)
    if series is None:
        return "–"
    text = f"{series.lower_quartile:.3g} ({series.median:.3g}) ±{series.spread:.0%}"
    if row.precision != "float32":
        text += f", {row.decibels.get(column, 0.0):.0f} dB"
    return text if row.counts(column) else f"*{text}*"


def summary(rows: list[Row]) -> str:
    """Geometric means, a line for each precision and number of threads."""
    lines = []
    for kind in kinds(rows):
        found = [row for row in rows_of(rows, kind) if row.in_means()]
        if found:
            mean = geometric_mean(row.advantage() or 1.0 for row in found)
            counts = ", ".join(f"{sum(row.verdict() == v for row in found)} {v}" for v in VERDICTS)
            models = f"{len(found)} model{'s' if len(found) > 1 else ''}"
            lines.append(f"- {title(*kind)}: **{mean:.2f}** over {models} ({counts})")
    if not lines:
        return ""
    least = min((row.least_peers for row in rows), default=LEAST_PEERS)
    what = f"Geometric means of the last column, over the models that at least {least} peers run:"
    return "\n".join([what, "", *lines])


def cliffs(rows: list[Row]) -> str:
    """The models on which this SDK takes more than `MOST_TIME` times the fastest peer's time, with the ratio."""
    lines = []
    for kind in kinds(rows):
        ratios = {row.model: 1 / advantage for row in rows_of(rows, kind) if (advantage := row.advantage())}
        slow = [f"{model} {ratio:.2f}" for model, ratio in ratios.items() if ratio > MOST_TIME]
        lines.append(f"- {title(*kind)}: {', '.join(slow) or 'none'}, of {len(ratios)}")
    return "\n".join([f"More than {MOST_TIME} times the time of the fastest peer:", "", *lines])


def missing(rows: list[Row]) -> str:
    """The models without a time, by engine and reason."""
    models: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for column, reason in row.reasons.items():
            models.setdefault((column, row.precision, readable(reason)), []).append(row.model)
        for column in row.samples:
            if not row.counts(column):
                reason = f"at most {LEAST_DECIBELS:.0f} dB over the noise: not counted"
                models.setdefault((column, row.precision, reason), []).append(row.model)
    if not models:
        return ""
    lines = [
        f"- {column}, {precision}, {'; '.join(dict.fromkeys(names))}: {reason}"
        for (column, precision, reason), names in models.items()
    ]
    return "\n".join(["Not measured:", "", *lines])


def readable(reason: str) -> str:
    """Puts a text on one line, without characters that Markdown interprets."""
    text = " ".join(reason.replace("|", "/").replace("`", "'").replace("<", "(").replace("*", "").split())
    return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 1] + "…"
