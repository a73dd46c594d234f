# SPDX-License-Identifier: BSD-3-Clause
"""`sdk llm`: from a checkpoint to text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from language_models import ARCHITECTURES, small
from test_checkpoints import write_gguf

from sdk.__main__ import main
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.extension.llm.export.gguf import GGUFFile
from sdk.extension.llm.export.gguf.tokenizer import gguf_tokenizer
from sdk.extension.llm.runner import GenerationConfig, TextLLMRunner
from sdk.extension.llm.tokenizers import CppHFTokenizer
from sdk.runtime import Runtime

# The bytes of ASCII are tokens, of which some are merged; the small models know 96 ids.
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
TOKENS = ["<s>", "</s>", "<|end|>", *LETTERS, "Ġ", "Ġa", "ab", *(f"<{i}>" for i in range(96 - 6 - len(LETTERS)))]
TEMPLATE = "{% for message in messages %}{{ message['content'] }}<|end|>{% endfor %}"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkpoint") / "model.gguf"
    tokenizer: dict[str, Any] = {
        "tokenizer_model": "gpt2",
        "tokenizer_pre": "gpt-2",
        "token_list": TOKENS,
        "token_types": [3, 3, 3, *[1] * (len(TOKENS) - 3)],
        "token_merges": ["Ġ a", "a b"],
        "bos_token_id": 0,
        "eos_token_id": 1,
        "eot_token_id": 2,
        "chat_template": TEMPLATE,
    }
    return write_gguf(path, small(**ARCHITECTURES["llama"]), "llama", "Q4_1", **tokenizer)


def test_export_writes_one_file_with_all_that_a_chat_needs(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    output = tmp_path / "model.pte"
    assert main(["llm", "export", str(checkpoint), "-o", str(output), "--chunk", "16", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"program": str(output), "bytes": output.stat().st_size}
    file = deserialize_pte_binary(output.read_bytes())
    assert file.named_data is not None
    data = {name: file.named_data.buffers[entry.buffer_index] for name, entry in file.named_data.pte_data.items()}
    assert bytes(data["chat_template"]).decode() == TEMPLATE
    tokenizer = CppHFTokenizer()
    tokenizer.load_from_buffer(bytes(data["tokenizer"]))
    assert tokenizer.encode("ab a<|end|>") == [TOKENS.index(token) for token in ("ab", "Ġa", "<|end|>")]
    program = Runtime.get().load_program(output)
    found = {
        name: program.load_method(name).execute([])
        for name in ("get_bos_id", "get_eos_ids", "get_max_context_len", "get_max_seq_len")
    }
    assert found == {"get_bos_id": [0], "get_eos_ids": [1, 2], "get_max_context_len": [256], "get_max_seq_len": [16]}


def test_a_runner_takes_the_tokenizer_from_the_program(checkpoint: Path, tmp_path: Path) -> None:
    output = tmp_path / "model.pte"
    assert main(["llm", "export", str(checkpoint), "-o", str(output)]) == 0
    runner = TextLLMRunner(str(output))
    assert runner.chat_template == TEMPLATE
    config = GenerationConfig(max_new_tokens=12, temperature=0, echo=False)
    text = runner.generate_text("ab a", config)
    (tmp_path / "tokenizer.json").write_bytes(gguf_tokenizer(GGUFFile(checkpoint)).tokenizer_json)
    other = TextLLMRunner(str(output), str(tmp_path / "tokenizer.json"))
    assert text and other.generate_text("ab a", config) == text
    assert other.generated_tokens == runner.generated_tokens
    plain = ["--set", "export.embed_tokenizer=false"]
    assert main(["llm", "export", str(checkpoint), "-o", str(output), *plain]) == 0
    with pytest.raises(RuntimeError, match="has no tokenizer inside: pass the path of one"):
        TextLLMRunner(str(output))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.gguf", "-o", "a.pte"], "there is no file or folder `missing.gguf`; a model of a hub must be"),
        (["MODEL", "-o", "a.bin"], "--output: expected a file that ends in .pte, found `a.bin`"),
        (["MODEL", "-o", "a.pte", "--context", "512"], "--context: 512 is more than the 256 positions that the model"),
        (["MODEL", "-o", "a.pte", "--backend", "nosuch"], "nosuch"),
        (["MODEL", "-o", "a.pte", "--set", "model.nosuch=1"], "nosuch"),
        ([".", "-o", "a.pte"], "`.` is no model: a folder of Hugging Face's form has a config.json"),
        (["a.txt", "-o", "a.pte"], "expected a .gguf file or a folder, found `a.txt`"),
        (["bad.gguf", "-o", "a.pte"], "bad.gguf"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: list[str],
    message: str,
    checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("x")
    Path("bad.gguf").write_bytes(b"GGUX")
    arguments = [str(checkpoint) if argument == "MODEL" else argument for argument in arguments]
    assert main(["llm", "export", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("sdk llm export: ") and message in line
    assert not Path("a.pte").exists()


def test_commands_are_listed(capsys: pytest.CaptureFixture) -> None:
    assert main(["llm", "--help"]) == 0
    assert "export  turn a checkpoint" in capsys.readouterr().out
    assert main(["llm", "nosuch"]) == 2
    assert "there is no command `nosuch`; the commands are: export" in capsys.readouterr().err
