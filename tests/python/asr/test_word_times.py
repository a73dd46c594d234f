# SPDX-License-Identifier: BSD-3-Clause
"""Times of words: those of transformers' `return_token_timestamps`."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import pytest
import torch
from whisper_models import (
    WINDOW,
    Timed,
    features_of,
    parts,
    save,
    sound_of,
    timed,
    whisper,
    words_of_window,
    written,
)

from sdk.__main__ import main
from sdk.extension.asr.runner import AsrRunner
from sdk.extension.asr.whisper import export_whisper, load_whisper, metadata_of
from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.pybindings.portable_lib import ExecuTorchError

COUNT = 24


@pytest.fixture(scope="module")
def model() -> Any:
    return timed()


@pytest.fixture(scope="module")
def program(model: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("words")
    save(model, folder)
    path = folder / "whisper.pte"
    export_whisper(folder).save(path)
    return str(path)


def same_words(found: Any, wanted: list[Timed]) -> bool:
    return [(word.text, word.start, word.end) for word in found] == [
        (text, pytest.approx(start, abs=1e-5), pytest.approx(end, abs=1e-5)) for text, start, end in wanted
    ]


def with_words(runner: AsrRunner) -> Any:
    config = runner.default_config()
    config.max_new_tokens, config.word_times = COUNT, True
    return config


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("missing", [0, 5003])
def test_words_of_a_window(model: Any, program: str, seed: int, missing: int) -> None:
    """Whole windows, and windows that end with silence, whose positions no word has."""
    runner, sound = AsrRunner(program), sound_of(WINDOW - missing, seed)
    wanted = words_of_window(model, sound, COUNT)
    found = runner.transcribe_segments(sound.numpy(), with_words(runner))[: len(wanted)]
    assert len(found) == len(wanted) and sum(map(len, wanted)) > 0
    for segment, words in zip(found, wanted, strict=True):
        assert same_words(segment.words, words)
        assert "".join(word.text for word in segment.words) == segment.text


def test_times_go_on_in_the_next_window(model: Any, program: str) -> None:
    """Each window has the words that it has alone, later by its beginning."""
    runner, sound = AsrRunner(program), sound_of(2 * WINDOW + 57 * 160, 1)
    first, wanted = 0, []
    while first < len(sound):
        window = sound[first : first + WINDOW]
        begin = first / 16000
        words = [word for part in words_of_window(model, window, COUNT) for word in part]
        wanted += [(text, begin + start, begin + end) for text, start, end in words]
        _, following = parts(model, written(model, features_of(window), COUNT), len(window))
        first += following if 0 < following <= len(window) else len(window)
    given: list[Any] = []
    found = runner.transcribe_segments(sound.numpy(), with_words(runner), given.append)
    assert [len(segment.words) for segment in given] == [len(segment.words) for segment in found]
    assert begin > 0 and same_words([word for segment in found for word in segment.words], wanted)


def test_words_are_found_only_if_asked_for(program: str) -> None:
    runner, sound = AsrRunner(program), sound_of(WINDOW).numpy()
    config = with_words(runner)
    worded = runner.transcribe_segments(sound, config)
    config.word_times = False
    assert not runner.default_config().word_times
    plain = runner.transcribe_segments(sound, config)
    assert [segment.tokens for segment in plain] == [segment.tokens for segment in worded]
    assert all(segment.words == [] for segment in plain)


def test_the_command(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sound.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes((sound_of(WINDOW) * 32767).clamp(-32768, 32767).to(torch.int16).numpy().tobytes())
    command = ["asr", "transcribe", program, str(path), "--word-times", "--max-new-tokens", str(COUNT)]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "".join(word["text"] for word in found["words"]) == found["text"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(found["words"]) and lines[0].startswith("[00:0")


def test_programs_without_alignment_heads(tmp_path: Path) -> None:
    model = timed()
    model.generation_config.alignment_heads = None
    save(model, tmp_path)
    export_whisper(tmp_path).save(tmp_path / "whisper.pte")
    runner = AsrRunner(str(tmp_path / "whisper.pte"))
    with pytest.raises(ExecuTorchError, match="no method 'alignment', which finds the times of words: export it again"):
        runner.transcribe_segments(sound_of(WINDOW).numpy(), with_words(runner))
    config = with_words(runner)
    config.word_times = False
    assert runner.transcribe_segments(sound_of(WINDOW).numpy(), config)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([[2, 0]], "has head 0 of layer 2; the decoder has 2 layers of 4 heads"),
        ([[0, 4]], "has head 4 of layer 0"),
        ([[0, -1]], "has head -1 of layer 0"),
        ([[0]], "expected pairs of layer and head"),
        ([3], "expected pairs of layer and head"),
        (5, "alignment_heads is 5; expected pairs of layer and head"),
        ({"a": 1}, "expected pairs of layer and head"),
    ],
)
def test_heads_that_the_model_does_not_have(heads: Any, message: str, tmp_path: Path) -> None:
    model = whisper()
    save(model, tmp_path)
    path = tmp_path / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"alignment_heads": heads}))
    with pytest.raises(CheckpointError, match=message):
        export_whisper(tmp_path)


def test_width_of_the_filter(model: Any, tmp_path: Path) -> None:
    assert metadata_of(model)["get_median_filter_width"] == 7
    save(whisper(), tmp_path)
    assert "get_median_filter_width" not in metadata_of(load_whisper(tmp_path))
