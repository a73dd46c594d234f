# SPDX-License-Identifier: BSD-3-Clause
"""Kernels that share work among threads inside work that is already shared: they terminate, with PyTorch's results.

They run in a fork, which is killed if threads deadlock.
"""

from __future__ import annotations

import subprocess

import pytest

import forked

SCRIPT = """
import sys
import torch
from torch import nn
from sdk.exir import to_edge
from sdk.extension.pybindings import portable_lib

class Attention(nn.Module):
    "Self-attention of BERT-base, written as the products that it consists of."
    def __init__(self, hidden=768, heads=12):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
    def forward(self, x):
        batch, tokens, hidden = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4).flatten(1, 2)
        scores = torch.bmm(q, k.transpose(1, 2)) / (hidden // self.heads) ** 0.5
        mixed = torch.bmm(scores.softmax(-1), v).view(batch, self.heads, tokens, -1)
        return self.out(mixed.transpose(1, 2).flatten(2))

class Bmm(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)

torch.manual_seed(0)
cases = [(Attention(), (torch.randn(1, 70, 768),))]
# From 200,000 multiply-adds on, threads divide a matrix multiplication, in units of 24 rows or 64 columns.
for batch, m, k, n in [(12, 70, 64, 70), (12, 70, 70, 64), (2, 70, 64, 70), (12, 40, 50, 99), (12, 40, 50, 101)]:
    cases.append((Bmm(), (torch.randn(batch, m, k), torch.randn(batch, k, n))))
cases.append((nn.ConvTranspose2d(96, 96, 3, stride=2), (torch.randn(1, 96, 6, 40),)))
with torch.no_grad():
    programs = [to_edge(torch.export.export(model.eval(), inputs)).to_executorch().buffer for model, inputs in cases]
    for threads in map(int, sys.argv[1:]):
        print(threads, "threads", flush=True)
        portable_lib._unsafe_reset_threadpool(threads)
        for program, (model, inputs) in zip(programs, cases, strict=True):
            out = portable_lib._load_for_executorch_from_buffer(program).forward(inputs)[0]
            torch.testing.assert_close(out, model(*inputs), rtol=1e-4, atol=1e-4)
"""


def test_work_within_work() -> None:
    try:
        done = forked.run("-c", SCRIPT, "1", "2", "3", "8", timeout=300)
    except subprocess.TimeoutExpired as hang:
        pytest.fail(f"threads wait for each other; the last of these did not end: {hang.stdout!r}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "1 threads\n2 threads\n3 threads\n8 threads\n"
