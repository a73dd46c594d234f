# SPDX-License-Identifier: BSD-3-Clause
"""`sdk bench`: the arithmetic of its figures, compared with known numbers, and its measurements of programs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from calls import Files, Result

from sdk.bench import _worker
from sdk.bench._figures import (
    Refusal,
    checked,
    clock_tick,
    geometric_interval,
    mean_interval,
    percentile,
    quantile_of_t,
)
from sdk.exir import to_edge

Call = Callable[..., Result]


def test_quantiles_of_t_are_those_of_the_distribution() -> None:
    """The interval contains 99.9 % of Student's distribution: its density, integrated by Simpson's rule."""
    for degrees in (1, 2, 3, 7, 10, 15, 30, 120):
        scale = math.gamma((degrees + 1) / 2) / math.sqrt(degrees * math.pi) / math.gamma(degrees / 2)
        end, steps = quantile_of_t(degrees), 20000
        weights = [1, *([4, 2] * (steps // 2))[:-1], 1]
        heights = [(1 + (i * end / steps) ** 2 / degrees) ** (-(degrees + 1) / 2) for i in range(steps + 1)]
        inside = 2 * scale * sum(w * h for w, h in zip(weights, heights, strict=True)) * end / steps / 3
        assert inside == pytest.approx(0.999, abs=2e-5)
    assert quantile_of_t(19) == quantile_of_t(15)  # with fewer degrees of freedom the quantile is larger


def test_an_interval_by_hand() -> None:
    found = mean_interval([1.0, 2.0, 3.0, 4.0])
    half = 12.92 * math.sqrt(5 / 3) / 2
    assert (found.value, found.low, found.high) == pytest.approx((2.5, 2.5 - half, 2.5 + half))
    assert mean_interval([2.0, 2.0], floor=0.5).high == 2.5
    ratio = geometric_interval([0.5, 2.0])
    assert ratio.value == pytest.approx(1.0)
    assert ratio.low == pytest.approx(1 / ratio.high)
    with pytest.raises(ValueError, match="two values or more"):
        mean_interval([1.0])


def test_an_interval_holds_the_mean_as_often_as_it_says() -> None:
    """Of 4000 draws of 8 normal values, about 4 intervals do not contain the mean. The probability that more than 14 do
    not is 1e-4."""
    generator = random.Random(0)
    outside = 0
    for _ in range(4000):
        found = mean_interval([generator.gauss(5, 2) for _ in range(8)])
        outside += not found.low <= 5 <= found.high
    assert outside <= 14


def test_figures_that_the_clock_cannot_give_are_refused() -> None:
    assert checked(1e-3, 1e-7, "a call") == 1e-3
    refused = checked(9e-6, 1e-7, "a call")
    assert isinstance(refused, Refusal)
    assert "less than 100 steps of 100 ns" in refused.reason
    assert 0 < clock_tick() < 1e-3


def test_percentiles_need_samples_beyond_them() -> None:
    values = [float(i) for i in range(101)]
    assert percentile(values, 50) == 50.0
    assert percentile(values, 90) == 90.0
    assert isinstance(percentile(values, 99), Refusal)
    assert isinstance(percentile(values[:19], 50), Refusal)
    assert percentile(values[:20], 50) == 9.5


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """one.pte, and three.pte, which computes the same product three times."""

    class Products(torch.nn.Module):
        def __init__(self, times: int) -> None:
            super().__init__()
            self.times = times

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(self.times):
                x = x @ x
            return x

    folder = tmp_path_factory.mktemp("programs")
    for name, times in (("one", 1), ("three", 3)):
        exported = torch.export.export(Products(times), (torch.ones(96, 96),))
        to_edge(exported).to_executorch().save(str(folder / f"{name}.pte"))
    return folder


QUICK = ["--seconds", 0.4, "--processes", 4, "--warm-up", 0.02, "--threads", 1]


def test_three_times_the_work_takes_longer(sdk: Call, programs: Path) -> None:
    found = sdk("bench", programs / "one.pte", programs / "three.pte", "--input", "zeros", *QUICK, "--json").json
    ratio = found["ratio"]
    assert ratio["low"] <= ratio["value"] <= ratio["high"]
    assert ratio["value"] > 1  # about 3, except on a busy machine
    for program in found["programs"]:
        call, start = program["call"], program["warm_start"]["start"]
        assert 0 < call["min"] <= call["p50"]
        assert call["low"] <= call["value"] <= call["high"]
        assert call["processes"] == 4
        assert program["threads"] == 1
        assert 0 < start["min"] <= start["median"] <= start["max"]
        parts = [program["warm_start"][part]["max"] for part in ("load", "first_call")]
        assert max(parts) <= start["max"] <= sum(parts)
        assert program["memory_bytes"] > 0


def test_one_program_twice_is_the_same(sdk: Call, files: Files) -> None:
    """The ratio of a program to itself is 1 within its printed spread, with a chance of 0.999: two are tried."""
    for _ in range(2):
        shown = sdk("bench", files["net.pte"], files["net.bpte"], *QUICK)
        assert shown.status == 0, shown.err
        if "no difference between" in shown.out:
            break
    assert "no difference between" in shown.out
    for part in ("call", "warm start", "memory", "forward, 1 thread"):
        assert part in shown.out


def test_a_batch_that_is_too_short_is_refused(sdk: Call, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of a clock with large steps are refused. The test writes the step into the figures, because the measuring
    process reads its own clock."""
    from sdk.bench import _measure

    started = _measure.Series.started
    monkeypatch.setattr(_measure.Series, "started", lambda self, a, cold: started(self, {**a, "tick": 1.0}, cold))
    found = sdk("bench", files["net.pte"], "--batch", 1, *QUICK, "--json").json["programs"][0]
    assert found["call"]["value"] is None
    assert "leave out --batch" in found["call"]["refused"]
    assert found["call"]["min"] is None
    assert found["warm_start"]["start"]["median"] is None


