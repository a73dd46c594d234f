# SPDX-License-Identifier: BSD-3-Clause
"""`export_llama_lib` and the runners in Python: programs, eager and the whole model agree on every token."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from test_runner import write_tokenizer

from sdk.examples.models.llama import Llama2Model, export_llama_lib
from sdk.examples.models.llama.runner import eager, generation, native
from sdk.examples.models.model_factory import EagerModelFactory
from sdk.extension.llm.export.config.llm_config import LlmConfig
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.transformer import construct_transformer

PARAMS = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 96, "hidden_dim": 128}
PROMPT, LENGTH = "The quick brown fox", 40


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    (folder / "params.json").write_text(json.dumps(PARAMS))
    torch.manual_seed(5)
    model = construct_transformer(ModelArgs(**PARAMS))
    torch.save(model.state_dict(), folder / "weights.pth")
    write_tokenizer(folder / "tokenizer.json")
    return folder


def flags(folder: Path, *more: str) -> list[str]:
    return [
        *("-p", str(folder / "params.json"), "-c", str(folder / "weights.pth"), "--output-dir", str(folder)),
        *("-t", str(folder / "tokenizer.json"), "--max_seq_length", str(LENGTH), "--max_context_length", str(LENGTH)),
        *more,
    ]


def greedy(folder: Path) -> list[int]:
    """Returns the greedy continuation, with each token computed from the whole text."""
    model = construct_transformer(ModelArgs(**PARAMS)).eval()
    model.load_state_dict(torch.load(folder / "weights.pth"))
    tokens = [ord(character) - 32 for character in PROMPT]
    with torch.no_grad():
        while len(tokens) < LENGTH and (len(tokens) == len(PROMPT) or tokens[-1] != 95):
            tokens.append(int(model(torch.tensor([tokens])).argmax()))
    return tokens[len(PROMPT) :]


@pytest.mark.parametrize("more", [("-kv", "--use_sdpa_with_kv_cache", "-n", "cached"), ("-n", "whole")])
def test_programs_continue_as_the_model(files: Path, more: tuple[str, ...], capsys: pytest.CaptureFixture):
    """LE-16: parsed arguments make a program whose tokens equal those of the eager runner."""
    args = export_llama_lib.build_args_parser().parse_args(flags(files, *more))
    path = export_llama_lib.export_llama(args)
    assert Path(path) == files / f"{more[-1]}.pte"
    cached = ["-kv"] if "-kv" in more else []
    command = [*("-f", path, "-p", str(files / "params.json"), "-t", str(files / "tokenizer.json")), *cached]
    runner = native.NativeLlamaRunner(native.build_args_parser().parse_args([*command, "--max_len", str(LENGTH)]))
    expected = greedy(files)
    assert runner.text_completion(PROMPT, temperature=0) == expected
    text = "".join(chr(32 + token) for token in expected if token != 95)
    assert capsys.readouterr().out.startswith(text + "\n")
    found = eager.EagerLlamaRunner(LlmConfig.from_args(args)).text_completion(PROMPT, temperature=0, echo=True)
    assert found == [ord(character) - 32 for character in PROMPT] + expected


def test_conversations_continue(files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    """The answer of the second turn continues the tokens of the first turn."""
    args = export_llama_lib.build_args_parser().parse_args(flags(files, "-kv", "--max_context_length", "1000"))
    runner = eager.EagerLlamaRunner(LlmConfig.from_args(args))
    answers = iter(["Hi", "More", "exit"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    tokens = runner.chat_completion(220, temperature=0, show_progress=True)
    assert f"{len(tokens)} tokens so far" in capsys.readouterr().out
    model = construct_transformer(ModelArgs(**PARAMS, max_context_len=1000, generate_full_logits=True)).eval()
    model.load_state_dict(torch.load(files / "weights.pth"))
    with torch.no_grad():
        whole = model(torch.tensor([tokens]))[0].argmax(-1).tolist()
    begin = len(runner.tokenizer.encode(generation._TURN.format(prompt="Hi"), bos=True, eos=False))
    assert tokens[begin : begin + 3] == whole[begin - 1 : begin + 2]
    assert tokens[-3:] == whole[-4:-1], "the second answer continues the whole conversation"


def test_tokens_are_drawn_from_the_likeliest():
    probs = torch.tensor([[0.5, 0.3, 0.15, 0.05]])
    torch.manual_seed(0)
    drawn = torch.cat([generation.sample_top_p(probs.clone(), 0.7) for _ in range(400)]).flatten()
    shares = torch.bincount(drawn, minlength=4) / 400
    assert shares[2] == shares[3] == 0 and abs(shares[0] - 0.625) < 0.1
    assert generation.next_token(probs.log(), 0, 0.9) == 0
    assert {generation.next_token(probs.log(), 5.0, 1.0) for _ in range(200)} == {0, 1, 2, 3}


def test_the_parser_names_every_setting(files: Path):
    parser = export_llama_lib.build_args_parser()
    assert LlmConfig.from_args(parser.parse_args([])) == LlmConfig()
    config = LlmConfig.from_args(
        parser.parse_args(flags(files, "-kv", "-qmode", "8da4w", "-G", "64", "-d", "fp16", "--model", "llama3_2",
                                "--local_global_attention", "[8, 0]", "--disable_dynamic_shape", "-X"))
    )  # fmt: skip
    assert config.model.use_kv_cache and not config.model.enable_dynamic_shape
    assert (config.quantization.qmode, config.quantization.group_size) == ("8da4w", 64)
    assert config.model.dtype_override.value == "fp16" and config.base.model_class.value == "llama3_2"
    assert config.model.local_global_attention == [8, 0] and config.backend.xnnpack.enabled
    with pytest.raises(argparse.ArgumentTypeError, match="a list of whole numbers"):
        export_llama_lib.parse_list_of_ints("[1, 2.5]")


def test_build_model_and_settings(files: Path):
    """Models are built by names and files. Settings as an object and in OmegaConf's form make the same program."""
    omegaconf = pytest.importorskip("omegaconf")
    params, weights = str(files / "params.json"), str(files / "weights.pth")
    first = export_llama_lib.build_model("llama2", weights, params, str(files), "-kv -n first --max_seq_length 8")
    config = LlmConfig()
    config.base.params, config.base.checkpoint, config.model.use_kv_cache = params, weights, True
    config.base.model_class = type(config.base.model_class)("llama2")
    config.export.output_dir, config.export.output_name, config.export.max_seq_length = str(files), "second", 8
    before = omegaconf.OmegaConf.structured(config)
    second = export_llama_lib.export_llama(config)
    assert config == omegaconf.OmegaConf.to_object(before), "settings are not changed"
    before.export.output_name = "third"
    third = export_llama_lib.export_llama(before)
    assert Path(first).read_bytes() == Path(second).read_bytes() == Path(third).read_bytes()
    with pytest.raises(TypeError, match="expected parsed arguments or an LlmConfig, found str"):
        export_llama_lib.export_llama("llama")


