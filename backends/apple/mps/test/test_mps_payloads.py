# SPDX-License-Identifier: BSD-3-Clause
"""The bytes of payloads, and damaged ones: each is a typed error."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import pytest
import torch
from mps_cases import Call, floats
from mps_lowering import lower_call

from sdk.backends.apple.mps.serialization import mps_graph_schema as schema
from sdk.backends.apple.mps.serialization.mps_graph_serialize import (
    MPSDelegateHeader,
    PayloadError,
    read_mps_graph,
    serialize_mps_graph,
)
from sdk.backends.apple.mps.verify import MPSExecutionError, MPSProgram, run

FLOAT32 = schema.MPSDataType.mps_data_type_float32


def linear(use_fp16: bool = False) -> bytes:
    call = Call("aten.addmm.default", (floats(3), floats(2, 4), floats(4, 3)))
    return lower_call(call, use_fp16)


def graph_of(*nodes: object, values: list[list[int]], inputs: list[int], outputs: list[int]) -> schema.MPSGraph:
    return schema.MPSGraph(
        mps_nodes=[schema.MPSNode(node) for node in nodes],
        mps_values=[schema.MPSTensor(FLOAT32, len(dims), dims) for dims in values],
        input_ids=inputs,
        output_ids=outputs,
    )


def with_constant() -> bytes:
    graph = graph_of(schema.MPSAdd(0, 1, 2), values=[[3], [3], [3]], inputs=[0], outputs=[2])
    graph.constant_ids = [1]
    data = torch.tensor([1.0, 2.0, 4.0]).numpy().tobytes()
    graph.mps_values[1].constant_buffer = schema.Buffer(data)
    graph.mps_values[1].constant_buffer_size = len(data)
    return serialize_mps_graph(graph)


def test_the_header() -> None:
    """The header has zeros, MP00, and the offset and the size of the constants, which begin at a multiple of 16."""
    payload = with_constant()
    zeros, magic, offset, size = struct.unpack_from("<I4sQQ", payload)
    assert (zeros, magic, offset % 16, size) == (0, b"MP00", 0, 16)
    assert offset + size == len(payload)
    assert payload[28:32] == b"MP00"  # of the flatbuffer, which follows the 24 bytes of the header
    assert payload[offset:] == struct.pack("<4f", 1, 2, 4, 0)
    assert MPSDelegateHeader.from_bytes(payload) == MPSDelegateHeader(offset, size)


def test_a_payload_is_read_as_it_was_written() -> None:
    payload = with_constant()
    graph, constants = read_mps_graph(payload)
    assert graph.mps_nodes == [schema.MPSNode(schema.MPSAdd(0, 1, 2))]
    assert graph.mps_values[1].constant_buffer_size == 12 and len(constants) == 16
    assert torch.equal(run(payload, [torch.ones(3)])[0], torch.tensor([2.0, 3.0, 5.0]))


def test_constants_inside_of_the_flatbuffer_are_read() -> None:
    """Older payloads have constants inside of the flatbuffer."""
    graph = graph_of(schema.MPSAdd(0, 1, 2), values=[[3], [3], [3]], inputs=[0], outputs=[2])
    graph.constant_ids = [1]
    read, constants = read_mps_graph(serialize_mps_graph(graph))
    data = torch.tensor([1.0, 2.0, 4.0]).numpy().tobytes()
    read.mps_values[1].constant_buffer, read.mps_values[1].constant_buffer_size = schema.Buffer(data), len(data)
    from sdk.backends.apple.mps.verify.interpreter import Interpreter

    assert torch.equal(Interpreter(read, constants).run([torch.ones(3)])[0], torch.tensor([2.0, 3.0, 5.0]))


def test_the_same_bytes_each_time() -> None:
    assert linear() == linear() and linear(True) == linear(True)


def test_payloads_are_as_large_as_their_weights() -> None:
    weights = torch.nn.Linear(512, 512)
    for use_fp16, size in ((False, 4), (True, 2)):
        from mps_lowering import lower

        from sdk.exir.lowered_backend_module import get_lowered_submodules

        manager = lower(weights, (floats(1, 512),), use_fp16)
        ((_, module, _),) = get_lowered_submodules(manager.exported_program().graph_module)
        assert len(module.processed_bytes) <= 1.01 * size * (512 * 512 + 512)


@pytest.mark.parametrize("use_fp16", [False, True])
def test_truncated_and_changed_bytes_are_typed_errors(use_fp16: bool) -> None:
    payload = linear(use_fp16)
    for end in range(len(payload)):
        with pytest.raises(PayloadError):
            MPSProgram.from_payload(payload[:end])
    randoms = random.Random(0)
    refused = 0
    for _ in range(2000):
        changed = bytearray(payload)
        for _ in range(randoms.randint(1, 3)):
            changed[randoms.randrange(len(changed))] = randoms.randrange(256)
        try:
            program = MPSProgram.from_payload(bytes(changed))
            program.run("forward", [floats(3), floats(2, 4), floats(4, 3)])
        except (PayloadError, MPSExecutionError, ValueError):
            refused += 1
    assert refused > 200


def _changed(change: Callable[[schema.MPSGraph], object]) -> bytes:
    graph = graph_of(
        schema.MPSAdd(0, 1, 2), schema.MPSReLU(2, 3), values=[[3], [3], [3], [3]], inputs=[0, 1], outputs=[3]
    )
    change(graph)
    return serialize_mps_graph(graph)


MISTAKES: dict[str, tuple[Callable[[schema.MPSGraph], object], str]] = {
    "an id beyond the values": (lambda g: setattr(g.mps_nodes[0].mpsnode_union, "input2_id", 4), "has? ?.*id 4"),
    "a negative id": (lambda g: setattr(g.mps_nodes[0].mpsnode_union, "input2_id", -1), "id -1"),
    "a value before it is computed": (lambda g: g.mps_nodes.reverse(), "before it is computed"),
    "an output that is not computed": (lambda g: g.mps_nodes.pop(), "is not computed"),
    "an input twice": (lambda g: g.input_ids.append(0), "twice"),
    "another rank": (lambda g: setattr(g.mps_values[0], "num_dims", 2), "num_dims is 2"),
    "a negative size": (lambda g: setattr(g.mps_values[0], "dims", [-3]), "cannot have the sizes"),
    "a size beyond memory": (
        lambda g: (setattr(g.mps_values[0], "dims", [1 << 30] * 3), setattr(g.mps_values[0], "num_dims", 3)),
        "cannot have the sizes",
    ),
    "no dtype": (lambda g: setattr(g.mps_values[0], "datatype", schema.MPSDataType(0)), "dtype"),
    "sizes that do not fit": (lambda g: setattr(g.mps_values[1], "dims", [2]), r"node 0 \(MPSAdd\)"),
    "a result of another size": (lambda g: setattr(g.mps_values[2], "dims", [2]), r"the payload says \[2\]"),
    "a constant without bytes": (lambda g: (g.constant_ids.append(1), g.input_ids.pop()), "has 0 bytes"),
    "a constant beyond the payload": (
        lambda g: (
            g.constant_ids.append(1),
            g.input_ids.pop(),
            setattr(g.mps_values[1], "constant_buffer_size", 12),
            setattr(g.mps_values[1], "segment_offset", 1 << 40),
        ),
        "ends at",
    ),
    "an output of another dtype": (
        lambda g: setattr(g.mps_values[3], "datatype", schema.MPSDataType.mps_data_type_int32),
        "the output 0 is torch.float32",
    ),
    "a kernel of two nodes": (lambda g: setattr(g, "graph_type", schema.OpType.metal_kernel), "has one node"),
    "a range without end": (
        lambda g: g.mps_nodes.insert(0, schema.MPSNode(schema.MPSArange(2, 0.0, float("inf"), 1.0, FLOAT32))),
        "no range",
    ),
    "padding beyond memory": (
        lambda g: g.mps_nodes.insert(0, schema.MPSNode(schema.MPSConstantPadND(0, 2, [1 << 30, 1 << 30], 0.0))),
        "MPSConstantPadND",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_graphs_with_mistakes_are_typed_errors(mistake: str) -> None:
    change, message = MISTAKES[mistake]
    with pytest.raises(PayloadError, match=message):
        MPSProgram.from_payload(_changed(change))


def test_wrong_inputs_and_indices_are_typed_errors() -> None:
    program = MPSProgram.from_payload(linear())
    with pytest.raises(ValueError, match="3 inputs; 1 are given"):
        program.run("forward", [floats(3)])
    with pytest.raises(ValueError, match=r"input 1 has the shape \[4, 2\].*expects \[2, 4\]"):
        program.run("forward", [floats(3), floats(4, 2), floats(4, 3)])
    with pytest.raises(ValueError, match=r"torch.int64.*torch.float32"):
        program.run("forward", [floats(3).long(), floats(2, 4), floats(4, 3)])
    call = Call("aten.index_select.default", (floats(3, 2), 0, torch.tensor([0, 2])))
    program = MPSProgram.from_payload(lower_call(call, False))
    with pytest.raises(MPSExecutionError, match="MPSIndexSelect"):
        program.run("forward", [floats(3, 2), torch.tensor([0, 3])])


def test_another_format() -> None:
    with pytest.raises(PayloadError, match="24 bytes at least"):
        read_mps_graph(b"MP00")
    with pytest.raises(PayloadError, match="expected b'MP00' at byte 4"):
        read_mps_graph(bytes(64))
