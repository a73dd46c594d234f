# SPDX-License-Identifier: BSD-3-Clause
"""How long sound is cut into windows. The programs look up the text of a window in a table."""

from __future__ import annotations

import json
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export
from whisper_models import EOS, NO_TIMES, save_tokenizer

from sdk.__main__ import main
from sdk.exir import ExecutorchBackendConfig, to_edge
from sdk.extension.asr.runner import AsrRunner, AsrTranscribeConfig
from sdk.extension.llm.export.tokenizer.data import tokenizer_data
from sdk.extension.pybindings.portable_lib import ExecuTorchError

FIRST, STEP = NO_TIMES + 1, 320
SECOND = 16000
"""The number of samples in a second, which is also the largest window of the programs."""
TIMES = {"get_timestamp_begin": FIRST, "get_timestamp_step": STEP}


def text(letters: str) -> list[int]:
    return [ord(letter) - 32 for letter in letters]


def at(seconds: float) -> int:
    """Returns the timestamp token for a time in seconds."""
    return FIRST + round(seconds * SECOND / STEP)


TWO_PARTS = [at(0), *text("ab"), at(0.4), at(0.4), *text("cd"), at(0.8), EOS]
ONE_PART = [at(0), *text("cd"), at(0.4), EOS]
SILENCE = [at(0), EOS]


class FirstSample(nn.Module):
    """Returns the first sample of a window [1, samples, 1]. It is the index of the window's text in the table."""

    def forward(self, samples: Tensor) -> Tensor:
        return samples[:, 0]


class Rows(nn.Module):
    """A front end that changes nothing: [samples] to [1, samples, 1]."""

    def forward(self, samples: Tensor) -> Tensor:
        return samples.reshape(1, -1, 1)


class Table(nn.Module):
    """Makes the token at `position` of text number `encoded` the likeliest one."""

    def __init__(self, texts: Sequence[Sequence[int]]) -> None:
        super().__init__()
        self.length = max(map(len, texts))
        rows = [[*tokens, *[EOS] * (self.length - len(tokens))] for tokens in texts]
        self.register_buffer("tokens", torch.tensor(rows, dtype=torch.float32).view(-1, 1))

    def forward(self, tokens: Tensor, encoded: Tensor, position: Tensor) -> Tensor:
        number = encoded.view(1).to(torch.int64) * self.length + position
        wanted = nn.functional.embedding(number, self.tokens)
        return -100 * (torch.arange(FIRST + 51) - wanted) ** 2


def runner_of(
    folder: Path, texts: Sequence[Sequence[int]], *, fixed: bool = False, front_end: bool = False, **metadata: int
) -> AsrRunner:
    """A runner of a program with these texts. `fixed`: the program takes windows of exactly a second."""
    samples, sound = torch.zeros(SECOND), torch.zeros(1, SECOND, 1)
    most = Dim("samples", min=2, max=SECOND)
    token, zero = torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    methods = {
        "encoder": export(FirstSample(), (sound,), dynamic_shapes=None if fixed else ({1: most},), strict=False),
        "text_decoder": export(Table(texts), (token, torch.zeros(1, 1), zero), strict=False),
    }
    if front_end:
        shapes = None if fixed else ({0: most},)
        methods["preprocessor"] = export(Rows(), (samples,), dynamic_shapes=shapes, strict=False)
    constants: dict[str, Any] = {"get_eos_ids": [EOS], "get_vocab_size": FIRST + 51, **metadata}
    edge = to_edge(methods, constant_methods=constants)
    save_tokenizer(folder)
    named_data = tokenizer_data(str(folder), None).named_data
    path = folder / "program.pte"
    edge.to_executorch(ExecutorchBackendConfig(named_data=named_data)).save(path)
    return AsrRunner(str(path))


def sound_of(count: int, texts: dict[int, int]) -> Any:
    """Returns `count` samples. `texts` maps the first sample of a window to the index of the window's text."""
    sound = torch.zeros(count)
    for first, number in texts.items():
        sound[first] = number
    return sound.numpy()


def limited(count: int) -> AsrTranscribeConfig:
    return AsrTranscribeConfig(max_new_tokens=count)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("front_end", [False, True])
def test_sound_that_is_not_a_multiple_of_the_window(tmp_path: Path, fixed: bool, front_end: bool) -> None:
    """The last window of a program with a fixed size is padded with silence."""
    texts = [[*text("ab"), EOS], [*text("cd"), EOS]]
    runner = runner_of(tmp_path, texts, fixed=fixed, front_end=front_end)
    assert runner.transcribe_samples(sound_of(SECOND + 5, {SECOND: 1})) == "abcd"
    assert runner.transcribe_samples(sound_of(3, {0: 1})) == "cd"


