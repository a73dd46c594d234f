# SPDX-License-Identifier: BSD-3-Clause
"""The language of sound is that of transformers' `detect_language`."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import pytest
import torch
from whisper_models import START, WINDOW, features_of, save, sound_of, whisper

from sdk.__main__ import main
from sdk.extension.asr.runner import AsrRunner
from sdk.extension.asr.whisper import export_whisper
from sdk.extension.pybindings.portable_lib import ExecuTorchError

LANGUAGES = {"<|de|>": 40, "<|en|>": 41, "<|fr|>": 42, "<|ja|>": 43}
TASK = 50


@pytest.fixture(scope="module")
def model() -> Any:
    found = whisper()
    settings: Any = found.generation_config
    settings.is_multilingual, settings.lang_to_id, settings.task_to_id = True, LANGUAGES, {"transcribe": TASK}
    return found


@pytest.fixture(scope="module")
def program(model: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tokens of languages have their names in the tokenizer."""
    folder = tmp_path_factory.mktemp("languages")
    save(model, folder)
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    names = {number: name for name, number in {**LANGUAGES, "<|transcribe|>": TASK}.items()}
    words = {names.get(number, word): number for word, number in tokenizer["model"]["vocab"].items()}
    tokenizer["model"]["vocab"] = words
    tokenizer["added_tokens"] += [{"id": number, "content": name, "special": True} for number, name in names.items()]
    path.write_text(json.dumps(tokenizer))
    export_whisper(folder).save(folder / "whisper.pte")
    return str(folder / "whisper.pte")


def expected(model: Any, sound: torch.Tensor) -> tuple[int, float]:
    """The token that transformers detects, and its probability among the languages."""
    features = features_of(sound)
    with torch.no_grad():
        token = int(model.detect_language(input_features=features, generation_config=model.generation_config))
        logits = model(input_features=features, decoder_input_ids=torch.tensor([[START]]), use_cache=False).logits[
            0, -1
        ]
    among = torch.softmax(logits[list(LANGUAGES.values())], 0)
    return token, float(among[list(LANGUAGES.values()).index(token)])


def test_languages_equal_transformers(model: Any, program: str) -> None:
    runner = AsrRunner(program)
    for seed in range(8):
        sound = sound_of(WINDOW - 4000 * (seed % 3), seed) * (0.05 + seed)
        token, probability = expected(model, sound)
        found = runner.detect_language(sound.numpy())
        assert (found.token_id, found.code) == (token, next(k[2:4] for k, v in LANGUAGES.items() if v == token))
        assert found.probability == pytest.approx(probability, abs=1e-4)
    longer = torch.cat([sound_of(WINDOW), sound_of(WINDOW, 5)])
    assert runner.detect_language(longer.numpy()).token_id == expected(model, longer[:WINDOW])[0]


def test_the_command(model: Any, program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sound.wav"
    samples = (sound_of(WINDOW).clamp(-1, 1) * 32767).to(torch.int16)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(samples.numpy().tobytes())
    token, _ = expected(model, samples.float() / 32767)
    code = next(name[2:4] for name, number in LANGUAGES.items() if number == token)
    command = ["asr", "transcribe", program, str(path), "--max-new-tokens", "8", "--json", "--language"]
    assert main([*command, "auto"]) == 0
    automatic = json.loads(capsys.readouterr().out)
    assert automatic["language"] == code
    assert main([*command, code]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == automatic["text"]


def test_what_cannot_be_detected(program: str, tmp_path: Path) -> None:
    runner = AsrRunner(program)
    with pytest.raises(ExecuTorchError, match="there are no samples"):
        runner.detect_language([])
    with pytest.raises(ExecuTorchError, match="cannot be opened"):
        runner.detect_language(str(tmp_path / "none.wav"))
    with pytest.raises(ValueError, match=r"\[samples\]"):
        runner.detect_language(torch.zeros(2, 100).numpy())
    single = whisper()
    save(single, tmp_path)
    export_whisper(tmp_path).save(tmp_path / "one.pte")
    with pytest.raises(ExecuTorchError, match="does not name tokens of languages"):
        AsrRunner(str(tmp_path / "one.pte")).detect_language(sound_of(WINDOW).numpy())
