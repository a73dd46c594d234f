# SPDX-License-Identifier: BSD-3-Clause
"""The summary that the terminal shows when the program has been written."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from sdk.devtools.report._model import LossKind, Row
from sdk.devtools.report._receipt import Receipt
from sdk.devtools.report.export_result import Comparison, ExportResult, Timing
from sdk.devtools.report.facts import MethodFacts, ProgramFacts
from sdk.util.words import counted, paint, readable_bytes, relative

_LABEL = 12
_WIDTH = 100


def show_summary(result: ExportResult, stream: TextIO) -> None:
    """Writes the summary: sizes, memory, operators, undelegated operators with reasons, and the difference from eager
    mode."""
    size = readable_bytes(result.program_bytes)
    stream.write(f"\n  {paint(str(result.output), 'bold', stream)}  {size}\n")
    if result.weights is not None:
        kept = "put it beside the program"
        stream.write(
            f"  {paint(str(result.weights), 'bold', stream)}  {readable_bytes(result.weights_file_bytes)}, {kept}\n"
        )
    stream.write("\n")
    for label, text in summary_rows(result):
        _row(stream, label, text)


def summary_rows(result: ExportResult) -> list[tuple[str, str]]:
    """(label, text): the same rows for the terminal and for the page."""
    rows: list[tuple[str, str]] = []
    for method in result.facts.methods:
        rows.append(("method", signature(method)))
        rows.append(("memory", memory(method)))
        rows.append(("operators", operators(method)))
        rows.append(("delegated", delegated(method, result)))
        rows += [("left", text) for text in left_behind(result.receipt.of(method.name))]
    rows.append(("weights", weights(result.facts)))
    if result.dynamic:
        rows.append(("dynamic", ", ".join(result.dynamic)))
    if not result.verify:
        rows.append(("verified", "no, because of --no-verify"))
    if result.unverified:
        rows.append(("verified", f"no, because {result.unverified}"))
    rows += [("verified", verified(comparison)) for comparison in result.comparisons]
    rows += [("time", time_of_call(timing, len(result.timings) > 1)) for timing in result.timings]
    rows += [("accuracy", str(accuracy)) for accuracy in result.accuracies]
    if not result.receipt.loadable_by_executorch:
        rows.append(("original", original(result.receipt)))
    # Operators that a backend did not take are listed above, with the reasons.
    rows += [("warning", warning) for warning in result.warnings]
    rows += [("note", note) for note in result.notes if not note.startswith(f"{LossKind.FALLBACK.value}: ")]
    rows += [("compiler", note) for note in result.receipt.notes]
    return rows


def weights(facts: ProgramFacts) -> str:
    """`13.6 MB`. Only the backend knows the contents of its part of the file."""
    size = readable_bytes(facts.weight_bytes)
    if not any(method.delegates for method in facts.methods):
        return size
    return f"{size} besides the delegates' weights" if facts.weight_bytes else "in the delegates"


def signature(method: MethodFacts) -> str:
    """`forward(float32[1, 3, 224, 224]) -> float32[1, 1000]`."""
    outputs = ", ".join(method.outputs)
    return f"{method.name}({', '.join(method.inputs)}) -> {outputs if len(method.outputs) == 1 else f'({outputs})'}"


def memory(method: MethodFacts) -> str:
    """`4.8 MB for 52 tensors, which would take 60.1 MB side by side`."""
    if not method.arena_bytes:
        return "nothing to plan"
    apart = sum(tensor.nbytes for tensor in method.tensors)
    text = f"{readable_bytes(method.arena_bytes)} planned for {counted(len(method.tensors), 'tensor')}"
    return text + (f", which would take {readable_bytes(apart)} side by side" if apart > method.arena_bytes else "")


def operators(method: MethodFacts) -> str:
    """`105 calls of 8 operators: aten::convolution.out ×52, ...`, the most frequent first."""
    if not method.operators:
        return "none"
    most = ", ".join(f"{name}\u00a0×{calls}" for name, calls in method.operators.most_common(5))
    more = "" if len(method.operators) <= 5 else ", …"
    calls = counted(method.operators.total(), "call")
    return f"{calls} of {counted(len(method.operators), 'operator')}: {most}{more}"


def delegated(method: MethodFacts, result: ExportResult) -> str:
    """The parts that run on each backend, and the rest."""
    given = ", ".join(f"{counted(calls, 'call')} to {name}" for name, calls in method.delegates.items())
    if result.offered is None:
        others = ", ".join(name for name in result.backends if name != "portable")
        return f"nothing: {others} has no delegate" if others else "nothing: no backend was requested"
    if not method.operators:
        return f"everything: {given}" if given else "nothing: the program calls no operator"
    left = counted(method.operators.total(), "operator call")
    offered = ", ".join(result.offered)
    return f"{given or 'nothing'}; {left} run on kernels, because no partitioner of {offered} took them"


def left_behind(rows: Sequence[Row]) -> list[str]:
    """`aten::topk.values ×2: DemoBackend: k is not a constant`: a line for an operator and its reasons."""
    reasons = Counter((row.operator, row.why) for row in rows if row.refusals)
    return [f"{operator}\u00a0×{calls}: {why}" for (operator, why), calls in reasons.most_common()]


def original(receipt: Receipt) -> str:
    """The operators that ExecuTorch itself lacks."""
    return f"ExecuTorch 1.4 cannot load the program, because it has no {', '.join(receipt.newer_operators)}"


def verified(comparison: Comparison) -> str:
    """`largest difference from PyTorch 4.8e-07, or 1.9e-07 of the output's largest value (1e-04 allowed); 12 elements
    in 3 calls`."""
    worst = comparison.worst
    method = "" if comparison.method == "forward" else f"{comparison.method}: "
    where = method + ("" if comparison.label == "example" else f"{comparison.label}, {comparison.inputs}: ")
    if worst is None:
        return f"{where}there is no output to compare"
    calls, left = counted(comparison.calls, "call"), comparison.elements - comparison.compared
    if comparison.compared == 0:
        elements = counted(comparison.elements, "element")
        return f"{where}nothing was compared: {elements} in {calls}" + (", all NaN or infinite in both" if left else "")
    how_much = f"{counted(comparison.compared, 'element')} in {calls}"
    how_much += f", and {left} that are NaN or infinite in both" if left else ""
    if worst.max_abs == 0:
        return f"{where}equal to PyTorch: {how_much}"
    return (
        f"{where}largest difference from PyTorch {worst.max_abs:.2g}, or {relative(worst.max_abs, worst.max_rel)} "
        f"({worst.tolerance:g} allowed); {how_much}"
    )


def time_of_call(timing: Timing, several: bool) -> str:
    """`0.021 ms a call; PyTorch eager takes 0.045 ms (medians on this machine)`."""
    return f"{timing.method + ': ' if several else ''}{timing} (medians on this machine)"


def _row(stream: TextIO, label: str, text: str) -> None:
    first, *rest = textwrap.wrap(text, _WIDTH - _LABEL - 2, break_on_hyphens=False) or [""]
    shown = paint(label.ljust(_LABEL), "yellow" if label in ("note", "warning") else "dim", stream)
    stream.write(f"  {shown}{first}\n")
    for line in rest:
        stream.write(f"  {'':<{_LABEL}}{line}\n")
