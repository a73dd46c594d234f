# SPDX-License-Identifier: BSD-3-Clause
"""`sdk llm`: from a checkpoint to text."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from language_models import ARCHITECTURES, small
from test_checkpoints import write_gguf

from sdk.__main__ import main
from sdk.command import memory
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.extension.llm.export.exporter import make_model
from sdk.extension.llm.export.gguf import GGUFFile
from sdk.extension.llm.export.gguf.tokenizer import gguf_tokenizer
from sdk.extension.llm.export.settings import read_settings
from sdk.extension.llm.runner import GenerationConfig, SamplingConfig, TextLLMEngine, TextLLMRunner
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
    session = TextLLMEngine(str(output)).create_session()
    session.prefill_tokens([TOKENS.index("ab"), TOKENS.index("Ġa")])
    greedy = SamplingConfig(temperature=0)
    assert [session.decode_one(greedy).token_id for _ in runner.generated_tokens] == runner.generated_tokens
    plain = ["--set", "export.embed_tokenizer=false"]
    assert main(["llm", "export", str(checkpoint), "-o", str(output), *plain]) == 0
    for kind in (TextLLMRunner, TextLLMEngine):
        with pytest.raises(RuntimeError, match="has no tokenizer inside: pass the path of one"):
            kind(str(output))


@pytest.fixture(scope="module")
def program(checkpoint: Path) -> Path:
    output = checkpoint.parent / "program.pte"
    full = ["--set", "debug.generate_full_logits=true"]
    assert main(["llm", "export", str(checkpoint), "-o", str(output), "--chunk", "32", *full]) == 0
    return output


def eager_logits(checkpoint: Path, tokens: list[int]) -> torch.Tensor:
    """[tokens, vocabulary], by the model itself."""
    lengths = ["export.max_seq_length=256", "export.max_context_length=256"]
    settings = [f"base.checkpoint={checkpoint}", "debug.generate_full_logits=true", *lengths]
    with torch.no_grad():
        logits: torch.Tensor = make_model(read_settings(None, settings))(torch.tensor([tokens]))
    return logits[0]


def generated_from(runner: TextLLMRunner, tokens: list[int]) -> list[int]:
    """Returns what follows a prompt of tokens in a new conversation."""
    runner.reset()
    counts: list[int] = []
    config = GenerationConfig(max_new_tokens=9, temperature=0, echo=False)
    runner.generate(tokens, config, stats_callback=lambda stats: counts.append(stats.num_prompt_tokens))
    assert counts == [len(tokens)]
    generated = runner.generated_tokens
    runner.generate_from_pos(tokens[1:], 1, config)
    assert runner.generated_tokens == generated
    return generated


def test_the_prompt_is_timed(program: Path, capsys: pytest.CaptureFixture) -> None:
    """The time of the prompt is part of the run: it grows with the prompt. The shortest of several runs counts, because
    other processes delay some."""
    arguments = ["llm", "run", str(program), "--raw", "--temperature", "0", "--max-new-tokens", "1", "--json"]
    times: dict[int, list[int]] = {1: [], 240: []}
    for length in (1, 240) * 4:
        assert main([*arguments, "--prompt", "a" * length]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["prompt_tokens"] == found["stats"]["prompt_tokens"] == length
        times[length].append(found["stats"]["prompt_eval_end_ms"] - found["stats"]["model_execution_start_ms"])
    assert min(times[240]) > min(times[1])


def test_run_prints_what_eager_continues(program: Path, checkpoint: Path, capsys: pytest.CaptureFixture) -> None:
    arguments = ["llm", "run", str(program), "--raw", "--prompt", "ab a", "--temperature", "0", "--max-new-tokens", "9"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    prompt = [TOKENS.index("ab"), TOKENS.index("Ġa")]
    tokens = list(prompt)
    for _ in range(9):
        tokens.append(int(eager_logits(checkpoint, tokens)[-1].argmax()))
    runner = TextLLMRunner(str(program))
    runner.generate_text("ab a", GenerationConfig(max_new_tokens=9, temperature=0))
    assert runner.generated_tokens == tokens[2:]
    assert (found["prompt_tokens"], found["generated_tokens"]) == (2, 9)
    stats = found["stats"]
    assert (stats["prompt_tokens"], stats["generated_tokens"]) == (2, 9)
    assert 0 < stats["inference_start_ms"] <= stats["prompt_eval_end_ms"] <= stats["inference_end_ms"]
    assert runner.generated_tokens == generated_from(runner, prompt)
    assert main(arguments) == 0
    assert capsys.readouterr().out.rstrip("\n") == found["text"]


def test_run_follows_a_grammar(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """The answer follows the grammar in a file, whose extension is its type. An error names the place in it."""
    for name, grammar in (("a.regex", "(ab){3}\n"), ("a.gbnf", 'root ::= "abab" "ab"'), ("a.lark", 'start: "ababab"')):
        path = tmp_path / name
        path.write_text(grammar)
        assert main(["llm", "run", str(program), "--raw", "--prompt", "b", "--grammar", str(path)]) == 0
        assert capsys.readouterr().out == "ababab\n"
    path.write_text("start: x")
    assert main(["llm", "run", str(program), "--raw", "--prompt", "b", "--grammar", str(path)]) == 1
    assert "line 1, column 8" in capsys.readouterr().err


def test_run_answers_through_the_template(program: Path, capsys: pytest.CaptureFixture) -> None:
    arguments = ["--temperature", "0", "--max-new-tokens", "5", "--json"]
    assert main(["llm", "run", str(program), "--prompt", "ab", "--system", "b", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["llm", "run", str(program), "--raw", "--prompt", "b<|end|>ab<|end|>", *arguments]) == 0
    raw = json.loads(capsys.readouterr().out)
    assert (found["text"], found["prompt_tokens"]) == (raw["text"], raw["prompt_tokens"])


def test_chat_keeps_the_conversation(
    program: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer equals the answer to the whole conversation so far."""
    arguments = ["--temperature", "0", "--max-new-tokens", "4", "--json"]
    monkeypatch.setattr("sys.stdin", io.StringIO("ab\n\na\n/reset\na\n/exit\nb\n"))
    assert main(["llm", "chat", str(program), *arguments]) == 0
    decoder, text, answers = json.JSONDecoder(), capsys.readouterr().out.strip(), []
    while text:
        answer, end = decoder.raw_decode(text)
        answers.append(answer["content"])
        text = text[end:].lstrip()
    conversations = [["ab"], ["ab", answers[0], "a"], ["a"]]
    for messages, answer in zip(conversations, answers, strict=True):
        prompt = "".join(f"{message}<|end|>" for message in messages)
        assert main(["llm", "run", str(program), "--raw", "--prompt", prompt, *arguments]) == 0
        assert json.loads(capsys.readouterr().out)["text"] == answer


