# SPDX-License-Identifier: BSD-3-Clause
"""Programs that take pictures or sound: their logits, and the text of MultimodalRunner, equal those of transformers."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from multimodal_models import (
    AUDIO,
    DEVIATION,
    IMAGE,
    MEAN,
    continued,
    gemma3,
    llava,
    program_of,
    save,
    smolvlm,
    voxtral,
)
from test_runner import greedy, ids

from sdk.__main__ import main
from sdk.backends.registry import default_backend
from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.settings import SettingsError
from sdk.extension.llm.runner import (
    Audio,
    GenerationConfig,
    Image,
    MultimodalInput,
    MultimodalRunner,
    RawAudio,
    Stats,
    TextLLMRunner,
    generate_hf,
    generate_text_hf,
    make_audio_input,
    make_image_input,
    make_raw_audio_input,
    make_text_input,
    make_token_input,
    read_wav,
)
from sdk.extension.pybindings.portable_lib import ExecuTorchError
from sdk.runtime import Runtime

COUNT = 12


def _backend() -> list[str]:
    backend = default_backend()
    return [] if backend is None else [f"backend.{backend.identifier}.enabled=true"]


@pytest.fixture(scope="module", params=[llava, gemma3, smolvlm], ids=["llava", "gemma3", "smolvlm"])
def seeing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    """Models that take pictures, and their programs. LLaVA and Gemma 3 use the operator for attention over a cache, and
    the default backend computes the rest of LLaVA."""
    model = request.param()
    folder, kind = tmp_path_factory.mktemp("seeing"), model.config.model_type
    save(model, folder, images=True)
    operator = [] if kind == "smolvlm" else ["model.use_sdpa_with_kv_cache=true"]
    return model, str(program_of(folder, *operator, *(_backend() if kind == "llava" else [])))


@pytest.fixture(scope="module")
def hearing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    """Voxtral, and its program."""
    folder, model = tmp_path_factory.mktemp("voxtral"), voxtral()
    save(model, folder)
    return model, str(program_of(folder))


def _pixels() -> torch.Tensor:
    torch.manual_seed(2)
    return torch.randn(1, 3, 28, 28)


def _features(chunks: int = 1) -> torch.Tensor:
    torch.manual_seed(3)
    return torch.randn(chunks, 16, 200)


def _sound(count: int) -> torch.Tensor:
    torch.manual_seed(count)
    return 0.4 * torch.sin(torch.arange(count) * 0.13) + 0.05 * torch.randn(count)


def _logits(program: str, media: str, prompt: list[Any]) -> torch.Tensor:
    """The logits after tokens and tensors, which the method `media` encodes."""
    loaded = Runtime.get().load_program(program)
    methods = {name: loaded.load_method(name) for name in loaded.method_names if "get_" not in name}
    position, logits = 0, torch.empty(0)
    for part in prompt:
        is_media = isinstance(part, torch.Tensor)
        name, given = (media, part) if is_media else ("token_embedding", torch.tensor([part]))
        decoder = "picture_decoder" if is_media and "picture_decoder" in methods else "text_decoder"
        rows = methods[name].execute([given])[0].clone()
        for chunk in rows.split(16, dim=1):
            logits = methods[decoder].execute([chunk.contiguous(), torch.tensor([position])])[0].clone()
            position += chunk.shape[1]
    return logits[0]


def test_logits_from_a_picture(seeing: tuple[Any, str]) -> None:
    """ECO-07: the program computes what transformers computes."""
    model, program = seeing
    _, wanted = continued(model, [*ids("abcdefgh"), *[IMAGE] * 4, *ids("cd")], 1, pixel_values=_pixels())
    found = _logits(program, "vision_encoder", [ids("abcdefgh"), _pixels(), ids("cd")])
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-4)


def test_logits_from_sound(hearing: tuple[Any, str]) -> None:
    """ECO-02: the program computes what transformers computes."""
    model, program = hearing
    _, wanted = continued(model, [*ids("ab"), *[AUDIO] * 25, *ids("cd")], 1, input_features=_features())
    found = _logits(program, "audio_encoder", [ids("ab"), _features(), ids("cd")])
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-4)


def test_text_after_a_picture(seeing: tuple[Any, str]) -> None:
    """ECO-07: MultimodalRunner generates the text of transformers, with the tokenizer inside the program."""
    model, program = seeing
    tokens = [*ids("ab"), *[IMAGE] * 4, *ids("cd")]
    wanted, _ = continued(model, tokens, COUNT, pixel_values=_pixels())
    runner = MultimodalRunner(program)
    prompt = [make_text_input("ab"), make_image_input(_pixels()[0]), make_text_input("cd")]
    pieces: list[str] = []
    stats: list[Stats] = []
    runner.generate(prompt, greedy(COUNT), pieces.append, stats.append)
    assert runner.generated_tokens == wanted
    assert stats[0].num_prompt_tokens == len(tokens)
    assert runner.metadata["get_image_token_id"] == IMAGE
    # The conversation goes on, with a second picture.
    other = _pixels().flip(3)
    following = [*wanted, *ids("ef"), *[IMAGE] * 4]
    wanted, _ = continued(model, [*tokens, *following], 4, pixel_values=torch.cat([_pixels(), other]))
    runner.generate([make_text_input("ef"), make_image_input(other[0])], greedy(4))
    assert runner.generated_tokens == wanted
    runner.reset()
    assert runner.generate_text("ab", greedy(2)) == MultimodalRunner(program).generate_text(ids("ab"), greedy(2))


def test_prompts_of_a_processor(seeing: tuple[Any, str]) -> None:
    """The output of Hugging Face's processors: tokens and pictures, in the places of runs of a token."""
    model, program = seeing
    tokens = [*ids("ab"), *[IMAGE] * 4, *ids("c"), *[IMAGE] * 4, *ids("d")]
    pixels = torch.cat([_pixels(), _pixels().flip(3)])
    wanted, _ = continued(model, tokens, COUNT, pixel_values=pixels)
    inputs = transformers.BatchFeature({"input_ids": torch.tensor([tokens]), "pixel_values": pixels})
    runner, pieces = MultimodalRunner(program), []
    runner.generate_hf(inputs, greedy(COUNT), image_token_id=IMAGE, token_callback=pieces.append)
    assert runner.generated_tokens == wanted
    runner.reset()
    assert runner.generate_text_hf(inputs, greedy(COUNT), IMAGE) == "".join(pieces)
    runner.reset()
    text = {"input_ids": torch.tensor(ids("ab"))}
    same = MultimodalRunner(program).generate_text("ab", greedy(2))
    assert generate_text_hf(runner, text, greedy(2)) == same
    runner.reset()
    assert generate_text_hf(runner, [make_text_input("ab")], greedy(2)) == same
    wrong: list[tuple[Any, str]] = [
        ({"pixel_values": pixels}, "need 'input_ids', a tensor .*, found NoneType"),
        ({"input_ids": torch.zeros(2, 3)}, r"expected \[tokens\] or \[1, tokens\], found \[2, 3\]"),
        ({**inputs, "pixel_values": pixels[:1]}, f"1 pictures .* 2 runs of the token {IMAGE}"),
        ({**inputs, "pixel_values": [1]}, "expected a tensor of a picture, .* found list"),
        (["ab"], "expected what a processor .* found list"),
    ]
    for given, message in wrong:
        with pytest.raises(RuntimeError, match=message):
            generate_hf(runner, given, greedy(2), IMAGE)
    with pytest.raises(RuntimeError, match="give the token in the place of pictures as image_token_id"):
        generate_hf(runner, inputs, greedy(2))