def test_texts_that_the_limit_cuts(tmp_path: Path) -> None:
    """When max_new_tokens cuts a text, the next window begins at the last timestamp, so no word is lost."""
    runner = runner_of(tmp_path, [TWO_PARTS, ONE_PART, SILENCE], **TIMES)
    sound = sound_of(SECOND, {round(0.4 * SECOND): 1, round(0.8 * SECOND): 2})
    for count in (4, 5, 6, 7, 8, 9):
        found = runner.transcribe_segments(sound, limited(count))
        assert [(s.start, s.end, s.text) for s in found] == [(0.0, 0.4, "ab"), (0.4, 0.8, "cd")], count
    for count in (1, 2, 3):
        with pytest.raises(ExecuTorchError, match=rf"from 0.00 s on .*raise max_new_tokens, which is {count}"):
            runner.transcribe_segments(sound, limited(count))
    # The error also comes when the limit is too small for the second part only.
    longer = [at(0), *text("cdefg"), at(0.4), EOS]
    runner = runner_of(tmp_path, [TWO_PARTS, longer, SILENCE], **TIMES)
    with pytest.raises(ExecuTorchError, match=r"from 0.40 s on .*raise max_new_tokens, which is 6"):
        runner.transcribe_segments(sound, limited(6))


def test_the_default_is_the_room_of_the_context(tmp_path: Path) -> None:
    runner = runner_of(tmp_path, [TWO_PARTS], get_max_context_len=12, **TIMES)
    assert runner.default_config().max_new_tokens == 12
    assert [s.text for s in runner.transcribe_segments(sound_of(SECOND, {}))] == ["ab", "cd"]
    # A text that fills the window cannot be continued: the result is its first part.
    runner = runner_of(tmp_path, [TWO_PARTS], get_max_context_len=3, **TIMES)
    found = runner.transcribe_segments(sound_of(SECOND, {}))
    assert [(s.start, s.end, s.text) for s in found] == [(0.0, 1.0, "ab")]
    assert runner_of(tmp_path, [TWO_PARTS], **TIMES).default_config().max_new_tokens == 128


def test_the_command_takes_as_many_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runner_of(tmp_path, [[at(0), *text(300 * "a"), at(1), EOS]], get_max_context_len=448, **TIMES)
    with wave.open(str(tmp_path / "sound.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SECOND)
        file.writeframes(bytes(2 * SECOND))
    command = ["asr", "transcribe", str(tmp_path / "program.pte"), str(tmp_path / "sound.wav"), "--json"]
    assert main([*command, "--timestamps"]) == 0
    found = json.loads(capsys.readouterr().out)["segments"]
    assert found == [{"start": 0.0, "end": 1.0, "text": 300 * "a"}]
    assert main([*command, "--max-new-tokens", "8"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == 7 * "a"


def test_silence_has_no_parts(tmp_path: Path) -> None:
    runner = runner_of(tmp_path, [SILENCE, [EOS], TWO_PARTS], **TIMES)
    given: list[Any] = []
    found = runner.transcribe_segments(sound_of(3 * SECOND, {SECOND: 1, 2 * SECOND: 2}), None, given.append)
    assert [s.start for s in found] == [s.start for s in given] == [2.0, 2.4]


def test_no_part_follows_a_stop(tmp_path: Path) -> None:
    runner = runner_of(tmp_path, [TWO_PARTS], **TIMES)
    given: list[Any] = []

    def stop(part: Any) -> None:
        given.append(part)
        runner.stop()

    found = runner.transcribe_segments(sound_of(2 * SECOND, {}), None, stop)
    assert [s.text for s in given] == [s.text for s in found] == ["ab"]
    assert len(runner.transcribe_segments(sound_of(2 * SECOND, {}))) == 4


@pytest.mark.parametrize(
    ("method", "number"),
    [
        ("get_timestamp_begin", 0),
        ("get_timestamp_begin", 2**31),
        ("get_timestamp_step", 0),
        ("get_timestamp_step", -320),
        ("get_timestamp_step", 2**62),
        ("get_max_initial_timestamp", -1),
        ("get_max_initial_timestamp", 2**63 - 1),
        ("get_no_timestamps_token_id", -1),
        ("get_sampling_rate", 0),
        ("get_sampling_rate", 2**32 + 16000),
        ("get_max_context_len", 0),
    ],
)
def test_numbers_of_a_program_that_cannot_be_used(tmp_path: Path, method: str, number: int) -> None:
    runner = runner_of(tmp_path, [TWO_PARTS], **{**TIMES, method: number})
    with pytest.raises(ExecuTorchError, match=f"method '{method}' returns {number}; expected a number from") as caught:
        runner.transcribe_segments(sound_of(SECOND, {}), limited(9))
    assert caught.value.error == "InvalidProgram"
    if method == "get_sampling_rate":
        with pytest.raises(ExecuTorchError, match="returns"):
            _ = runner.sampling_rate


def test_one_call_at_a_time(tmp_path: Path) -> None:
    runner = runner_of(tmp_path, [TWO_PARTS], **TIMES)
    refused: list[str] = []

    def call(_: Any) -> None:
        for function in (runner.default_config, lambda: runner.sampling_rate):
            with pytest.raises(ExecuTorchError) as caught:
                function()
            refused.append(caught.value.error)

    runner.transcribe_segments(sound_of(SECOND, {}), limited(9), call)
    assert refused == ["InvalidState"] * 4
    assert runner.sampling_rate == SECOND
