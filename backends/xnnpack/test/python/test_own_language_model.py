# SPDX-License-Identifier: BSD-3-Clause
"""A language model of one's own, exported as the guide does for nanoGPT: GPT-2's architecture, small and untrained."""

from __future__ import annotations

import collections
import copy
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.backends.xnnpack.utils.configs import get_xnnpack_edge_compile_config
from sdk.devtools import generate_etrecord, parse_etrecord
from sdk.devtools.backend_debug import get_delegation_info, print_delegation_info
from sdk.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower
from sdk.exir.backend.utils import format_delegated_graph
from sdk.runtime import Runtime

SKIPPED = ("getitem", "_assert_scalar.default")
VOCABULARY, BLOCK, WIDTH, HEADS, LAYERS = 50, 24, 32, 4, 2


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        parts = self.attention(self.before(x)).split(WIDTH, dim=2)
        q, k, v = (part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.after(x))))


class GPT(nn.Module):
    """From tokens, int64 [1, n], to the logits of the next one [1, 1, vocabulary]."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.norm(x)[:, [-1], :])
        return logits


@pytest.fixture(scope="module")
def model() -> GPT:
    torch.manual_seed(0)
    return GPT().eval()


def traced(model: GPT, most: int) -> ExportedProgram:
    """Exports the model, and exports the result again, with attention as plain operators, for 1 to `most` tokens."""
    example = (torch.randint(0, VOCABULARY, (1, most)),)
    shapes = ({1: Dim("token_dim", max=most)},)
    with sdpa_kernel([SDPBackend.MATH]), torch.no_grad():
        module = export(model, example, dynamic_shapes=shapes).module()
        return export(module, example, dynamic_shapes=shapes)


def check_text(model: GPT, buffer: bytes, most: int) -> None:
    """The program continues prompts of several lengths as eager does, and refuses a longer one."""
    method = Runtime.get().load_program(buffer).load_method("forward")
    for length in (1, 2, 7, most):
        tokens = torch.randint(0, VOCABULARY, (1, length))
        while tokens.shape[1] <= most:
            with torch.no_grad():
                expected = model(tokens)
            (found,) = method.execute([tokens])
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
            tokens = torch.cat([tokens, expected[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
    with pytest.raises(RuntimeError):
        method.execute([torch.zeros(1, most + 1, dtype=torch.int64)])


def operators(program: ExportedProgram) -> collections.Counter[str]:
    """Counts the calls of each operator in a graph, except operators on sizes and getitem."""
    calls = [node.target for node in program.graph.nodes if node.op == "call_function"]
    names = [getattr(target, "__name__", str(target)) for target in calls]
    return collections.Counter(name for name in names if "sym" not in name and name not in SKIPPED)


def test_exported_for_kernels(model: GPT) -> None:
    """LC-01, LC-02, LC-04: exported twice under sdpa_kernel(MATH) and without a backend, it writes eager's text."""
    edge = to_edge(traced(model, BLOCK), compile_config=EdgeCompileConfig(_check_ir_validity=False))
    names = {str(node.target) for node in edge.exported_program().graph.nodes if node.op == "call_function"}
    assert not any("scaled_dot_product" in name for name in names)
    check_text(model, edge.to_executorch().buffer, BLOCK)


def test_exported_for_a_backend(model: GPT, capsys: pytest.CaptureFixture) -> None:
    """LC-05, LC-06, LC-07, LC-13, DD-15: delegated with the backend's configuration, for one token less than a block.
    The table lists the operators that stay on kernels."""
    edge = to_edge_transform_and_lower(
        traced(model, BLOCK - 1), partitioner=[XnnpackPartitioner()], compile_config=get_xnnpack_edge_compile_config()
    )
    module = edge.exported_program().graph_module
    info = get_delegation_info(module)
    assert info.num_delegated_subgraphs > 0 and info.num_delegated_nodes > 0 and info.num_non_delegated_nodes > 0
    assert "backend_id: XnnpackBackend" in format_delegated_graph(module)
    rows = {name: (delegated, outside) for name, delegated, outside in info.rows()}
    assert rows["aten_embedding_default"] == (2, 0) and rows["aten_index_tensor"] == (0, 1)
    assert rows["Total"] == (info.num_delegated_nodes, info.num_non_delegated_nodes)
    print_delegation_info(module)
    printed = capsys.readouterr().out
    assert f"Total delegated subgraphs: {info.num_delegated_subgraphs}" in printed
    assert all(name in printed for name in rows)
    check_text(model, edge.to_executorch().buffer, BLOCK - 1)


def test_a_program_names_the_backend_that_is_missing(model: GPT) -> None:
    """LC-12: a program for another backend fails with NotFound, 0x20."""
    lowered = to_edge_transform_and_lower(traced(model, BLOCK - 1), partitioner=[XnnpackPartitioner()])
    buffer = lowered.to_executorch().buffer.replace(b"XnnpackBackend", b"OtherAIBackend")
    with pytest.raises(RuntimeError, match=r"OtherAIBackend(.|\n)*(0x20|NotFound)"):
        Runtime.get().load_program(buffer).load_method("forward")


def test_the_record_has_the_graph_before_it_was_lowered(model: GPT, tmp_path: Path) -> None:
    """LC-10, LC-11: a copy from before `to_backend` keeps the operators of the edge graph."""
    edge = to_edge(traced(model, BLOCK - 1), compile_config=get_xnnpack_edge_compile_config())
    before = copy.deepcopy(edge)
    expected = operators(before.exported_program())
    lowered = edge.to_backend(XnnpackPartitioner())
    program = lowered.to_executorch()
    path = tmp_path / "etrecord.bin"
    generate_etrecord(str(path), before, program)
    kept = parse_etrecord(str(path)).edge_dialect_program
    assert kept is not None and operators(kept) == expected
    assert "executorch_call_delegate" not in expected and expected["aten.addmm.default"] == 4 * LAYERS
    assert "executorch_call_delegate" in operators(lowered.exported_program())