def test_a_picture_of_bytes(seeing: tuple[Any, str]) -> None:
    """The program does what the processor of transformers does to a picture of the right size."""
    model, program = seeing
    torch.manual_seed(6)
    picture = torch.randint(0, 256, (3, 28, 28), dtype=torch.uint8)
    processor = transformers.CLIPImageProcessor(
        do_resize=False, do_center_crop=False, image_mean=MEAN, image_std=DEVIATION
    )
    pixels = processor(picture.permute(1, 2, 0).numpy(), return_tensors="pt", input_data_format="channels_last")
    normalised = pixels.pixel_values
    method = Runtime.get().load_program(program).load_method("vision_preprocessor")
    assert method is not None
    torch.testing.assert_close(method.execute([picture])[0], normalised, rtol=0, atol=1e-5)
    wanted, _ = continued(model, [*[IMAGE] * 4, *ids("x")], COUNT, pixel_values=normalised)
    runner = MultimodalRunner(program)
    runner.generate([make_image_input(picture), make_text_input("x")], greedy(COUNT))
    assert runner.generated_tokens == wanted


@pytest.mark.parametrize("count", [20000, 40000], ids=["a chunk", "two chunks"])
def test_text_after_samples(hearing: tuple[Any, str], count: int) -> None:
    """ECO-02: text from samples, which are the input of transformers' feature extractor."""
    model, program = hearing
    sound = _sound(count)
    extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=2)
    whole = extractor(sound.numpy(), sampling_rate=16000, padding="longest", pad_to_multiple_of=32000, truncation=False)
    features = torch.tensor(whole.input_features[0])
    chunks = features.reshape(16, -1, 200).transpose(0, 1)
    tokens = [*ids("ab"), *[AUDIO] * 25 * len(chunks), *ids("c")]
    wanted, _ = continued(model, tokens, 6, input_features=chunks)
    runner = MultimodalRunner(program)
    for sound_input in (make_audio_input(chunks), make_raw_audio_input(sound)):
        runner.reset()
        runner.generate([make_text_input("ab"), sound_input, make_token_input(ids("c"))], greedy(6))
        assert runner.generated_tokens == wanted
    assert runner.position == len(tokens) + 6