def answers_of(text: str) -> list[str]:
    """The answers that `sdk llm chat --json` printed."""
    decoder, found, text = json.JSONDecoder(), [], text.strip()
    while text:
        answer, end = decoder.raw_decode(text)
        found.append(answer["content"])
        text = text[end:].lstrip()
    return found


def test_chat_forgets_the_oldest_messages(
    program: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a context of 256 tokens, each answer equals the answer to the messages that fit. The last always fit."""
    arguments = ["--temperature", "0", "--max-new-tokens", "8", "--json"]
    messages = [letter * 60 for letter in "abcdefgh"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(messages)))
    assert main(["llm", "chat", str(program), "--system", "s", *arguments]) == 0
    captured = capsys.readouterr()
    answers = answers_of(captured.out)
    assert len(answers) == len(messages)
    assert "the model has forgotten the oldest 2 messages; /reset begins anew" in captured.err
    runner = TextLLMRunner(str(program))
    turns = [f"{message}<|end|>{answer}<|end|>" for message, answer in zip(messages, answers, strict=True)]
    last = f"{messages[-1]}<|end|>"
    prompts = [f"s<|end|>{''.join(turns[first:-1])}{last}" for first in range(len(turns))]
    prompt = next(prompt for prompt in prompts if len(runner.encode(prompt, add_bos=False)) + 8 <= 256)
    assert prompt != prompts[0] and len(runner.encode(prompts[0], add_bos=False)) > 256
    assert main(["llm", "run", str(program), "--raw", "--prompt", prompt, *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == answers[-1]


def test_a_message_that_does_not_fit_alone(
    program: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a" * 300))
    assert main(["llm", "chat", str(program), "--system", "s"]) == 2
    assert "tokens with what belongs to it, and the context has 256: shorten it" in capsys.readouterr().err


def test_eval_is_the_perplexity_of_eager(
    program: Path, checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("ab abc a b xyz" * 9)
    assert main(["llm", "eval", str(program), "--text", str(text), "--window", "40", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    tokens = TextLLMRunner(str(program)).encode(text.read_text())
    losses: list[float] = []
    for at in range(0, len(tokens) - 1, 40):
        part = tokens[at : at + 40]
        logits = torch.log_softmax(eager_logits(checkpoint, part), dim=-1)
        losses += [-float(logits[i, token]) for i, token in enumerate(part[1:])]
    assert found["tokens"] == len(losses)
    assert found["perplexity"] == pytest.approx(math.exp(sum(losses) / len(losses)), rel=1e-3)


def test_a_chunk_is_not_longer_than_the_context(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    output = tmp_path / "out.pte"
    assert main(["llm", "export", str(checkpoint), "-o", str(output), "--context", "16", "--chunk", "32"]) == 2
    assert "--chunk: 32 tokens of a call do not fit into the context of 16" in capsys.readouterr().err
    assert not output.exists()


def test_bench_measures(program: Path, capsys: pytest.CaptureFixture) -> None:
    arguments = ["--prompt-tokens", "40", "--new-tokens", "8", "--rounds", "2"]
    assert main(["llm", "bench", str(program), *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for name in ("prefill_tokens_per_second", "decode_tokens_per_second"):
        assert 0 < found[name]["min"] <= found[name]["median"] <= found[name]["max"]
    assert found["file_bytes"] == program.stat().st_size
    assert found["peak_memory_bytes"] > found["file_bytes"]
    assert main(["llm", "bench", str(program), *arguments]) == 0
    assert "decode" in capsys.readouterr().out


def test_bench_where_the_system_does_not_say_the_memory(
    program: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows has neither the module `resource` nor /proc."""
    monkeypatch.setattr(memory, "_PROC", Path("nosuch"))
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.delitem(sys.modules, "sdk.llm._bench", raising=False)
    arguments = ["--prompt-tokens", "8", "--new-tokens", "4", "--rounds", "1"]
    assert main(["llm", "bench", str(program), *arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["peak_memory_bytes"] is None
    assert main(["llm", "bench", str(program), *arguments]) == 0
    assert "memory   not known on this system (file: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nosuch.pte", "--prompt", "a"], "there is no file `nosuch.pte`"),
        (["run", "PROGRAM", "--prompt", "", "--raw"], "--prompt: the text has no tokens"),
        (["run", "PROGRAM", "--prompt", "a", "--raw", "--system", "b"], "--system needs the chat template"),
        (
            ["run", "PROGRAM", "--prompt", "a", "--temperature", "-0.5"],
            "argument --temperature: expected a number from 0 up, found `-0.5`",
        ),
        (["chat", "PROGRAM", "--temperature", "nan"], "--temperature: expected a number from 0 up, found `nan`"),
        (["run", "PROGRAM", "--prompt", "a", "--top-p", "1.5"], "--top-p: expected a number from 0 to 1, found `1.5`"),
        (["run", "PROGRAM", "--prompt", "a", "--min-p", "-1"], "--min-p: expected a number from 0 to 1, found `-1`"),
        (["run", "PROGRAM", "--prompt", "a", "--repetition-penalty", "0"], "--repetition-penalty: expected a number"),
        (
            ["run", "PROGRAM", "--prompt", "a", "--grammar", "text.txt"],
            "`text.txt` ends in '.txt'; expected one of .json,",
        ),
        (["run", "PROGRAM", "--prompt", "a", "--grammar", "no.json"], "no.json"),
        (["run", "PROGRAM"], "one of the arguments --prompt --prompt-file is required"),
        (["run", "text.txt", "--prompt", "a"], "`text.txt`: expected a program (.pte), found 5 bytes"),
        (["run", "x.gguf", "--prompt", "a"], "`x.gguf`: expected a program (.pte), found a GGUF file"),
        (["run", "PROGRAM", "--data", "x.gguf", "--prompt", "a"], "expected external data (.ptd), found a GGUF file"),
        (["chat", "PROGRAM", "--tokenizer", "x.gguf"], "x.gguf"),
        (["bench", "PROGRAM", "--prompt-tokens", "250", "--new-tokens", "8"], "do not fit into the context of 256"),
        (["eval", "PROGRAM", "--text", "text.txt", "--window", "999"], "--window: 999 is more than the context of 256"),
        (["eval", "PROGRAM", "--text", "one.txt"], "--text: the text has 1 tokens; expected at least 2"),
    ],
)
def test_what_is_wrong_with_a_command_is_one_line(
    arguments: list[str],
    message: str,
    program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("ab ab")
    Path("one.txt").write_text("a")
    Path("x.gguf").write_bytes(b"GGUF" + bytes(60))
    try:
        status = main(["llm", *(str(program) if argument == "PROGRAM" else argument for argument in arguments)])
    except SystemExit as ended:
        status = int(ended.code or 0)
    assert status == 2
    captured = capfd.readouterr()
    assert captured.out == "" and f"sdk llm {arguments[0]}: " in captured.err and message in captured.err
    assert "RuntimeError" not in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.gguf", "-o", "a.pte"], "there is no file or folder `missing.gguf`; expected a .gguf file, a folder"),
        (["MODEL", "-o", "a.bin"], "--output: expected a file that ends in .pte, found `a.bin`"),
        (["MODEL", "-o", "a.pte", "--context", "512"], "--context: 512 is more than the 256 positions that the model"),
        (["MODEL", "-o", "a.pte", "--backend", "nosuch"], "nosuch"),
        (["MODEL", "-o", "a.pte", "--set", "model.nosuch=1"], "nosuch"),
        ([".", "-o", "a.pte"], "`.` is not a model: a folder of Hugging Face's form has a config.json"),
        (["a.txt", "-o", "a.pte"], "expected a .gguf file or a folder, found `a.txt`"),
        (
            ["bad.gguf", "-o", "a.pte"],
            "`bad.gguf` is not a GGUF file: expected GGUF as its first 4 bytes, found",
        ),
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
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("export", "run", "chat", "bench", "eval", "turn a checkpoint"))
    assert main(["llm", "nosuch"]) == 2
    assert "there is no command `nosuch`; the commands are: export, run" in capsys.readouterr().err
