# SPDX-License-Identifier: BSD-3-Clause
"""The runtime records a digest of a run's inputs, so that a run is compared with eager mode on the same inputs only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dumps
import pytest
import torch
from torch import nn
from torch.export import Dim, export

from sdk.devtools import Inspector
from sdk.devtools.inspector._inputs import digest_of
from sdk.devtools.page import write_page
from sdk.exir import to_edge
from sdk.runtime import Runtime

X = torch.linspace(-1, 1, 8).reshape(2, 4)


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)  # near its poles, tan would magnify rounding errors
        self.linear = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).tan()


def record_runs(
    program: bytes, folder: Path, *runs: tuple[Any, ...], method: str = "forward", buffer: int = 1 << 20
) -> dict[str, str]:
    loaded = Runtime.get().load_program(program, enable_etdump=True, debug_buffer_size=buffer)
    ran = loaded.load_method(method)
    for inputs in runs:
        ran.execute(inputs)
    paths = {"etdump_path": str(folder / "m.etdp"), "debug_buffer_path": str(folder / "m.bin")}
    loaded.write_etdump_result_to_file(*paths.values())
    return paths


def lower(module: nn.Module, inputs: tuple[Any, ...], **how: Any) -> Any:
    return to_edge(export(module.eval(), inputs, **how), generate_etrecord=True).to_executorch()


def digests(paths: dict[str, str]) -> list[int]:
    return [block._inputs_digest for block in Inspector(**paths).event_blocks if block.name == "Execute"]


class Mixed(nn.Module):
    def forward(self, x: torch.Tensor, count: int, scale: float, flag: bool) -> torch.Tensor:
        return x.to(torch.float32) * scale + count


DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool,
]  # fmt: skip
LAYOUTS = {
    "rows": lambda t: t,
    "channels last": lambda t: t.to(memory_format=torch.channels_last),
    "a number": lambda t: t[0, 0, 0, 0],
    "without elements": lambda t: t[:0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_digests_are_those_of_the_runtime(dtype: torch.dtype, layout: str, tmp_path: Path) -> None:
    """For each dtype and order in memory: another element changes the digest, another order in memory does not."""
    tensor = LAYOUTS[layout]((torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5) % 7).to(dtype))
    inputs = (tensor, 3, 0.5, True)
    (found,) = digests(record_runs(lower(Mixed(), inputs).buffer, tmp_path, inputs))
    assert found == digest_of(inputs) != 0
    assert found == digest_of((tensor.contiguous(), 3, 0.5, True))
    assert digest_of(((tensor == 0).to(dtype), 3, 0.5, True)) != found or tensor.numel() == 0
    assert digest_of((tensor.unsqueeze(0), 3, 0.5, True)) != found
    assert all(digest_of((tensor, *numbers)) != found for numbers in ((4, 0.5, True), (3, 0.25, True), (3, 0.5, False)))


def test_times_alone_need_no_digest(tmp_path: Path) -> None:
    loaded = Runtime.get().load_program(lower(Head(), (X,)).buffer, enable_etdump=True)
    loaded.load_method("forward").execute((X,))
    loaded.write_etdump_result_to_file(str(tmp_path / "m.etdp"))
    assert digests({"etdump_path": str(tmp_path / "m.etdp")}) == [0]


def test_the_run_on_the_records_inputs_is_compared(tmp_path: Path) -> None:
    """INS-06, DT-06: the run is found among others. If all runs were on other inputs, none is compared until the record
    has these inputs."""
    manager = lower(Head(), (X,))
    record = manager.get_etrecord()
    gap = Inspector(**record_runs(manager.buffer, tmp_path, (X + 1,), (X * 2,), (X,)), etrecord=record)
    assert all(value < 1e-5 for (value,) in gap.calculate_numeric_gap("L1")["gap"])
    others = Inspector(**record_runs(manager.buffer, tmp_path, (X + 1,), (X * 2,)), etrecord=record)
    with pytest.raises(
        ValueError, match=r"is of a run on other inputs than the ETRecord's.*update_representative_inputs"
    ):
        others.calculate_numeric_gap("L1")
    with pytest.raises(ValueError, match=r"is of a run on other inputs than the ETRecord's"):
        others.layers()
    record.update_representative_inputs([X * 2])
    for reference in (None, "edge_dialect_program"):
        assert all(value < 1e-5 for (value,) in others.calculate_numeric_gap("L1", reference_graph=reference)["gap"])


def test_other_sizes_are_other_inputs(tmp_path: Path) -> None:
    manager = lower(Head(), (X,), dynamic_shapes=({0: Dim("rows", min=1, max=8)},))
    inspector = Inspector(**record_runs(manager.buffer, tmp_path, (X[:1],)), etrecord=manager.get_etrecord())
    with pytest.raises(ValueError, match="is of a run on other inputs"):
        inspector.calculate_numeric_gap("L1")


def test_inputs_of_another_method_are_not_taken(tmp_path: Path) -> None:
    """A bundled program gives the record the inputs of `forward`; other methods ran on their own examples."""
    programs = {"forward": export(Head().eval(), (X,)), "encode": export(Head().eval(), (X * 3,))}
    manager = to_edge(programs, generate_etrecord=True).to_executorch()
    record = manager.get_etrecord()
    record.update_representative_inputs([X])
    paths = record_runs(manager.buffer, tmp_path, (X * 3,), method="encode")
    gap = Inspector(**paths, etrecord=record, method_name="encode").calculate_numeric_gap("L1")
    assert len(gap) > 0 and all(value < 1e-5 for (value,) in gap["gap"])


@pytest.mark.parametrize("digest", [0, digest_of((X.to(torch.int8),))], ids=["none", "of quantised inputs"])
def test_a_run_whose_inputs_cannot_be_told_is_compared(digest: int, tmp_path: Path) -> None:
    """INS-06: files of the original have no digest, and a pass may have changed the types of the program's inputs. Such
    a run is compared, too."""
    manager = lower(Head(), (X,))
    paths = record_runs(manager.buffer, tmp_path, (X,))
    dump = Inspector(**paths)._etdump
    for run in dump.run_data:
        run.inputs_digest = digest
    Path(paths["etdump_path"]).write_bytes(dumps.dump(*dump.run_data))
    gap = Inspector(**paths, etrecord=manager.get_etrecord()).calculate_numeric_gap("L1")
    assert all(value < 1e-5 for (value,) in gap["gap"])


def test_the_page_accuses_no_right_program(tmp_path: Path) -> None:
    manager = lower(Head(), (X,))
    manager.save(str(tmp_path / "m.pte"))
    manager.get_etrecord().save(tmp_path / "m.etrecord")
    paths = record_runs(manager.buffer, tmp_path, (X + 1,))
    files = {"etdump": paths["etdump_path"], "etrecord": tmp_path / "m.etrecord"}
    with pytest.raises(
        ValueError, match=r"is of a run on other inputs than the ETRecord's.*leave out the debug buffer"
    ):
        write_page(tmp_path / "m.pte", tmp_path / "m.html", **files, debug_buffer=paths["debug_buffer_path"])
    write_page(tmp_path / "m.pte", tmp_path / "m.html", **files)