def test_inputs() -> None:
    """Types of inputs, and arrays that they refuse."""
    audio = make_audio_input(_features())
    assert audio.is_audio() and audio.get_audio().n_bins == 16 and audio.get_audio().n_frames == 200
    assert audio.get_audio().batch_size == 1 and audio.get_audio().is_float() and audio.get_image() is None
    raw = make_raw_audio_input(torch.tensor([[0, 16384], [32767, -16384]], dtype=torch.int16))
    assert raw.is_raw_audio() and raw.get_raw_audio().samples() == pytest.approx([0.5, 0.0], abs=1e-4)
    assert raw.get_raw_audio().n_channels == 2 and len(raw.get_raw_audio().data) == 8
    assert MultimodalInput(Audio(_features().numpy())).is_audio()
    assert MultimodalInput(RawAudio(_sound(4).numpy())).is_raw_audio()
    for wrong in (torch.zeros(2, 3), torch.zeros(1, 2, 3, dtype=torch.int64)):
        with pytest.raises(ValueError, match="batch, bins, frames"):
            make_audio_input(wrong)
    with pytest.raises(ValueError, match="channels, samples"):
        make_raw_audio_input(torch.zeros(3, dtype=torch.float64))
    with pytest.raises(ExecuTorchError, match="0 bytes are not sound"):
        RawAudio().samples()


def _wav(path: Path, samples: torch.Tensor, rate: int = 16000) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples.clamp(-1, 1) * 32767).to(torch.int16).numpy().tobytes())
    return path


def test_wav_files(tmp_path: Path) -> None:
    sound = _sound(500)
    samples, rate = read_wav(str(_wav(tmp_path / "sound.wav", sound, 8000)))
    assert rate == 8000
    torch.testing.assert_close(torch.from_numpy(samples), sound, rtol=0, atol=1e-4)
    (tmp_path / "cut.wav").write_bytes((tmp_path / "sound.wav").read_bytes()[:200])
    with pytest.raises(ExecuTorchError, match="the WAV file is cut: its samples take 1000 bytes, but only 156 follow"):
        read_wav(str(tmp_path / "cut.wav"))


def test_pictures_and_sound_that_do_not_fit(seeing: tuple[Any, str], hearing: tuple[Any, str]) -> None:
    """The message says what the program takes; the runner stays usable."""
    runner = MultimodalRunner(seeing[1])
    with pytest.raises(ExecuTorchError, match=r"sizes 1 x 3 x 30 x 28, but .*'vision_encoder' takes 1 x 3 x 28 x 28"):
        runner.generate([make_image_input(torch.zeros(3, 30, 28))])
    with pytest.raises(ExecuTorchError, match="has no method 'audio_encoder', so it takes no sound"):
        runner.prefill([make_audio_input(_features())])
    with pytest.raises(ExecuTorchError, match="the prompt is too long: it has 68 tokens"):
        runner.generate([make_image_input(_pixels()[0])] * 17)
    assert runner.position == 0
    runner.generate([make_image_input(_pixels()[0])], greedy(2))
    assert runner.position == 6
    hears = MultimodalRunner(hearing[1])
    with pytest.raises(ExecuTorchError, match="'audio_encoder' takes Float: prepare it as the model's processor does"):
        hears.generate([make_audio_input(torch.zeros(1, 16, 200, dtype=torch.uint8))])
    with pytest.raises(ExecuTorchError, match="has no method 'vision_encoder', so it takes no pictures"):
        hears.generate([MultimodalInput(Image(torch.zeros(3, 2, 2).numpy()))])
    with pytest.raises(ExecuTorchError, match="forward"):
        TextLLMRunner(hearing[1])


