# SPDX-License-Identifier: BSD-3-Clause
"""examples/openvino/llama: its settings, on a small Llama with random weights, through the runners."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

import forked
from sdk.devtools.backend_debug import get_delegation_info
from sdk.extension.llm.export.exporter import capture, lower, make_model, metadata_of
from sdk.extension.llm.export.settings import SettingsError, read_settings
from sdk.extension.llm.runner import GenerationConfig, TextLLMRunner
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = ROOT / "examples" / "openvino" / "llama" / "llama3_2_ov_4wo.yaml"
LLAMA_MAIN = Path(
    os.environ.get("SDK_LLAMA_MAIN", ROOT / "build" / "package" / "examples" / "models" / "llama" / "llama_main")
)
PARAMS = {"dim": 256, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 96, "hidden_dim": 384}
# The file has the ids of Llama 3.2 that end a sequence; the small vocabulary has 96 tokens.
SMALL = ["export.max_seq_length=64", "export.max_context_length=64", "base.metadata='{\"get_eos_ids\": [95]}'"]
PROMPT = "The quick brown fox"


def _config(folder: Path, *settings: str) -> Any:
    (folder / "params.json").write_text(json.dumps(PARAMS))
    return read_settings(str(SETTINGS), [f"+base.params={folder / 'params.json'}", *SMALL, *settings])


def _model(config: Any) -> Any:
    torch.manual_seed(3)
    model = make_model(config)
    for parameter in model.parameters():
        parameter.data.copy_(torch.randn_like(parameter) * 0.08)
    return model


def _tokenizer(path: Path) -> Path:
    """A token for each printable character of ASCII, and one that ends a sequence."""
    vocabulary = {chr(32 + i) if i < 95 else "<95>": i for i in range(96)}
    split = {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "?"}
    ends = [{"id": 95, "content": "<95>", "special": True}]
    text = {"added_tokens": ends, "pre_tokenizer": split, "model": model, "decoder": {"type": "Fuse"}}
    path.write_text(json.dumps(text))
    return path


def _continue(forward: Any, count: int) -> tuple[str, list[torch.Tensor]]:
    """The greedy continuation of the prompt, one token a call, and the logits of every call."""
    tokens, written, logits = [ord(letter) - 32 for letter in PROMPT], [], []
    for position in range(len(tokens) + count - 1):
        call = torch.tensor([[tokens[position]]]), torch.tensor([position])
        logits.append(forward(*call).reshape(-1).clone())
        if position >= len(tokens) - 1:
            written.append(int(logits[-1].argmax()))
            tokens.append(written[-1])
    return "".join(chr(32 + token) for token in written), logits


def test_the_settings_export_and_the_runners_continue_the_prompt(tmp_path: Path) -> None:
    """ECO-05: Llama by the settings of the example: OpenVINO computes what the quantised model computes in eager mode,
    and both runners write that text."""
    config = _config(tmp_path, "+backend.openvino.device=CPU")
    model = _model(config)
    floats = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        captured = capture(model, config)
        edge = lower(captured, config, metadata_of(model, config))
        eager = captured.module()
        expected, logits = _continue(lambda tokens, position: eager(tokens, {"input_pos": position}), 24)
    # int4 in groups of 128: the 14 linear layers have 2 groups of 256 inputs or 3 of 384.
    scales = [value for name, value in captured.state_dict.items() if "scale" in name and value.numel() > 1]
    assert sum(scale.dim() == 3 and scale.shape[1] in (2, 3) for scale in scales) == 14
    info = get_delegation_info(edge.exported_program().graph_module)
    linear = {name: counts for name, counts in info.delegation_by_operator.items() if "linear" in name or "mm" in name}
    assert linear and all(counts.non_delegated == 0 for counts in linear.values())

    program = tmp_path / "llama3_2.pte"
    edge.to_executorch().save(str(program))
    loaded = _load_for_executorch_from_buffer(program.read_bytes())
    text, found = _continue(lambda tokens, position: loaded.forward((tokens, position))[0], 24)
    assert text == expected
    for ours, theirs in zip(found, logits, strict=True):
        assert (ours - theirs).abs().max() <= 1e-4 * theirs.abs().max()
    # The int4 weights are the floats, rounded: the range of 128 normal numbers is some 5.4 standard deviations,
    # a step is 5.4 / 15, and the error of a layer 5.4 / 15 / sqrt(12), a tenth; about 5 of them add up.
    model.load_state_dict(floats)
    first = model(torch.tensor([[ord(PROMPT[0]) - 32]]), {"input_pos": torch.tensor([0])}).reshape(-1)
    assert 0 < (first - logits[0]).norm() < 0.4 * first.norm()

    tokenizer = _tokenizer(tmp_path / "tokenizer.json")
    options = GenerationConfig(max_new_tokens=24, temperature=0.0, echo=False, ignore_eos=True)
    assert TextLLMRunner(str(program), str(tokenizer)).generate_text(PROMPT, options) == expected
    command = [str(LLAMA_MAIN), f"--model_path={program}", f"--tokenizer_path={tokenizer}", f"--prompt={PROMPT}"]
    command += ["--max_new_tokens=24", "--temperature=0", "--noecho", "--ignore_eos"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rsplit("\nPyTorchObserver ", 1)[0] == expected


def test_the_command_of_the_page(tmp_path: Path) -> None:
    """ECO-05: `export_llm --config llama3_2_ov_4wo.yaml`, with its table of operators."""
    (tmp_path / "params.json").write_text(json.dumps(PARAMS | {"n_layers": 1}))
    command = ["-m", "sdk.extension.llm.export.export_llm", "--config", str(SETTINGS)]
    command += ['+backend.openvino.device="CPU"', '+base.model_class="llama3_2"', "+base.params=params.json", *SMALL]
    done = forked.run(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "llama3_2.pte").stat().st_size > 0
    assert "OpenvinoBackend" in done.stdout or "delegated" in done.stdout.lower(), done.stdout


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("quantization.group_size=0", "group_size is 0; expected -1 or a positive number"),
        (
            "quantization.pt2e_quantize=openvino_8wo",
            "group_size=128: the quantizer openvino_8wo has one scale for each",
        ),
    ],
)
def test_a_wrong_group_size_is_said(setting: str, message: str, tmp_path: Path) -> None:
    config = _config(tmp_path, setting)
    from sdk.extension.llm.export.exporter import export_program

    with pytest.raises(SettingsError, match=message):
        export_program(config)
