# SPDX-License-Identifier: BSD-3-Clause
"""`Inspector.write_tensorboard_artifact`, read with TensorBoard's own reader."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sdk.devtools import Inspector
from sdk.devtools.inspector import TimeScale

tensorboard = pytest.importorskip("tensorboard")


def test_the_graph_and_the_times(recorded: Path, tmp_path: Path) -> None:
    """The model's operators in the scopes of its modules, each with the time that the Inspector has."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.compat.proto.config_pb2 import RunMetadata

    inspector = Inspector(
        str(recorded / "net.etdp"), etrecord=str(recorded / "net.etrecord"), target_time_scale=TimeScale.US
    )
    inspector.write_tensorboard_artifact(str(tmp_path / "log"))
    read = EventAccumulator(str(tmp_path / "log"))
    read.Reload()
    graph = {node.name: node for node in read.Graph().node}
    assert graph["x"].op == "Placeholder"
    assert graph["output"].op == "Output"
    (conv,) = [node for name, node in graph.items() if name.startswith("stem/")]
    assert conv.op == "aten.convolution.default"
    assert "x" in conv.input and conv.attr["stride"].s == b"[1, 1]"
    assert [dim.size for dim in conv.attr["_output_shapes"].list.shape[0].dim] == [1, 8, 14, 14]
    inside = [name for name in graph if name.startswith("blocks/1/conv/")]
    assert len(inside) == 1
    assert all(name in graph for node in graph.values() for name in node.input)

    (tag,) = [tag for tag in read.Tags()["run_metadata"] if tag.startswith("Execute")]
    metadata: RunMetadata = read.RunMetadata(tag)
    (device,) = metadata.step_stats.dev_stats
    times = {stats.node_name: stats.all_end_rel_nanos for stats in device.node_stats}
    assert set(times) <= set(graph)
    (block,) = [block for block in inspector.event_blocks if block.name == "Execute"]
    # Operators once: those of delegates in place of the calls.
    expected = sum(
        event.perf_data.avg * 1000
        for event in block.events
        if event.perf_data is not None and (event.is_delegated_op or event.name.startswith("native_call_"))
        if event.module_hierarchy
    )
    assert sum(stats.all_end_rel_nanos for stats in device.node_stats) == pytest.approx(expected, abs=len(times) + 1)
    starts = [stats.all_start_nanos for stats in device.node_stats]
    assert starts == sorted(starts)


def test_what_is_missing(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="needs the model: pass etrecord="):
        Inspector(str(recorded / "net.etdp")).write_tensorboard_artifact(str(tmp_path))
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto.event_pb2", None)
    inspector = Inspector(str(recorded / "net.etdp"), etrecord=str(recorded / "net.etrecord"))
    with pytest.raises(ImportError, match=r"pip install 'pte-sdk\[tensorboard\]'"):
        inspector.write_tensorboard_artifact(str(tmp_path))
