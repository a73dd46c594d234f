# SPDX-License-Identifier: BSD-3-Clause
"""TextLLMRunner with exported programs: it generates the same text as eager mode."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from test_caches import streaming

from sdk.extension.llm.export.config.llm_config import LlmConfig
from sdk.extension.llm.export.export_llm import export
from sdk.extension.llm.export.exporter import capture, lower, make_model, metadata_of
from sdk.extension.llm.runner import (
    GenerationConfig,
    Image,
    MultimodalInput,
    Stats,
    TextLLMRunner,
    make_image_input,
    make_text_input,
    make_token_input,
)
from sdk.extension.pybindings.portable_lib import ExecuTorchError

VOCABULARY = 96
PARAMETERS = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": VOCABULARY, "hidden_dim": 128}
PROMPT = "The quick brown fox jumps over the lazy dog"


def write_tokenizer(path: Path, size: int = VOCABULARY) -> Path:
    """A token for each printable character of ASCII, and one that ends a sequence."""
    vocabulary = {chr(32 + i) if i < 95 else f"<{i}>": i for i in range(size)}
    path.write_text(
        json.dumps(
            {
                "added_tokens": [{"id": 95, "content": "<95>", "special": True}],
                "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
                "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "?"},
                "decoder": {"type": "Fuse"},
            }
        )
    )
    return path


def settings_of(folder: Path, **settings: Any) -> LlmConfig:
    """`settings`: fields of the groups model and debug, and the lengths."""
    params = folder / "params.json"
    params.write_text(json.dumps(PARAMETERS))
    config = LlmConfig()
    config.base.params = str(params)
    config.base.metadata = json.dumps({"get_eos_ids": [95], "get_bos_id": 0})
    config.model.use_kv_cache = settings.get("use_kv_cache", True)
    config.model.enable_dynamic_shape = settings.get("enable_dynamic_shape", True)
    config.debug.generate_full_logits = settings.get("generate_full_logits", False)
    config.export.max_seq_length = settings.get("max_seq_length", 128)
    config.export.max_context_length = 128
    return config


def weighted(config: LlmConfig) -> Any:
    """A model with the same random weights each time."""
    torch.manual_seed(3)
    model = make_model(config)
    for parameter in model.parameters():
        parameter.data.copy_(torch.randn_like(parameter) * 0.15)
    return model


def make(folder: Path, dtype: torch.dtype = torch.float32, nan: bool = False, **settings: Any) -> Path:
    """A program."""
    config = settings_of(folder, **settings)
    model = weighted(config)
    if nan:
        model.output.weight.data.fill_(float("nan"))
    exported: Any = model
    if dtype != torch.float32:
        exported = _Cast(model, dtype)
        exported.params = model.params
    with torch.no_grad():
        program = capture(exported, config)
    path = folder / "model.pte"
    path.write_bytes(lower(program, config, metadata_of(model, config)).to_executorch().buffer)
    return path


class _Cast(torch.nn.Module):
    """A model whose logits have another dtype."""

    def __init__(self, model: torch.nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.model, self.dtype = model, dtype

    def forward(self, tokens: torch.Tensor, options: dict[str, torch.Tensor] | None = None) -> torch.Tensor:
        logits: torch.Tensor = self.model(tokens, options)
        return logits.to(self.dtype)


def ids(text: str) -> list[int]:
    return [ord(c) - 32 for c in text]


def eager(folder: Path, prompt: str, count: int, dtype: torch.dtype = torch.float32) -> list[int]:
    """Returns the greedy continuation, with each token computed from the whole sequence, without a cache."""
    model = weighted(settings_of(folder, use_kv_cache=False))
    tokens = ids(prompt)
    for _ in range(count):
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).to(dtype)
        tokens.append(int(logits.reshape(-1, VOCABULARY)[-1].argmax()))
        if tokens[-1] == 95:
            break
    return tokens[len(prompt) :]


def test_attention_sinks_generate_past_the_context(tmp_path: Path):
    """LE-09, LE-23: 4 windows past 32 positions; each token is the likeliest by the definition of attention sinks."""
    sinks, window = 4, 20
    model = weighted(settings_of(tmp_path, use_kv_cache=False))
    torch.save(model.state_dict(), tmp_path / "model.pth")
    settings = [f"base.checkpoint={tmp_path / 'model.pth'}", f"base.params={tmp_path / 'params.json'}"]
    settings += ["model.use_kv_cache=true", f"model.use_attention_sink='{sinks},{window}'"]
    settings += ["export.max_seq_length=8", "export.max_context_length=32", f"export.output_dir={tmp_path}"]
    written = export(None, [*settings, 'base.metadata={"get_eos_ids": [96]}'])
    pieces: list[str] = []
    runner = TextLLMRunner(str(written), str(write_tokenizer(tmp_path / "tokenizer.json")))
    count = 32 + 4 * window
    runner.generate(PROMPT[:20], greedy(count, logit_bias={95: -1e9}), pieces.append)  # letters alone
    found = ids("".join(pieces))
    assert len(found) == count
    with torch.no_grad():
        logits = streaming(model, torch.tensor([[*ids(PROMPT[:20]), *found[:-1]]]), sinks, window)
    assert logits[19:, :95].argmax(1).tolist() == found


def greedy(count: int, **fields: Any) -> GenerationConfig:
    return GenerationConfig(echo=False, max_new_tokens=count, temperature=0.0, **fields)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[int]:
    return eager(tmp_path_factory.mktemp("eager"), PROMPT, 64)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A program and its tokenizer."""
    folder = tmp_path_factory.mktemp("model")
    model = make(folder)
    return str(model), str(write_tokenizer(folder / "tokenizer.json"))