def test_models_of_settings(files: Path):
    config = LlmConfig()
    config.base.params, config.base.checkpoint = str(files / "params.json"), str(files / "weights.pth")
    config.model.use_kv_cache = True
    model, inputs, metadata = export_llama_lib.get_llama_model(config)
    assert metadata["get_vocab_size"] == 96 and model(*inputs).shape == (1, 96)
    kind: Any
    for kind, shape in ((True, (1, 3)), (False, (1, 1))):
        config.model.enable_dynamic_shape = kind
        eager_model, example, named, shapes = EagerModelFactory.create_model("llama", "Llama2Model", llm_config=config)
        assert example[0].shape == shape and named is None and shapes is None
        assert torch.equal(
            eager_model.tok_embeddings.weight, torch.load(config.base.checkpoint)["tok_embeddings.weight"]
        )
    config.model.use_kv_cache = False
    assert Llama2Model(config).get_example_inputs()[0].shape == (1, 128)
    params, quantizers, dtype = export_llama_lib.get_quantizer_and_quant_params(config)
    assert (params, quantizers, dtype) == (None, [], None)


def test_paths_of_packages(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(export_llama_lib, "pkg_name", "sdk")
    export_llama_lib.set_pkg_name("sdk.examples")
    assert export_llama_lib.canonical_path("par:models/model_base.py").endswith("sdk/examples/models/model_base.py")
    assert export_llama_lib.canonical_path(Path("a/b"), dir=True) == "a/b"
    monkeypatch.setattr(export_llama_lib, "verbosity_setting", None)
    export_llama_lib.set_verbosity(True)
    assert export_llama_lib.verbose_export() is True


@pytest.mark.parametrize("missing", ["pte", "params", "tokenizer"])
def test_runners_name_what_is_missing(missing: str):
    args = native.build_args_parser().parse_args(["-f", "a", "-p", "b", "-t", "c"])
    setattr(args, missing, None)
    with pytest.raises(TypeError, match=f"--{missing} is missing"):
        native.NativeLlamaRunner(args)
    with pytest.raises(ValueError, match=r"base\.tokenizer_path"):
        eager.EagerLlamaRunner(LlmConfig())
