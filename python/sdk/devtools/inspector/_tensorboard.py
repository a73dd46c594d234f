# SPDX-License-Identifier: BSD-3-Clause
"""An event file for TensorBoard: the graph of the model, with the time of each of its operators."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from torch.export import ExportedProgram

from sdk.devtools.debug_format.base_schema import Node, OperatorGraph, OperatorNode, ValueNode
from sdk.devtools.inspector._events import Event, EventBlock
from sdk.devtools.inspector._time_scale import TimeScale, calculate_time_scale_factor

DEVICE = "/device:CPU:0"


def write_events(path: str, program: ExportedProgram, blocks: Iterable[tuple[EventBlock, list[Event]]]) -> None:
    """Writes an event file into the folder `path`, which is made.

    Args:
        path: A folder, as `tensorboard --logdir` expects it.
        program: The program that ran, in edge dialect.
        blocks: Blocks of events, each with its timed events, in which every operator occurs once.

    Raises:
        ImportError: The package `tensorboard` is missing.
    """
    try:
        from tensorboard.compat.proto.event_pb2 import Event as Entry
        from tensorboard.compat.proto.event_pb2 import TaggedRunMetadata
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError as error:
        raise ImportError("files for TensorBoard need its package: pip install 'pte-sdk[tensorboard]'") from error
    from sdk.devtools.debug_format.et_schema import FXOperatorGraph  # which imports this package

    graph = FXOperatorGraph.gen_operator_graph(
        program.graph_module, skip_stack_trace=True, enable_module_hierarchy=True
    )
    names = dict(_names(graph))
    writer = EventFileWriter(path)
    try:
        writer.add_event(Entry(wall_time=time.time(), graph_def=_graph_def(graph, names).SerializeToString()))
        for step, (block, events) in enumerate(blocks):
            measured = TaggedRunMetadata(
                tag=block.name if step == 0 else f"{block.name} {step}",
                run_metadata=_run_metadata(block, events, names).SerializeToString(),
            )
            writer.add_event(Entry(wall_time=time.time(), step=step, tagged_run_metadata=measured))
    finally:
        writer.close()


def _names(graph: OperatorGraph, scope: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Pairs of the name of a node and its name in TensorBoard, which begins with the scopes of the node's modules."""
    for element in graph.elements:
        if not isinstance(element, OperatorGraph):
            yield element.name, "/".join((*scope, element.name.removesuffix("_")))
        elif element.graph_name in ("inputs", "forward", "outputs"):
            yield from _names(element, scope)
        else:
            # A module's name is its path; only the last component is added, because the scope has the parent modules.
            own = element.graph_name.rsplit(".", 1)[-1]
            yield from _names(element, (*scope, own))


def _nodes(graph: OperatorGraph) -> Iterator[Node]:
    for element in graph.elements:
        if isinstance(element, OperatorGraph):
            yield from _nodes(element)
        else:
            yield element


def _graph_def(graph: OperatorGraph, names: dict[str, str]) -> Any:
    """A `GraphDef`. Arguments that are not tensors are attributes."""
    from tensorboard.compat.proto.attr_value_pb2 import AttrValue
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.node_def_pb2 import NodeDef
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
    from tensorboard.compat.proto.versions_pb2 import VersionDef

    def shape(sizes: list[Any]) -> Any:
        dims = [TensorShapeProto.Dim(size=size if isinstance(size, int) else -1) for size in sizes]
        return TensorShapeProto(dim=dims)

    found = []
    for node in _nodes(graph):
        if isinstance(node, ValueNode) and node.val is not None:
            continue
        inputs = [used for used in node.inputs or [] if not (isinstance(used, ValueNode) and used.val is not None)]
        constants = [used for used in node.inputs or [] if isinstance(used, ValueNode) and used.val is not None]
        attributes = {
            constant.name.rsplit("_", 1)[0]: AttrValue(s=str(constant.val).encode()) for constant in constants
        }
        if node.output_shapes:
            shapes = AttrValue.ListValue(shape=[shape(sizes) for sizes in node.output_shapes])
            attributes["_output_shapes"] = AttrValue(list=shapes)
        for key, value in (node.metadata or {}).items():
            if key != "nn_module_stack":
                attributes[key] = AttrValue(i=value) if isinstance(value, int) else AttrValue(s=str(value).encode())
        op = node.op if isinstance(node, OperatorNode) else "Output" if node.inputs is not None else "Placeholder"
        found.append(
            NodeDef(name=names[node.name], op=op, input=[names[used.name] for used in inputs], attr=attributes)
        )
    return GraphDef(node=found, versions=VersionDef(producer=22))


def _run_metadata(block: EventBlock, events: Iterable[Event], names: dict[str, str]) -> Any:
    """Returns a `RunMetadata` with the average time of each operator, in sequence. The time of an event for several
    nodes is given to the last node."""
    from tensorboard.compat.proto.config_pb2 import RunMetadata
    from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats

    # TensorBoard's only unit is nanoseconds, so it shows cycles as nanoseconds.
    unit = block.target_time_scale
    ns = 1.0 if unit is TimeScale.CYCLES else calculate_time_scale_factor(TimeScale.NS, unit)
    now, stats = 0.0, []
    for event in events:
        known = [names[f"{node}_"] for node in event.module_hierarchy if f"{node}_" in names]
        if not known or event.perf_data is None:
            continue
        duration = event.perf_data.avg * ns
        stats.append(
            NodeExecStats(
                node_name=known[-1],
                timeline_label=event.name,
                all_start_micros=int(now // 1000),
                all_end_rel_micros=round(duration / 1000),
                all_start_nanos=int(now),
                all_end_rel_nanos=round(duration),
            )
        )
        now += duration
    return RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device=DEVICE, node_stats=stats)]))