@pytest.mark.sampled
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_seq_length": 7},
        {"enable_dynamic_shape": False},
        {"generate_full_logits": True},
        {"use_kv_cache": False},
        {"use_kv_cache": False, "generate_full_logits": True},
    ],
    ids=["cache", "chunks", "one-by-one", "full-logits", "no-cache", "no-cache-full-logits"],
)
def test_greedy_tokens_equal_eager(tmp_path: Path, settings: dict[str, Any], expected: list[int]):
    """LR-08: generates 64 tokens with programs of any length of a call."""
    model = make(tmp_path, **settings)
    runner = TextLLMRunner(str(model), str(write_tokenizer(tmp_path / "tokenizer.json")))
    pieces: list[str] = []
    stats: list[Stats] = []
    runner.generate(PROMPT, greedy(64), pieces.append, stats.append)
    assert runner.generated_tokens == expected
    assert ids("".join(pieces)) == [token for token in expected if token != 95]
    assert stats[0].num_prompt_tokens == len(PROMPT)
    assert stats[0].num_generated_tokens == len(expected)
    assert json.loads(stats[0].to_json_string())["prompt_tokens"] == len(PROMPT)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_logits_in_half_precision(tmp_path: Path, dtype: torch.dtype):
    """Logits of 16 bits are rounded: the reference rounds them too."""
    wanted = eager(tmp_path, PROMPT, 12, dtype)
    model = make(tmp_path, dtype)
    runner = TextLLMRunner(str(model), str(write_tokenizer(tmp_path / "tokenizer.json")))
    runner.generate(PROMPT, greedy(12))
    assert runner.generated_tokens == wanted


def test_static_shape_without_cache(tmp_path: Path):
    """Shorter sequences are padded where the program gives all logits, and refused where it does not."""
    tokenizer = str(write_tokenizer(tmp_path / "tokenizer.json"))
    settings = {"use_kv_cache": False, "enable_dynamic_shape": False, "max_seq_length": 3}
    model = make(tmp_path, **settings, generate_full_logits=True)
    runner = TextLLMRunner(str(model), tokenizer)
    runner.generate("T", greedy(2))
    assert runner.generated_tokens == eager(tmp_path, "T", 2)
    model = make(tmp_path, **settings)
    with pytest.raises(ExecuTorchError, match="takes exactly 3 tokens and gives the logits of the last one only"):
        TextLLMRunner(str(model), tokenizer).generate("T", greedy(2))


def test_metadata_is_read(files: tuple[str, str]):
    """LR-01: the runner reads the metadata of the program, whose names may begin with `get_`."""
    runner = TextLLMRunner(*files)
    expected = {
        "get_max_seq_len": 128,
        "get_max_context_len": 128,
        "use_kv_cache": 1,
        "enable_dynamic_shape": 1,
        "get_vocab_size": VOCABULARY,
        "get_bos_id": 0,
    }
    assert expected.items() <= runner.metadata.items()
    assert runner.get_vocab_size() == VOCABULARY


