# SPDX-License-Identifier: BSD-3-Clause
"""LLMEngine: several conversations over one program."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from test_runner import PROMPT, VOCABULARY, eager, ids, make, write_tokenizer

from sdk.extension.llm.runner import LLMSession, SamplingConfig, TextLLMEngine
from sdk.extension.pybindings.portable_lib import ExecuTorchError

GREEDY = SamplingConfig(temperature=0.0)
OTHER = "Pack my box with five dozen liquor jugs"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> TextLLMEngine:
    folder = tmp_path_factory.mktemp("engine")
    return TextLLMEngine(str(make(folder, max_seq_length=16)), str(write_tokenizer(folder / "tokenizer.json")))


def decode(session: LLMSession, count: int) -> list[int]:
    return [session.decode_one(GREEDY).token_id for _ in range(count)]


def test_sessions_are_separate(engine: TextLLMEngine, tmp_path: Path):
    """Two conversations, alternately and in two threads, equal those of eager mode."""
    expected = {text: eager(tmp_path, text, 12) for text in (PROMPT, OTHER)}
    sessions = {text: engine.create_session() for text in expected}
    for text, session in sessions.items():
        session.prefill_tokens(ids(text))
    found: dict[str, list[int]] = {text: [] for text in expected}
    for _ in range(12):
        for text, session in sessions.items():
            found[text] += decode(session, 1)
    assert found == expected
    assert sessions[PROMPT].position == len(PROMPT) + 12

    def again(text: str) -> None:
        session = engine.create_session()
        session.prefill_tokens(ids(text))
        found[text] = decode(session, 12)

    threads = [threading.Thread(target=again, args=(text,)) for text in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_capacity(engine: TextLLMEngine):
    """Portable kernels use the weights in place: only memory limits the number of sessions."""
    sessions, size = engine.serving_capacity()
    assert sessions > 1000
    assert size >= 2 * 2 * 128 * 64 // 2 * 4  # 2 caches per layer: positions x (half the heads x their size) in float32
    assert engine.metadata["get_vocab_size"] == VOCABULARY


def test_a_conversation(engine: TextLLMEngine):
    session = engine.create_session()
    with pytest.raises(ExecuTorchError, match="there is no text to continue"):
        session.decode_one(GREEDY)
    session.prefill_tokens(ids(PROMPT[:20]))
    session.prefill_tokens(ids(PROMPT[20:]), GREEDY)
    first = session.decode_one(SamplingConfig(temperature=100.0, seed=3))  # the sampling of prefill still holds
    rest = decode(session, 4)
    session.reset()
    assert session.position == 0
    session.prefill_tokens(ids(PROMPT))
    result = session.decode_one(GREEDY)
    assert (result.token_id, result.text_piece) == (first.token_id, chr(32 + first.token_id))
    assert not result.is_eos
    assert decode(session, 4) == rest
    with pytest.raises(ExecuTorchError, match="token 96 is not one of the program's: it has 96 tokens"):
        session.prefill_tokens([96])
    with pytest.raises(ExecuTorchError, match="has room for 80"):
        session.prefill_tokens([1] * 81)
    session.prefill_tokens([1] * 78)
    session.stop()
    with pytest.raises(ExecuTorchError, match="Cancelled"):
        session.prefill_tokens([1])
    session.prefill_tokens([1])  # the stop ended one call only, and left the context unchanged
    result = session.decode_one(GREEDY)
    assert (result.is_terminal, session.position) == (True, 128)
