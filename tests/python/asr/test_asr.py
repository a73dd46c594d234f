# SPDX-License-Identifier: BSD-3-Clause
"""Programs of Whisper: their logits, and the text of AsrRunner, equal those of transformers."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import pytest
import torch
from whisper_models import LANGUAGE, START, WINDOW, features_of, save, sound_of, transcribed, whisper

from sdk.__main__ import main
from sdk.backends.registry import default_backend
from sdk.extension.asr.runner import AsrRunner, AsrTranscribeConfig
from sdk.extension.asr.whisper import export_whisper, is_whisper, metadata_of
from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.pybindings.portable_lib import ExecuTorchError
from sdk.runtime import Runtime


@pytest.fixture(scope="module")
def model() -> Any:
    return whisper()


@pytest.fixture(scope="module")
def folder(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("whisper")
    save(model, found)
    return found


@pytest.fixture(scope="module")
def program(folder: Path) -> str:
    path = folder / "whisper.pte"
    export_whisper(folder, default_backend()).save(path)
    return str(path)


def write_wav(path: Path, samples: torch.Tensor, rate: int = 16000) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples.clamp(-1, 1) * 32767).to(torch.int16).numpy().tobytes())
    return path


def text_of(tokens: list[int]) -> str:
    return "".join(chr(32 + token) for token in tokens if token < START)


def test_logits_equal_transformers(model: Any, program: str) -> None:
    """ECO-03: logits from features, with the cache of the decoder and that of the sound."""
    features = features_of(sound_of(20000))
    tokens, wanted = transcribed(model, features, 6)
    loaded = Runtime.get().load_program(program)
    encoder, decoder = loaded.load_method("encoder"), loaded.load_method("text_decoder")
    assert encoder is not None and decoder is not None
    encoded = encoder.execute([features])
    found = decoder.execute([torch.tensor([[START, LANGUAGE]]), *encoded, torch.tensor([0])])[0][0]
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-4)
    for i in range(5):
        found = decoder.execute([torch.tensor([[tokens[i]]]), *encoded, torch.tensor([2 + i])])[0][0].clone()
    with torch.no_grad():
        given = torch.tensor([[START, LANGUAGE, *tokens[:5]]])
        wanted = model(input_features=features, decoder_input_ids=given, use_cache=False).logits[0, -1]
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-4)


def test_features_to_tokens(model: Any, program: str) -> None:
    """ECO-03: the runner generates the likeliest tokens by transformers' logits, up to the end or the limit."""
    runner = AsrRunner(program)
    for seed in range(3):
        features = features_of(sound_of(24000, seed))
        wanted, _ = transcribed(model, features, 30)
        config = runner.default_config()
        config.max_new_tokens = 30
        pieces: list[str] = []
        assert runner.transcribe(features, config, pieces.append) == wanted
        assert "".join(pieces) == text_of(wanted)
        assert runner.stats.num_generated_tokens == len(wanted)


def test_generate_of_transformers(model: Any, folder: Path, program: str) -> None:
    """The tokens equal those of transformers' `generate`, which reads its settings from the same folder."""
    import transformers

    theirs = transformers.WhisperForConditionalGeneration.from_pretrained(folder).eval()
    features = features_of(sound_of(24000, 1))
    given = torch.tensor([[START, LANGUAGE]])
    with torch.no_grad():
        found = theirs.generate(features, decoder_input_ids=given, max_new_tokens=20, num_beams=1, do_sample=False)
    wanted = [token for token in found[0].tolist() if token not in (START, LANGUAGE)]
    config = AsrRunner(program).default_config()
    config.max_new_tokens = 20
    tokens = AsrRunner(program).transcribe(features, config)
    assert text_of(tokens) == text_of(wanted)


def test_sound_to_text_in_windows(model: Any, program: str, tmp_path: Path) -> None:
    """The front end is in the program; a sound of two and a half windows is three texts."""
    runner = AsrRunner(program)
    sound = sound_of(2 * WINDOW + 15000)
    config = runner.default_config()
    config.max_new_tokens = 10
    wanted = "".join(text_of(transcribed(model, features_of(part), 10)[0]) for part in sound.split(WINDOW))
    pieces: list[str] = []
    assert runner.transcribe_samples(sound.numpy(), config, pieces.append) == wanted
    assert "".join(pieces) == wanted
    path = write_wav(tmp_path / "sound.wav", sound)
    rounded = (sound.clamp(-1, 1) * 32767).to(torch.int16).float() / 32767
    wanted = "".join(text_of(transcribed(model, features_of(part), 10)[0]) for part in rounded.split(WINDOW))
    assert runner.transcribe_file(str(path), config) == wanted
    assert runner.transcribe_samples([0.25], config)  # the last window has one sample


