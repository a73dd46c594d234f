# SPDX-License-Identifier: BSD-3-Clause
"""The payloads of Neutron: a header, and what NXP's converter makes.

    u8 x 3       how many inputs and outputs the network has, and how many arguments the delegate has as inputs
    u8 each      the format of each input: 1 channels last, 0 as in PyTorch; then the format of each output
    u8 each      the argument index of each input of the network; then the output index of each output
    u8           the version: 0, or 1 for networks that can be profiled

The header, the microcode, the weights and the kernels follow, each filled up with zeros to a multiple of 16 bytes. The
microcode is u32 numbers, of which these are read: 0 a magic word, 6 its size in bytes, 7 the size of the weights, 9 the
size of the memory for intermediate results, and the counts of inputs and outputs (11 and 12; 13 and 14 in version 1).

A reference payload has another magic word and the graph of `sdk.backends.npu` as weights. It never reaches NXP's
driver: this SDK's delegate refuses it unless the driver is the stand-in of the tests, and ExecuTorch's refuses the
magic word.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sdk.backends.npu.reference_payload import is_reference
from sdk.backends.nxp.backend.data_format import DataFormat
from sdk.backends.payload import padded

MAGIC: Final = 0x64434D6E
REFERENCE_MAGIC: Final = 0x4E525054
"""The first words of the microcode."""

_WORDS: Final = 16  # of the microcode of a reference payload
_MOST: Final = 255  # inputs or outputs


@dataclass(frozen=True)
class NeutronNodeArtifacts:
    """The output of NXP's converter for a model: one node and its constants.

    Attributes:
        input_names: The inputs of the network, by their names in the model.
        input_indices: Their indices among the inputs of the model.
        output_names: The outputs of the network, by their names in the model.
        output_indices: Their indices among the outputs of the model.
        microcode: The program.
        weights: Its constants.
        kernels: Its kernels.
        payload_version: 0, or 1 if the network can be profiled.
    """

    input_names: Sequence[str]
    input_indices: Sequence[int]
    output_names: Sequence[str]
    output_indices: Sequence[int]
    microcode: bytes
    weights: bytes
    kernels: bytes
    payload_version: int


def compose(formats: Mapping[str, Mapping[str, DataFormat]], artifacts: NeutronNodeArtifacts) -> bytes:
    """The payload of a network.

    Args:
        formats: Under `inputs` and `outputs`, the formats of the model's tensors by their names.
        artifacts: The network.

    Raises ValueError for a tensor that the model does not have, and for more than 255 inputs or outputs.
    """
    header = [len(artifacts.input_indices), len(artifacts.output_indices), len(formats["inputs"])]
    if max(header) > _MOST:
        raise ValueError(f"a network of Neutron has {header[:2]} inputs and outputs; payloads have at most {_MOST}")
    for kind, names in (("inputs", artifacts.input_names), ("outputs", artifacts.output_names)):
        for name in names:
            if name not in formats[kind]:
                raise ValueError(
                    f"NXP's converter made a network with the tensor {name!r}; the {kind} of the model are "
                    f"{', '.join(formats[kind])}"
                )
            header.append(int(formats[kind][name].is_channels_last()))
    header += [*artifacts.input_indices, *artifacts.output_indices, artifacts.payload_version]
    parts = (bytes(header), artifacts.microcode, artifacts.weights, artifacts.kernels)
    return b"".join(padded(bytes(part)) for part in parts)


def compose_reference(formats: Mapping[str, Mapping[str, DataFormat]], graph: bytes) -> bytes:
    """Composes the payload of a graph for the interpreter and the stand-in."""
    inputs, outputs = list(formats["inputs"]), list(formats["outputs"])
    words = [0] * _WORDS
    words[0], words[6], words[7] = REFERENCE_MAGIC, 4 * _WORDS, len(graph)
    words[11], words[12] = len(inputs), len(outputs)
    microcode = struct.pack(f"<{_WORDS}I", *words)
    places = range(len(inputs)), range(len(outputs))
    return compose(formats, NeutronNodeArtifacts(inputs, places[0], outputs, places[1], microcode, graph, b"", 0))


def network_of(payload: bytes | memoryview) -> memoryview:
    """The graph in a reference payload, or the whole of another payload. Raises ValueError if the header is
    wrong."""
    view = memoryview(payload)
    if len(view) < 4:
        raise ValueError(f"the payload has {len(view)} bytes; its header needs at least 4")
    start = -(-(4 + 2 * (view[0] + view[1])) // 16) * 16
    if len(view) < start + 4 * _WORDS:
        raise ValueError(f"the payload has {len(view)} bytes; its header and microcode need {start + 4 * _WORDS}")
    words = struct.unpack_from(f"<{_WORDS}I", view, start)
    if words[0] == MAGIC:
        return view
    if words[0] != REFERENCE_MAGIC:
        raise ValueError(f"the microcode in the payload begins with 0x{words[0]:08X}; expected 0x{MAGIC:08X}")
    begin, size = start + -(-words[6] // 16) * 16, words[7]
    if begin + size > len(view) or not is_reference(view[begin : begin + size]):
        raise ValueError(f"the payload has {len(view)} bytes; its graph is at [{begin}, +{size})")
    return view[begin : begin + size]
