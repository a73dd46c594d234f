# SPDX-License-Identifier: BSD-3-Clause
"""Timestamps of the parts of a text: tokens and parts equal those of transformers."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import pytest
import torch
from whisper_models import NO_TIMES, WINDOW, features_of, parts, save, sound_of, timed, whisper, written

from sdk.__main__ import main
from sdk.extension.asr.runner import AsrRunner
from sdk.extension.asr.whisper import export_whisper
from sdk.extension.pybindings.portable_lib import ExecuTorchError

FIRST = NO_TIMES + 1
COUNT = 24


@pytest.fixture(scope="module")
def model() -> Any:
    return timed()


@pytest.fixture(scope="module")
def program(model: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("timed")
    save(model, folder)
    path = folder / "whisper.pte"
    export_whisper(folder).save(path)
    return str(path)


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_a_window(model: Any, program: str, seed: int) -> None:
    runner, sound = AsrRunner(program), sound_of(WINDOW, seed)
    config = runner.default_config()
    config.max_new_tokens = COUNT
    tokens = written(model, features_of(sound), COUNT)
    wanted, _ = parts(model, tokens, WINDOW)
    found = runner.transcribe_segments(sound.numpy(), config)[: len(wanted)]
    assert [list(segment.tokens) for segment in found] == [segment["tokens"].tolist() for segment in wanted]
    for segment, one in zip(found, wanted, strict=True):
        assert segment.start == pytest.approx(float(one["start"]))
        assert segment.end == pytest.approx(float(one["end"]))
        assert segment.text == "".join(chr(32 + token) for token in segment.tokens if token < 92)


def test_windows_begin_where_the_last_part_ends(model: Any, program: str) -> None:
    runner, sound = AsrRunner(program), sound_of(2 * WINDOW + 57 * 160, 1)
    config = runner.default_config()
    config.max_new_tokens = COUNT
    first, wanted = 0, []
    while first < len(sound):
        window = sound[first : first + WINDOW]
        segments, following = parts(model, written(model, features_of(window), COUNT), len(window))
        wanted += [(first / 16000 + float(s["start"]), first / 16000 + float(s["end"])) for s in segments]
        first += following if 0 < following <= len(window) else len(window)
    given: list[Any] = []
    found = runner.transcribe_segments(sound.numpy(), config, given.append)
    assert [(s.start, s.end) for s in found] == [pytest.approx(times, abs=1e-6) for times in wanted]
    assert [s.text for s in given] == [s.text for s in found]
    # The same runner writes no times afterwards.
    assert all(token < FIRST for token in runner.transcribe(features_of(sound[:WINDOW]).numpy(), config))


def test_the_command(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sound.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes((sound_of(WINDOW) * 32767).clamp(-32768, 32767).to(torch.int16).numpy().tobytes())
    command = ["asr", "transcribe", program, str(path), "--timestamps", "--max-new-tokens", str(COUNT)]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text"] == "".join(segment["text"] for segment in found["segments"])
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(found["segments"]) and lines[0].startswith("[00:0")


def test_programs_without_times(tmp_path: Path) -> None:
    save(whisper(decoder_layers=1, encoder_layers=1), tmp_path)
    export_whisper(tmp_path).save(tmp_path / "whisper.pte")
    with pytest.raises(ExecuTorchError, match="does not name its timestamp tokens: export it again"):
        AsrRunner(str(tmp_path / "whisper.pte")).transcribe_segments(sound_of(WINDOW).numpy())
