# SPDX-License-Identifier: BSD-3-Clause
"""Conversations that are saved to files, and prompt look-up."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from test_runner import PROMPT, greedy, ids, make, settings_of, weighted, write_tokenizer

from sdk.extension.llm.export.export_llm import export
from sdk.extension.llm.runner import GenerationConfig, TextLLMRunner
from sdk.extension.pybindings.portable_lib import ExecuTorchError


def exported(folder: Path, *settings: str) -> tuple[str, str]:
    """A program that gives the logits of all tokens, and its tokenizer. The weights are always the same."""
    torch.save(weighted(settings_of(folder, use_kv_cache=False)).state_dict(), folder / "model.pth")
    every = [f"base.checkpoint={folder / 'model.pth'}", f"base.params={folder / 'params.json'}"]
    every += ["model.use_kv_cache=true", "debug.generate_full_logits=true", "export.max_context_length=128"]
    every += [f"export.output_dir={folder}", 'base.metadata={"get_eos_ids": [95]}']
    written = export(None, [*every, *settings])
    return str(written), str(write_tokenizer(folder / "tokenizer.json"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return exported(tmp_path_factory.mktemp("model"), "model.use_sdpa_with_kv_cache=true")


FIELDS: list[dict[str, Any]] = [
    {"temperature": 0.0},
    {"temperature": 0.7, "seed": 3},
    {"temperature": 0.0, "presence_penalty": 1.0},
]
PROMPTS = ["The quick brown fox", "abcabcabcabc", "aaaa", "to be or not to be or not", "12 12 12", "x"]


def test_look_up_changes_no_token(files: tuple[str, str]) -> None:
    """Look-up changes no token, greedy or sampled with a seed, also in a conversation."""
    runner = TextLLMRunner(*files)
    for prompt in PROMPTS:
        for fields in FIELDS:
            found = []
            for lookup_tokens in (0, 2, 8):
                runner.reset()
                config = GenerationConfig(
                    echo=False, max_new_tokens=60, ignore_eos=True, lookup_tokens=lookup_tokens, **fields
                )
                runner.generate(prompt, config)
                first = runner.generated_tokens
                runner.generate(ids("and"), config)
                found.append((first, runner.generated_tokens, runner.position))
            assert found[0] == found[1] == found[2]
            assert len(found[0][0]) == 60


def test_look_up_needs_all_logits(tmp_path: Path) -> None:
    runner = TextLLMRunner(str(make(tmp_path)), str(write_tokenizer(tmp_path / "tokenizer.json")))
    with pytest.raises(ExecuTorchError, match=r"export it with debug\.generate_full_logits=true"):
        runner.generate(
            "abcabcabc" * 3, GenerationConfig(max_new_tokens=60, temperature=0.0, lookup_tokens=4, ignore_eos=True)
        )
    with pytest.raises(ExecuTorchError, match="lookup_tokens is -1"):
        runner.generate("a", GenerationConfig(lookup_tokens=-1))


def test_a_restored_session_goes_on(files: tuple[str, str], tmp_path: Path) -> None:
    """Another runner generates exactly the tokens of the conversation that was never saved."""
    runner = TextLLMRunner(*files)
    runner.generate(PROMPT, greedy(9))
    session = tmp_path / "chat.session"
    runner.save_session(str(session))
    assert session.stat().st_mode & 0o777 == 0o600
    position = runner.position
    config = GenerationConfig(echo=False, max_new_tokens=20, temperature=1.5, seed=11, ignore_eos=True)
    runner.generate(" and then", config)
    wanted, text = runner.generated_tokens, runner.generate_text("", greedy(5, ignore_eos=True))
    for other in (runner, TextLLMRunner(*files)):
        other.load_session(str(session))
        assert other.position == position
        other.generate(" and then", config)
        assert other.generated_tokens == wanted
        assert other.generate_text("", greedy(5, ignore_eos=True)) == text
    # A snapshot also keeps the token that prefill() predicted, and there are snapshots of an empty conversation.
    runner.reset()
    predicted = runner.prefill("abc")
    runner.save_session(str(session))
    other = TextLLMRunner(*files)
    other.load_session(str(session))
    other.generate("", greedy(3, ignore_eos=True))
    assert other.generated_tokens[0] == predicted
    runner.reset()
    runner.save_session(str(session))
    other.load_session(str(session))
    assert other.position == 0


def test_the_logits_are_the_same_bits(files: tuple[str, str], tmp_path: Path) -> None:
    """A logit whose last bit differs would change one of these 60 draws at a high temperature."""
    runner, other = TextLLMRunner(*files), TextLLMRunner(*files)
    runner.prefill(PROMPT)
    runner.save_session(str(tmp_path / "s"))
    other.load_session(str(tmp_path / "s"))
    config = GenerationConfig(echo=False, max_new_tokens=60, temperature=5.0, top_p=1.0, seed=2, ignore_eos=True)
    for each in (runner, other):
        each.generate("go", config)
    assert runner.generated_tokens == other.generated_tokens


def with_nan(whole: bytes) -> bytes:
    """The session with NaN in every element of its buffers, and with the hash that matches the new bytes."""
    at = 48 + 8 * struct.unpack_from("<Q", whole, 40)[0] + 16
    at += 8 + struct.unpack_from("<Q", whole, at)[0]  # text
    count = struct.unpack_from("<Q", whole, at)[0]
    body, at = bytearray(whole[: at + 8]), at + 8
    for _ in range(count):
        start = at
        at += 8 + struct.unpack_from("<Q", whole, at)[0]
        size = struct.unpack_from("<Q", whole, at)[0]
        body += whole[start : at + 8]
        blocks, at = -(-size // 4096), at + 8
        used = int.from_bytes(whole[at : at + -(-blocks // 8)], "little")
        at += -(-blocks // 8) + sum(min(4096, size - 4096 * i) for i in range(blocks) if used >> i & 1)
        body += b"\xff" * -(-blocks // 8) + struct.pack("<f", float("nan")) * (size // 4)
    assert at == len(whole) - 32
    return bytes(body) + hashlib.sha256(body).digest()


def test_a_new_conversation_knows_nothing_of_a_restored_session(tmp_path: Path) -> None:
    """A file with a valid hash may have NaN at positions without tokens. A new conversation overwrites only a part of a
    cache, and attention without `model.use_sdpa_with_kv_cache` reads all of it."""
    runner = TextLLMRunner(*exported(tmp_path))
    runner.generate(PROMPT, greedy(9))
    expected = runner.generated_tokens
    runner.save_session(str(tmp_path / "s"))
    (tmp_path / "s").write_bytes(with_nan((tmp_path / "s").read_bytes()))
    runner.load_session(str(tmp_path / "s"))
    runner.reset()
    runner.generate(PROMPT, greedy(9))
    assert runner.generated_tokens == expected


def test_files_that_cannot_be_used(files: tuple[str, str], tmp_path: Path) -> None:
    """Each is refused, and the conversation does not change."""
    runner = TextLLMRunner(*files)
    runner.generate(PROMPT, greedy(4))
    position = runner.position
    session = tmp_path / "chat.session"
    runner.save_session(str(session))
    whole = session.read_bytes()
    torch.manual_seed(0)
    for cut in (0, 4, 8, 60, len(whole) // 2, len(whole) - 1):
        session.write_bytes(whole[:cut])
        with pytest.raises(ExecuTorchError, match=r"is not a session|is truncated or was changed"):
            runner.load_session(str(session))
    for at in torch.randint(8, len(whole), (10,)).tolist():
        changed = bytearray(whole)
        changed[at] ^= 16
        session.write_bytes(changed)
        with pytest.raises(ExecuTorchError, match="is truncated or was changed"):
            runner.load_session(str(session))
    with pytest.raises(ExecuTorchError, match="cannot be opened"):
        runner.load_session(str(tmp_path / "none"))
    with pytest.raises(ExecuTorchError, match="cannot be written"):
        runner.save_session(str(tmp_path / "no folder" / "s"))

    def signed(tokens: Sequence[int], pending: int) -> bytes:
        """The session with other tokens, and with the hash that matches the new bytes."""
        count = struct.unpack_from("<Q", whole, 40)[0]
        rest = whole[48 + 8 * count + 8 : -32]
        body = whole[:40] + struct.pack(f"<{len(tokens) + 2}Q", len(tokens), *tokens, pending) + rest
        return body + hashlib.sha256(body).digest()

    # A valid hash allows neither more tokens than the context has nor tokens outside of the vocabulary.
    for tokens, pending, words in (
        ([1] * 129, 1, r"the session has 130 tokens, and the program's context at most 128"),
        ([1] * 128, 1, r"the session has 129 tokens"),
        ([1, 1 << 40], 1, r"token 1099511627776 is not one of the program's"),
        ([1], 1 << 40, r"token 1099511627776 is not one of the program's"),
        ([], (1 << 64) - 3, r"is not one of the program's"),
        ([1], (1 << 64) - 1, r"is not one of the program's"),
    ):
        session.write_bytes(signed(tokens, pending))
        with pytest.raises(ExecuTorchError, match=words):
            runner.load_session(str(session))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ExecuTorchError, match="not a regular file"):
        runner.load_session(str(tmp_path / "pipe"))
    assert runner.position == position
    session.write_bytes(whole)
    runner.load_session(str(session))
    assert runner.position == position
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    other = TextLLMRunner(*exported(other_folder, "export.max_seq_length=64"))
    with pytest.raises(ExecuTorchError, match="is a session of another program"):
        other.load_session(str(session))
    other.generate("a", greedy(2))
    (tmp_path / "plain").mkdir()
    plain = TextLLMRunner(str(make(tmp_path / "plain")), files[1])
    with pytest.raises(ExecuTorchError, match="has no identity"):
        plain.save_session(str(tmp_path / "plain" / "s"))
