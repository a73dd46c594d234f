# SPDX-License-Identifier: BSD-3-Clause
"""Events that the runtime of the package records."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

from sdk.devtools import Inspector
from sdk.devtools.etdump.serialize import read_etdump
from sdk.exir import to_edge
from sdk.extension.pybindings import portable_lib
from sdk.runtime import Program, Runtime

INPUT = torch.linspace(-1, 1, 12).reshape(3, 4)


class Two(nn.Module):
    """An operator with two results, views, and a scalar between."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        y = self.linear(x).sigmoid()
        values, places = y.topk(2)
        return values * 2, places, y.view(12)


@pytest.fixture(scope="module")
def model() -> nn.Module:
    torch.manual_seed(0)
    return Two().eval()


@pytest.fixture(scope="module")
def pte(model: nn.Module) -> bytes:
    return to_edge(torch.export.export(model, (INPUT,))).to_executorch().buffer


def load(pte: bytes, debug_buffer_size: int = 1 << 16) -> Program:
    return Runtime.get().load_program(pte, enable_etdump=True, debug_buffer_size=debug_buffer_size)


def test_ins_11_rtp_events_of_a_program(pte: bytes, model: nn.Module, tmp_path: Path) -> None:
    """INS-11, ETD-01, DT-02, DT-10, MDB-03, PROF-01, CON-06: load and run time in separate blocks, one event for each
    instruction, and the results of all instructions."""
    program = load(pte)
    method = program.load_method("forward")
    expected = model(INPUT)
    for _ in range(3):
        method.execute([INPUT])
    etdump, buffer = tmp_path / "m.etdp", tmp_path / "m.bin"
    program.write_etdump_result_to_file(str(etdump), str(buffer))
    inspector = Inspector(etdump_path=str(etdump), debug_buffer_path=str(buffer))
    default, execute = inspector.event_blocks
    assert [event.name for event in default.events] == ["Program::load_method"]
    names = [event.name for event in execute.events if event.name != "OPERATOR_CALL"]
    operators = ["addmm.out", "sigmoid.out", "topk.values", "mul.out", "view_copy.out"]
    assert names == [*(f"native_call_{operator}" for operator in operators), "Method::execute"]
    assert all(event.perf_data is not None and len(event.perf_data.raw) == 3 for event in execute.events)
    for got, want in zip(execute.run_output or [], expected, strict=True):
        assert torch.allclose(got, want)
    topk = next(event for event in execute.events if event.name == "native_call_topk.values")
    values, places = topk.debug_data[0]
    assert torch.equal(places, expected[1]) and torch.allclose(values * 2, expected[0])


def test_a_dump_begins_where_the_last_one_ended(pte: bytes, tmp_path: Path) -> None:
    program = load(pte)
    method = program.load_method("forward")
    paths = [str(tmp_path / f"{i}.etdp") for i in range(3)]
    buffer = str(tmp_path / "m.bin")
    method.execute([INPUT])
    program.write_etdump_result_to_file(paths[0], buffer)
    program.write_etdump_result_to_file(paths[1], buffer)
    method.execute([INPUT * 2])
    program.write_etdump_result_to_file(paths[2], buffer)
    first, again, second = (Path(path).read_bytes() for path in paths)
    assert first == again, "nothing has run between them"
    assert [run.name for run in read_etdump(second).run_data] == ["Execute"]
    (block,) = Inspector(etdump_path=paths[2], debug_buffer_path=buffer).event_blocks
    assert block.run_output is not None and block.run_output[2].shape == (12,)


def test_a_small_debug_buffer_says_what_it_needs(pte: bytes, tmp_path: Path) -> None:
    etdump, buffer = str(tmp_path / "m.etdp"), str(tmp_path / "m.bin")
    program = load(pte, debug_buffer_size=100)
    program.load_method("forward").execute([INPUT])
    with pytest.warns(
        RuntimeWarning, match=r"of 100 bytes had no room for the last \d+ values; .*at least \d+,"
    ) as caught:
        program.write_etdump_result_to_file(etdump, buffer)
    needed = int(str(caught[0].message).split("at least ")[1].split(",")[0])
    assert Path(buffer).stat().st_size <= 100
    Inspector(etdump_path=etdump, debug_buffer_path=buffer)  # the values that fit can be read
    needed += 128  # of a list, for the tensors after the first that did not fit
    program = load(pte, debug_buffer_size=needed)
    program.load_method("forward").execute([INPUT])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program.write_etdump_result_to_file(etdump, buffer)
    assert needed - 128 <= Path(buffer).stat().st_size <= needed


def test_wrong_use_is_one_line(pte: bytes, tmp_path: Path) -> None:
    plain = Runtime.get().load_program(pte)
    with pytest.raises(RuntimeError, match="was loaded without enable_etdump=True: it has no events to write"):
        plain.write_etdump_result_to_file(str(tmp_path / "m.etdp"))
    program = load(pte)
    with pytest.raises(RuntimeError, match="there are no events to write: load or run a method first"):
        program.write_etdump_result_to_file(str(tmp_path / "m.etdp"))
    program.load_method("forward").execute([INPUT])
    with pytest.raises(FileNotFoundError, match=r"no_folder/m.etdp"):
        program.write_etdump_result_to_file(str(tmp_path / "no_folder" / "m.etdp"))
    assert list(tmp_path.iterdir()) == []
    # A link that somebody planted at a name that could be guessed.
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "m.etdp.unfinished").symlink_to(tmp_path / "victim")
    program.write_etdump_result_to_file(str(tmp_path / "m.etdp"))
    assert (tmp_path / "victim").read_text() == "precious"
    assert not (tmp_path / "m.etdp").is_symlink() and (tmp_path / "m.etdp").stat().st_size > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.etdp", "m.etdp.unfinished", "victim"]
    with pytest.raises(MemoryError):
        load(pte, debug_buffer_size=1 << 62)


def test_portable_lib(pte: bytes, tmp_path: Path) -> None:
    """The functions of portable_lib, with a path, with bytes, and without tracing."""
    path = tmp_path / "m.pte"
    path.write_bytes(pte)
    modules = [
        portable_lib._load_for_executorch(str(path), enable_etdump=True, debug_buffer_size=4096),
        portable_lib._load_for_executorch_from_buffer(pte, enable_etdump=True, debug_buffer_size=4096),
    ]
    for module in modules:
        assert module.has_etdump()
        module.forward([INPUT])
        module.write_etdump_result_to_file(str(tmp_path / "m.etdp"), str(tmp_path / "m.bin"))
        names = [run.name for run in read_etdump((tmp_path / "m.etdp").read_bytes()).run_data]
        assert names == ["Default", "Execute"]
        module.forward([INPUT])
        module.write_etdump_result_to_file(str(tmp_path / "m.etdp"))  # without the tensors
    assert not portable_lib._load_for_executorch(str(path)).has_etdump()


def test_methods_in_threads_share_a_dump(pte: bytes, tmp_path: Path) -> None:
    program = load(pte, debug_buffer_size=0)
    # Separate methods, as portable_lib returns them.
    methods = [program._program.load_method("forward") for _ in range(4)]

    def work(method: portable_lib.ExecuTorchMethod) -> None:
        for _ in range(25):
            method.call([INPUT])

    threads = [threading.Thread(target=work, args=(method,)) for method in methods]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    program.write_etdump_result_to_file(str(tmp_path / "m.etdp"))
    runs = [run for run in read_etdump((tmp_path / "m.etdp").read_bytes()).run_data if run.name == "Execute"]
    assert len(runs) == 100 and len({len(run.events or []) for run in runs}) == 1
