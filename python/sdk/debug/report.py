# SPDX-License-Identifier: BSD-3-Clause
"""The findings as text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.fx import Node

from sdk.debug.departures import Comparison
from sdk.debug.layer_losses import Losses
from sdk.exir._messages import describe_value, operator_name, user_frame

_MOST_LOSSES, _MOST_COVERED = 10, 6


@dataclass(frozen=True)
class Result:
    """The findings of one call of the command.

    Attributes:
        program, method: The program and the method that were debugged.
        ran: `here`, or the ETDump.
        are_inputs_known: Whether the run is known to be on the inputs of the comparison. ETDumps of other runtimes do
            not identify their inputs.
        compared: Every operator with a recorded result, in the order of the graph.
        outputs: The SQNR in dB of each output of the method, compared with the whole model in eager mode.
        losses: The losses of a quantised model's layers.
        random_weight: A weight whose values differ each time that the model is built; it is set only if an operator
            departs and the model was exported again.
    """

    program: Path
    method: str
    ran: str
    are_inputs_known: bool
    compared: list[Comparison]
    outputs: list[float]
    losses: Losses | None
    random_weight: str | None = None

    @property
    def departing(self) -> list[Comparison]:
        return [comparison for comparison in self.compared if comparison.departs]


def as_json(result: Result) -> dict[str, Any]:
    """Returns the result as JSON data. Ratios are in dB; null means an exact match."""
    departing = [_layer(found) for found in result.departing]
    return {
        "program": str(result.program),
        "method": result.method,
        "ran": result.ran,
        "inputs_known": result.are_inputs_known,
        "first": departing[0] if departing else None,
        "departing": departing,
        "layers": [_layer(found) for found in result.compared],
        "random_weight": result.random_weight,
        "outputs": [{"sqnr_db": _number(ratio)} for ratio in result.outputs],
        "losses": None
        if result.losses is None
        else {
            "sqnr_db": _number(result.losses.sqnr),
            "note": result.losses.note,
            "layers": [
                {
                    "layer": loss.node.name,
                    "alone_db": _number(loss.alone),
                    "gain_db": _number(loss.gain),
                    **_place(loss.node),
                }
                for loss in result.losses.layers
            ],
        },
    }


def _layer(found: Comparison) -> dict[str, Any]:
    return {
        "layer": found.node.name,
        "operator": operator_name(found.node.target),
        "departs": found.departs,
        "dtype": str(found.found.dtype).removeprefix("torch."),
        "shape": list(found.expected.shape),
        "error": _difference(found.error),
        "tolerance": found.tolerance,
        "rounding": _difference(found.rounding),
        "position": list(found.position),
        "expected": _element(found.expected, found.position),
        "found": _element(found.found, found.position),
        "sqnr_db": _number(found.sqnr),
        "event": found.event.name,
        "backend": found.event.delegate_backend_name,
        "instruction": found.event._instruction_id,
        "covers": [node.name for node in found.covers],
        **_place(found.node),
    }


def _with_source(node: Node) -> Node:
    """Returns the node, or, for a node that quantisation added and that has no line in the model, the node whose result
    it quantises."""
    current = node
    while current.op == "call_function":
        frame = user_frame(current)
        if frame is not None and not frame["file"].startswith("<"):
            return current
        if not current.all_input_nodes:
            break
        current = current.all_input_nodes[0]
    return node


def _place(node: Node) -> dict[str, Any]:
    node = _with_source(node)
    frame = user_frame(node)
    modules = list((node.meta.get("nn_module_stack") or {}).values())
    path = modules[-1][0] if modules else ""
    return {
        "module": path.removeprefix("L['self'].") if isinstance(path, str) else "",
        "file": frame["file"] if frame else None,
        "line": int(frame["line"]) if frame else None,
        "code": frame["code"] if frame else None,
    }


def _number(ratio: float) -> float | str | None:
    """JSON has no infinities: an infinite ratio, which is an exact match, becomes null."""
    return None if ratio == math.inf else _difference(ratio)


def _difference(value: float) -> float | str:
    """JSON has no infinities: an infinite difference becomes "inf"."""
    return value if math.isfinite(value) else str(value)


def _element(value: torch.Tensor, position: Sequence[int]) -> Any:
    if value.numel() == 0:
        return None
    dense = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    element = dense[tuple(position)].item()
    return element if not isinstance(element, float) or math.isfinite(element) else str(element)


def as_text(result: Result) -> str:
    """The report as text: the first operator that departs, a line for each of the others, and the ranking of layers."""
    lines = [f"{result.program}, method {result.method}, {_ran(result.ran)}: {_counted(len(result.compared))} compared"]
    departing = result.departing
    if departing:
        lines += ["", "The first operator that departs from eager mode:", *_paragraph(departing[0])]
        if len(departing) > 1:
            lines += ["", "Others depart too, each compared on the inputs that it had in the runtime:"]
            lines += [f"  {_headline(found)}" for found in departing[1:]]
        if result.random_weight is not None:
            lines += [
                "",
                f"The model's weights, such as {result.random_weight}, differ each time that it is built, so the "
                "program has others, too: set a seed where the model is built (torch.manual_seed) and export it again, "
                "or pass the --etrecord that was saved when the program was exported.",
            ]
        if not result.are_inputs_known:
            lines += ["", "The ETDump does not name its inputs: if they were others, pass them as --inputs FILE.pt."]
    else:
        worst = max(
            (found for found in result.compared if found.error > 0),
            key=lambda f: f.error / (f.tolerance or 1),
            default=None,
        )
        lines += ["", "No operator departs from eager mode by more than rounding."]
        if worst is not None:
            lines.append(f"The one that comes closest to its tolerance: {_headline(worst)}")
    for index, ratio in enumerate(result.outputs):
        lines.append(f"Output {index}: {_decibels(ratio)} compared with the whole model in eager mode")
    if result.losses is not None:
        lines += _losses(result.losses)
    return "\n".join(lines)


def _ran(ran: str) -> str:
    return "run here" if ran == "here" else f"recorded in {ran}"


def _counted(count: int) -> str:
    return f"{count} operator{'' if count == 1 else 's'}"


def _headline(found: Comparison) -> str:
    place = _place(found.node)
    at = f", {place['file']}:{place['line']}" if place["file"] else ""
    ratio = _decibels(found.sqnr)
    return f"{found.node.name}: off by {found.error:.3g} where {found.tolerance:.2g} is rounding, {ratio}{at}"


def _paragraph(found: Comparison) -> list[str]:
    place = _place(found.node)
    kind = describe_value(found.found.reshape(found.expected.shape))
    lines = [f"  {found.node.name} = {operator_name(found.node.target)} -> {kind}"]
    if place["file"]:
        inside = f" (module {place['module']})" if place["module"] else ""
        lines.append(f"  {place['file']}:{place['line']}{inside}: {place['code']}")
    where = (
        f"the delegate {found.event.delegate_backend_name}" if found.event.delegate_backend_name else found.event.name
    )
    lines.append(f"  ran in instruction {found.event._instruction_id}: {where}")
    expected, value = _element(found.expected, found.position), _element(found.found, found.position)
    lines += [
        f"  largest difference {found.error:.6g} at {list(found.position)}: expected {_shown(expected)}, found "
        f"{_shown(value)}",
        f"  rounding explains {found.tolerance:.3g} (eager mode differs from float64 by {found.rounding:.3g}); "
        f"{_decibels(found.sqnr)}",
    ]
    if found.covers:
        names = ", ".join(node.name for node in found.covers[:_MOST_COVERED])
        more = f" and {len(found.covers) - _MOST_COVERED} more" if len(found.covers) > _MOST_COVERED else ""
        lines.append(f"  judged together with what runs before it and is not recorded: {names}{more}")
    return lines


def _shown(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _decibels(ratio: float) -> str:
    return "equal" if ratio == math.inf else f"SQNR {ratio:.1f} dB"


def _losses(losses: Losses) -> list[str]:
    lines = [
        "",
        f"The quantised model compared with the float model: {_decibels(losses.sqnr)}. Layers by the gain from keeping "
        "each in float:",
        f"  {'layer':<28} {'in float':>10} {'alone':>10}  source",
    ]
    for loss in losses.layers[:_MOST_LOSSES]:
        place = _place(loss.node)
        at = f"{place['file']}:{place['line']}" if place["file"] else ""
        alone = "-" if loss.alone == math.inf else f"{loss.alone:.1f} dB"
        lines.append(f"  {loss.node.name:<28} {loss.gain:>+7.2f} dB {alone:>10}  {at}")
    if len(losses.layers) > _MOST_LOSSES:
        lines.append(f"  and {len(losses.layers) - _MOST_LOSSES} more (--json has all)")
    if losses.note:
        lines.append(f"  {losses.note}")
    return lines