def test_a_system_that_does_not_say_the_memory(sdk: Call, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    from sdk.bench import _process

    monkeypatch.setattr(_process.Process, "memory", lambda self: None)
    assert sdk("bench", files["net.pte"], *QUICK, "--json").json["programs"][0]["memory_bytes"] is None
    shown = sdk("bench", files["net.pte"], *QUICK)
    assert shown.status == 0 and "memory refused the system does not say" in " ".join(shown.out.split())


def test_memory_of_a_program(sdk: Call, tmp_path: Path) -> None:
    """The figure includes 32 MB of planned memory, to which a call writes."""

    class Large(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x.expand(2**22, 2) + 1).sum()

    to_edge(torch.export.export(Large(), (torch.ones(1, 2),))).to_executorch().save(str(tmp_path / "large.pte"))
    found = sdk("bench", tmp_path / "large.pte", *QUICK, "--json").json["programs"][0]
    assert 32 * 2**20 <= found["memory_bytes"] < 128 * 2**20


def test_a_file_is_cold_only_where_the_system_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"content")
    _worker.evict(file)
    assert file.read_bytes() == b"content"
    monkeypatch.delattr("os.RWF_NOWAIT", raising=False)
    assert not _worker.evict(file)


def test_a_process_that_dies_is_said(files: Files, tmp_path: Path) -> None:
    """The worker has written more to the standard error than a pipe holds."""
    from sdk.bench._process import Process, Subject
    from sdk.command import CommandError

    with Process(Subject("net.pte", files["net.pte"], (), "forward", tmp_path / "nothing.json")) as process:
        with pytest.raises(CommandError, match=r"`net.pte` cannot be measured: FileNotFoundError"):
            process.start(False, None)
        process._process.kill()
        process._process.wait()
        process._said.write("line\n" * 100_000 + "the last line\n")
        with pytest.raises(CommandError, match="ended with the status -9: the last line"):
            process.memory()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.pte"], "there is no file"),
        ([], "required: MODEL"),
        (["net.pte", "net.pte", "net.pte"], "expected one program or two"),
        (["net.etdp"], "expected a program"),
        (["net.pte", "--processes", "2"], "expected a whole number from 4"),
        (["net.pte", "--seconds", "0"], "expected a number of seconds"),
        (["net.pte", "--input", "=1"], "must be a Tensor, found Int"),
    ],
)
def test_wrong_arguments_are_one_line(
    sdk: Call, files: Files, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(files.folder)
    found = sdk("bench", *arguments)
    assert found.status == 2
    assert message in found.err
    assert found.err.count("\n") == 1