def test_conversation(files: tuple[str, str], expected: list[int]):
    """A prompt that is given in several parts has the same answer as the whole prompt."""
    runner = TextLLMRunner(*files)
    assert runner.prefill(PROMPT[:10]) in range(VOCABULARY)
    runner.prefill([make_text_input(PROMPT[10:20]), make_token_input(ids(PROMPT[20:]))])
    assert runner.position == len(PROMPT)
    tokens = []
    for count in (1, 5, 9):
        runner.generate("", greedy(count))
        tokens += runner.generated_tokens
    assert tokens == expected[:15]
    runner.generate_from_pos(PROMPT[10:], 10, greedy(5))
    assert runner.generated_tokens == expected[:5]
    runner.rewind(len(PROMPT) - 3)
    assert runner.position == len(PROMPT) - 3
    runner.generate(PROMPT[-3:], greedy(4))
    assert runner.generated_tokens == expected[:4]
    with pytest.raises(ExecuTorchError, match="the position is 60; expected one from 0 to "):
        runner.rewind(60)
    runner.reset()
    assert runner.position == 0
    assert ids(runner.generate_text(PROMPT, greedy(6))) == expected[:6]
    runner.reset()
    runner.warmup(PROMPT, 3)
    assert runner.position == 0
    config = greedy(2)
    config.echo = True
    assert runner.generate_text(PROMPT, config) == PROMPT + "".join(chr(32 + t) for t in expected[:2])


def test_stop_texts_and_seeds(files: tuple[str, str], expected: list[int]):
    runner = TextLLMRunner(*files)
    text = "".join(chr(32 + token) for token in expected[:20])
    stop = text[4:7]
    assert runner.generate_text(PROMPT, greedy(20, stop=[stop, "@@@@"])) == text[: text.index(stop)]

    def sampled(seed: int) -> list[int]:
        runner.reset()
        runner.generate(PROMPT, GenerationConfig(max_new_tokens=20, temperature=2.0, top_p=1.0, seed=seed))
        return runner.generated_tokens

    assert sampled(1) == sampled(1)
    assert sampled(1) != sampled(2)
    runner.reset()
    runner.generate(PROMPT, greedy(1, logit_bias={expected[0]: -1e9}))
    assert runner.generated_tokens[0] != expected[0]


def test_stdout_is_the_applications(files: tuple[str, str], capfd: pytest.CaptureFixture[str]):
    runner = TextLLMRunner(*files)
    runner.warmup(PROMPT, 2)
    runner.generate(PROMPT, greedy(4))
    assert capfd.readouterr().out == ""


def test_callbacks_and_threads(files: tuple[str, str], expected: list[int]):
    """LR-12: exceptions of callbacks come out, a second call is refused, and stop() ends a generation at once."""
    runner = TextLLMRunner(*files)

    def fail(piece: str) -> None:
        raise KeyError(piece)

    with pytest.raises(KeyError):
        runner.generate(PROMPT, greedy(20), fail)
    runner.reset()
    refused: list[BaseException] = []

    def again(piece: str) -> None:
        with pytest.raises(ExecuTorchError, match="a generation is running") as caught:
            runner.generate("x", greedy(1))
        refused.append(caught.value)

    runner.generate(PROMPT, greedy(1), again)
    assert len(refused) == 1
    runner.reset()
    began = threading.Event()

    def stop() -> None:
        began.wait()
        runner.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    pieces: list[str] = []

    def slow(piece: str) -> None:
        pieces.append(piece)
        began.set()
        if len(pieces) > 1:
            thread.join()

    runner.generate(PROMPT, greedy(60), slow)
    thread.join()
    assert len(pieces) <= 2
    runner.reset()
    runner.generate(PROMPT, greedy(3))
    assert runner.generated_tokens == expected[:3]


