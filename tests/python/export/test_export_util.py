# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.extension.export_util`, the helpers of the original's examples."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch

from sdk.extension.export_util import export_to_edge, export_to_exec_prog, save_pte_program
from sdk.runtime import Runtime


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, scale: torch.Tensor | None = None) -> torch.Tensor:
        return torch.relu(x) * (1 if scale is None else scale)


X = torch.randn(2, 3)


def test_from_a_module_to_a_file(tmp_path: Path) -> None:
    batch = torch.export.Dim("batch", min=1, max=8)
    program = export_to_exec_prog(Model(), (X,), dynamic_shapes={"x": {0: batch}}, edge_constant_methods={"version": 3})
    path = save_pte_program(program, "model", str(tmp_path / "out"))
    assert path == str(tmp_path / "out/model.pte")
    loaded = Runtime.get().load_program(path)
    other = torch.randn(5, 3)
    torch.testing.assert_close(loaded.load_method("forward").execute([other])[0], Model()(other))
    assert loaded.load_method("version").execute([]) == [3]


def test_keyword_inputs_and_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "sdk.extension.export_util.utils"):
        edge = export_to_edge(Model(), (X,), example_kwarg_inputs={"scale": torch.ones(3)})
    assert "edge graph" in caplog.text
    assert edge.compile_config._skip_dim_order
    assert edge.exported_program().graph_signature.user_inputs == ("x", "scale")


def test_inputs_that_are_no_tuple() -> None:
    with pytest.raises(TypeError, match="example_inputs: expected a tuple, found Tensor"):
        export_to_edge(Model(), X)