def test_sampling_is_seeded(seeing: tuple[Any, str]) -> None:
    """A prompt of several parts draws one number for each token, as a prompt of text does."""
    runner, texts = MultimodalRunner(seeing[1]), []
    config = GenerationConfig(echo=False, max_new_tokens=8, seed=4, temperature=3)
    for prompt in ([make_text_input("a"), make_image_input(_pixels()[0]), make_text_input("b")],) * 2:
        runner.reset()
        texts.append(
            runner.generate_text(prompt, GenerationConfig(echo=False, max_new_tokens=8, seed=4, temperature=3))
        )
    assert texts[0] == texts[1]
    runner.reset()
    in_parts = [make_token_input(ids("ab")), make_token_input(ids("cd"))]
    text = runner.generate_text(in_parts, config)
    runner.reset()
    assert runner.generate_text("abcd", config) == text


def test_settings_and_files_that_cannot_be_used(tmp_path: Path) -> None:
    model = llava(num_hidden_layers=1)
    save(model, tmp_path)
    with pytest.raises(SettingsError, match=r"pictures or sound: model.dtype_override; leave"):
        program_of(tmp_path, "model.dtype_override=fp16")
    with pytest.raises(SettingsError, match=r"need model\.use_kv_cache=true"):
        program_of(tmp_path, "model.use_kv_cache=false")
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"image_mean": [0.5], "image_std": [1, 1, 1]}))
    with pytest.raises(CheckpointError, match=r"image_mean of the image processor: expected 3 numbers, found \[0.5\]"):
        program_of(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"preprocessor_config\.json, line 1, column 2"):
        program_of(tmp_path)


TEMPLATE = (
    "{% for m in messages %}{% for p in m.content %}"
    "{{ '<94>' if p.type == 'image' else '<93>' if p.type == 'audio' else p.text }}"
    "{% endfor %}{% endfor %}"
)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`sdk llm export` of a folder and `sdk llm run --image`, with and without the chat template."""
    pillow = pytest.importorskip("PIL.Image")
    model = llava()
    save(model, tmp_path, images=True)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    program = tmp_path / "out.pte"
    assert main(["llm", "export", str(tmp_path), "-o", str(program), "--context", "64", "--backend", "portable"]) == 0
    capsys.readouterr()
    torch.manual_seed(6)
    picture = torch.randint(0, 256, (3, 28, 28), dtype=torch.uint8)
    photo = tmp_path / "photo.png"
    pillow.fromarray(picture.permute(1, 2, 0).numpy()).save(photo)
    pixels = (picture.float() / 255 - torch.tensor(MEAN)[:, None, None]) / torch.tensor(DEVIATION)[:, None, None]
    wanted, _ = continued(model, [*[IMAGE] * 4, *ids("what?")], 6, pixel_values=pixels[None])
    asked = ["llm", "run", str(program), "--prompt", "what?", "--temperature", "0", "--max-new-tokens", "6", "--json"]
    for more in (["--image", str(photo)], ["--image", str(photo), "--raw"]):
        assert main([*asked, *more]) == 0
        found = json.loads(capsys.readouterr().out)
        assert ids(found["text"]) == [token for token in wanted if token != 95]
        assert found["prompt_tokens"] == 9
    for more, message in (
        (["--audio", str(photo)], "--audio: the program has no method `audio_encoder`"),
        (["--image", str(program)], "cannot be read as a picture"),
    ):
        assert main([*asked, *more]) == 2
        assert message in capsys.readouterr().err
    # The prompt has one place for a picture, the command two pictures.
    prompt = ["llm", "run", str(program), "--raw", "--prompt", "a<94>b", "--max-new-tokens", "1"]
    assert main([*prompt, "--image", str(photo)]) == 0
    assert main([*prompt, "--image", str(photo), "--image", str(photo)]) == 2
    assert "expected a picture for each place in the prompt" in capsys.readouterr().err
    assert main([*prompt]) == 2
    assert "found 0 pictures and 1 places" in capsys.readouterr().err