def test_default_config_and_limits(program: str) -> None:
    runner = AsrRunner(program)
    config = runner.default_config()
    assert (config.decoder_start_token_id, config.prompt_token_ids) == (START, [LANGUAGE])
    assert config.suppress_token_ids == [7, 8] and config.eos_token_ids == {94}
    assert runner.sampling_rate == 16000 and runner.token_id("<en>") == LANGUAGE and runner.token_id("<|xx|>") is None
    assert AsrTranscribeConfig().max_new_tokens == 128 and AsrTranscribeConfig().decoder_start_token_id == 0
    # The cache has 40 positions, two of which the prompt takes.
    config.eos_token_ids, config.max_new_tokens = {95}, 100
    config.suppress_token_ids = [95]
    tokens = runner.transcribe(features_of(sound_of(24000)).numpy(), config)
    assert len(tokens) == 39


def test_callbacks_that_raise(program: str) -> None:
    def fail(piece: str) -> None:
        raise KeyError(piece)

    runner = AsrRunner(program)
    with pytest.raises(KeyError):
        runner.transcribe_samples(sound_of(20000).numpy(), None, fail)
    assert runner.transcribe_samples(sound_of(20000).numpy())


def test_input_that_cannot_be_used(program: str, tmp_path: Path) -> None:
    runner = AsrRunner(program)
    with pytest.raises(ExecuTorchError, match="8000 samples a second, the model takes 16000: convert it"):
        runner.transcribe_file(str(write_wav(tmp_path / "slow.wav", sound_of(8000), 8000)))
    (tmp_path / "text.wav").write_text("hello")
    with pytest.raises(ExecuTorchError, match="not a WAV file: expected RIFF"):
        runner.transcribe_file(str(tmp_path / "text.wav"))
    with pytest.raises(ExecuTorchError, match="cannot be opened"):
        runner.transcribe_file(str(tmp_path / "none.wav"))
    with pytest.raises(ExecuTorchError, match="there are no samples"):
        runner.transcribe_samples([])
    with pytest.raises(ExecuTorchError):
        runner.transcribe(torch.zeros(1, 16, 100).numpy())
    with pytest.raises(ExecuTorchError, match="max_new_tokens is 0"):
        runner.transcribe(torch.zeros(1, 16, 200).numpy(), AsrTranscribeConfig(max_new_tokens=0))
    assert runner.transcribe(torch.zeros(1, 16, 200).numpy(), AsrTranscribeConfig(max_new_tokens=2, temperature=0.5))


def test_settings_of_languages(model: Any) -> None:
    """The prompt of a model of several languages is a language, a task and no time stamps."""
    settings: Any = model.generation_config
    settings.is_multilingual, settings.lang_to_id, settings.task_to_id = True, {"<|de|>": 40}, {"transcribe": 41}
    try:
        assert metadata_of(model, "de")["get_decoder_prompt_ids"] == [40, 41, LANGUAGE]
        with pytest.raises(SettingsError, match=r"does not support <\|fr\|>; it supports <\|de\|>"):
            metadata_of(model, "fr")
    finally:
        settings.is_multilingual = False
    assert metadata_of(model, "fr")["get_decoder_prompt_ids"] == [LANGUAGE]


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    assert not is_whisper(tmp_path)
    (tmp_path / "config.json").write_text("{")
    assert not is_whisper(tmp_path)
    with pytest.raises(CheckpointError):
        export_whisper(tmp_path)


def test_the_command(
    model: Any, folder: Path, program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sdk asr export` and `sdk asr transcribe`."""
    output = tmp_path / "out.pte"
    assert main(["asr", "export", str(folder), "-o", str(output), "--backend", "portable", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"program": str(output), "bytes": output.stat().st_size}
    path = write_wav(tmp_path / "sound.wav", sound_of(30000))
    rounded = (sound_of(30000).clamp(-1, 1) * 32767).to(torch.int16).float() / 32767
    wanted = text_of(transcribed(model, features_of(rounded), 12)[0])
    for file in (str(output), program):
        assert main(["asr", "transcribe", file, str(path), "--max-new-tokens", "12"]) == 0
        assert capsys.readouterr().out == wanted + "\n"
    assert main(["asr", "transcribe", program, str(path), "--max-new-tokens", "12", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == wanted


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["export", "MODEL", "-o", "x.pt"], 2, "ends in .pte"),
        (["export", "EMPTY", "-o", "x.pte"], 2, "expected a folder with a config.json"),
        (["transcribe", "PROGRAM", "none.wav"], 2, "there is no file"),
        (["transcribe", "PROGRAM", "SLOW"], 2, "8000 samples a second"),
        (["transcribe", "PROGRAM", "SLOW", "--language", "de"], 2, "the model knows one language"),
        (["transcribe", "SLOW", "SLOW"], 2, ""),
        (["sing"], 2, "the commands are: export, transcribe"),
    ],
)
def test_arguments_that_cannot_be_used(
    arguments: list[str],
    status: int,
    message: str,
    folder: Path,
    program: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    slow = write_wav(tmp_path / "slow.wav", sound_of(8000), 8000)
    empty = tmp_path / "empty"
    empty.mkdir()
    places = {"MODEL": str(folder), "EMPTY": str(empty), "PROGRAM": program, "SLOW": str(slow)}
    given = [places.get(argument, argument) for argument in arguments]
    assert main(["asr", *given]) == status
    assert message in capsys.readouterr().err