def test_bad_input(files: tuple[str, str], tmp_path: Path):
    model, tokenizer = files
    runner = TextLLMRunner(model, tokenizer)
    with pytest.raises(ExecuTorchError, match="it has 129 tokens, and the context of 128 tokens has room for 128"):
        runner.generate("x" * 129, greedy(1))
    room = r"the prompt has 128 tokens, and the context has room for 128: shorten the prompt"
    with pytest.raises(ExecuTorchError, match=f"there is no room for new tokens: {room}"):
        runner.generate("x" * 128, greedy(1))
    with pytest.raises(ExecuTorchError, match="the prompt has 4 tokens, seq_len is 4, and the context has room for"):
        runner.generate("xxxx", GenerationConfig(seq_len=4))
    with pytest.raises(ExecuTorchError, match="temperature is -1"):
        runner.generate("x", GenerationConfig(temperature=-1.0))
    with pytest.raises(ExecuTorchError, match="the prompt is empty"):
        runner.generate("")
    with pytest.raises(ExecuTorchError, match="type image; a text model takes text and tokens"):
        runner.prefill([make_image_input(torch.zeros(3, 2, 2))])
    with pytest.raises(ExecuTorchError, match="token 96 is not one of the program's: it has 96 tokens"):
        runner.prefill([make_token_input([96])])
    foreign = str(write_tokenizer(tmp_path / "foreign.json", 300))
    with pytest.raises(ExecuTorchError, match="it has 300 tokens, the program has 96"):
        TextLLMRunner(model, foreign)
    with pytest.raises(RuntimeError, match="no_such"):
        TextLLMRunner(model, str(tmp_path / "no_such.json"))
    with pytest.raises(ExecuTorchError, match="no_such"):
        TextLLMRunner(str(tmp_path / "no_such.pte"), tokenizer)
    runner.generate(PROMPT, greedy(1))
    assert len(runner.generated_tokens) == 1


def test_nan(tmp_path: Path):
    """A logit that is NaN is an error that names the token. Later calls fail until reset()."""
    model = make(tmp_path, nan=True)
    runner = TextLLMRunner(str(model), str(write_tokenizer(tmp_path / "tokenizer.json")))
    for _ in range(2):
        with pytest.raises(ExecuTorchError, match="the logit of token 0 is NaN"):
            runner.generate(PROMPT, greedy(1))
        with pytest.raises(ExecuTorchError, match=r"call reset\(\)"):
            runner.generate(PROMPT, greedy(1))
        runner.reset()


def test_config_and_inputs():
    """LR-06: defaults and limits of the documents."""
    config = GenerationConfig()
    assert (config.echo, config.max_new_tokens, config.warming, config.seq_len) == (True, -1, False, -1)
    assert config.temperature == pytest.approx(0.8)
    assert (config.num_bos, config.num_eos) == (0, 0)
    assert config.resolve_max_new_tokens(128, 28) == 100
    config.logit_bias = {3: -1.0}
    assert config.logit_bias == {3: -1.0}
    image = make_image_input(torch.arange(12, dtype=torch.uint8).reshape(3, 2, 2)).get_image()
    assert image is not None
    assert (image.width, image.height, image.channels) == (2, 2, 3)
    assert image.uint8_data == list(range(12))
    assert Image().channels == 0
    assert Image([1, 2, 3, 4], 2, 2, 1).uint8_data == [1, 2, 3, 4]
    assert Image([0.5, 1.5, 2.5], width=1, height=1, channels=3).float_data == [0.5, 1.5, 2.5]
    for numbers, error in (([1, 2, 3], "found 3"), ([1, 2, 3, 256], "found 256"), ([1, 2, 3, -1], "found -1")):
        with pytest.raises(ValueError, match=error):
            Image(numbers, 2, 2, 1)
    with pytest.raises(TypeError, match="numbers of one type"):
        Image([1, 2.5], 1, 2, 1)
    assert repr(Image([0] * 6, 1, 2, 3)) == "Image(height=2, width=1, channels=3, dtype=uint8)"
    assert repr(MultimodalInput("it's")) == 'MultimodalInput(type=text, content="it\'s")'
    assert repr(MultimodalInput("ü" * 51)) == f"MultimodalInput(type=text, content='{'ü' * 50}...')"
    assert repr(MultimodalInput([1])) == "MultimodalInput(type=tokens)"
    assert "type=image, content=Image(height=1" in repr(MultimodalInput(Image([1.0], 1, 1, 1)))
    assert "max_new_tokens=-1, warming=False, seq_len=-1, temperature=0.8," in repr(config)
    assert MultimodalInput("a").get_text() == "a"
    assert MultimodalInput("a").get_tokens() is None
    assert MultimodalInput([1, 2]).get_tokens() == [1, 2]
