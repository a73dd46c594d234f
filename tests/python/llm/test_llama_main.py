# SPDX-License-Identifier: BSD-3-Clause
"""The sample runner for language models, as a command."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from language_models import ARCHITECTURES, small
from test_checkpoints import write_gguf
from test_runner import PROMPT, make, write_tokenizer
from test_tokenizer_files import tiktoken_file

from sdk.extension.llm.export.export_llm import export
from sdk.extension.llm.runner import GenerationConfig, TextLLMRunner
from sdk.extension.llm.tokenizers import TiktokenTokenizer

# SDK_LLAMA_MAIN: another llama_main, or the command of an emulator with one.
BUILT = Path(__file__).parents[3] / "build" / "package" / "examples" / "models" / "llama" / "llama_main"
RUNNER = shlex.split(os.environ.get("SDK_LLAMA_MAIN", str(BUILT)))
pytestmark = pytest.mark.skipif(not Path(RUNNER[-1]).exists(), reason="llama_main is not built")


def run(*arguments: str, level: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "ET_LOG_LEVEL"}
    if level is not None:
        environment["ET_LOG_LEVEL"] = level
    return subprocess.run([*RUNNER, *arguments], capture_output=True, text=True, env=environment, timeout=60)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("model")
    tokenizer = write_tokenizer(folder / "tokenizer.json")
    return [f"--model_path={make(folder)}", f"--tokenizer_path={tokenizer}"]


def test_text_and_report(model: list[str]):
    """LR-13, RPI-07, VK-15: the command prints the prompt, its continuation, and a line with counts and times."""
    result = run(
        *model, "--prompt", PROMPT, "--seq_len", "60", "--temperature=0", "--warmup=true", "--cpu_threads", "1"
    )
    assert (result.returncode, result.stderr) == (0, "")
    runner = TextLLMRunner(*(argument.split("=", 1)[1] for argument in model))
    text, report = result.stdout.rsplit("\nPyTorchObserver ", 1)
    assert text == runner.generate_text(PROMPT, GenerationConfig(seq_len=60, temperature=0.0))
    counts = json.loads(report)
    assert counts["prompt_tokens"] == len(PROMPT)
    assert counts["generated_tokens"] == len(runner.generated_tokens)
    assert counts["SCALING_FACTOR_UNITS_PER_SECOND"] == 1000


def test_quantised_weights(tmp_path: Path):
    """QNT-07: 4-bit blocks give the same text with the kernels of the emulated processor and of this machine."""
    model = small(**ARCHITECTURES["llama"])
    checkpoint = write_gguf(tmp_path / "model.gguf", model, "llama", "Q4_1")
    settings = ["model.use_kv_cache=true", "model.use_sdpa_with_kv_cache=true", "export.max_seq_length=32"]
    program = export(None, [f"base.checkpoint={checkpoint}", *settings, f"export.output_dir={tmp_path}"])
    tokenizer = write_tokenizer(tmp_path / "tokenizer.json")
    arguments = ["--prompt", PROMPT, "--max_new_tokens=30", "--temperature=0", "--noecho", "--cpu_threads=1"]
    result = run(f"--model_path={program}", f"--tokenizer_path={tokenizer}", *arguments)
    assert result.returncode == 0, result.stderr
    expected = TextLLMRunner(str(program), str(tokenizer)).generate_text(
        PROMPT, GenerationConfig(max_new_tokens=30, temperature=0.0, echo=False)
    )
    assert len(expected) == 30 and result.stdout.rsplit("\nPyTorchObserver", 1)[0] == expected


def test_a_tokenizer_of_tiktoken(tmp_path: Path):
    """VK-16, RPI-10: a tokenizer.model of tiktoken. The content shows the format, so no error is logged first."""
    path = tiktoken_file(tmp_path)
    size = TiktokenTokenizer(path).n_words
    params = {"dim": 32, "n_layers": 1, "n_heads": 2, "vocab_size": size, "hidden_dim": 32}
    (tmp_path / "params.json").write_text(json.dumps(params))
    settings = [f"base.params={tmp_path / 'params.json'}", "model.use_kv_cache=true", f"export.output_dir={tmp_path}"]
    program = export(None, settings)
    arguments = ["--temperature=0", "--seq_len=40", "--warmup", f"--prompt={PROMPT}"]
    result = run(f"--model_path={program}", f"--tokenizer_path={path}", *arguments)
    assert (result.returncode, result.stderr) == (0, "")
    expected = TextLLMRunner(str(program), path).generate_text(PROMPT, GenerationConfig(seq_len=40, temperature=0.0))
    assert result.stdout.rsplit("\nPyTorchObserver", 1)[0] == expected


def test_the_tokenizer_inside_the_program(model: list[str], tmp_path: Path):
    """The tokenizer inside is used without --tokenizer_path. A program without a tokenizer needs tokenizer.bin."""
    checkpoint = write_gguf(
        tmp_path / "model.gguf",
        small(**ARCHITECTURES["llama"]),
        "llama",
        "Q4_1",
        tokenizer_model="gpt2",
        tokenizer_pre="gpt-2",
        token_list=["<s>", "</s>", "ab", *map(chr, range(ord("a"), ord("z") + 1)), *(f"<{i}>" for i in range(67))],
        token_types=[3, 3, *[1] * 94],
        token_merges=["a b"],
        bos_token_id=0,
        eos_token_id=1,
    )
    settings = ["model.use_kv_cache=true", "export.embed_tokenizer=true", f"export.output_dir={tmp_path}"]
    program = export(None, [f"base.checkpoint={checkpoint}", *settings])
    arguments = ["--prompt=abc", "--max_new_tokens=8", "--temperature=0", "--noecho", "--cpu_threads=1"]
    result = run(f"--model_path={program}", *arguments)
    assert (result.returncode, result.stderr) == (0, "")
    expected = TextLLMRunner(str(program)).generate_text(
        "abc", GenerationConfig(max_new_tokens=8, temperature=0.0, echo=False)
    )
    assert result.stdout.rsplit("\nPyTorchObserver", 1)[0] == expected
    result = run(model[0], *arguments)
    assert result.returncode == 1
    assert "the program has no tokenizer inside, and --tokenizer_path names none: tokenizer.bin" in result.stderr


def test_flags(model: list[str], tmp_path: Path):
    prompt = tmp_path / "prompt.txt"
    prompt.write_text(PROMPT)
    sampled = ["--noecho", "--max_new_tokens=8", "--temperature=2", "--top_p=1", "--seed=18446744073709551615"]
    texts = [run(*model, f"--prompt_file={prompt}", *sampled).stdout.split("\nPyTorchObserver")[0] for _ in range(2)]
    assert texts[0] == texts[1]
    other = run(*model, f"--prompt_file={prompt}", *sampled[:-1], "--seed=2").stdout.split("\nPyTorchObserver")[0]
    assert other != texts[0]
    stopped = run(*model, f"--prompt_file={prompt}", *sampled, "--stop", texts[0][3]).stdout
    assert stopped.split("\nPyTorchObserver")[0] == texts[0][: texts[0].index(texts[0][3])]


def test_help_and_logs(model: list[str]):
    """LR-13, RPI-11: --help names the flags, and --verbose or ET_LOG_LEVEL log more."""
    text = run("--help").stdout
    for flag in ("model_path", "tokenizer_path", "seq_len", "prompt", "temperature", "cpu_threads", "verbose", "help"):
        assert f"--{flag}" in text
    arguments = [*model, "--prompt=x", "--max_new_tokens=2"]
    assert run(*arguments).stderr == ""
    assert "Time to first generated token" in run(*arguments, level="Info").stderr
    assert "Time to first generated token" in run(*arguments, "--verbose").stderr


def test_the_log_has_the_statistics(model: list[str]):
    """VK-17: the command prints the documented lines after the report, with rates in tokens per second."""
    result = run(*model, f"--prompt={PROMPT}", "--max_new_tokens=40", "--temperature=0", "--ignore_eos", "--verbose")
    counts = json.loads(result.stdout.rsplit("\nPyTorchObserver ", 1)[1])
    prompt, generated = len(PROMPT), counts["generated_tokens"]
    assert counts["prompt_tokens"] == prompt and generated == 40

    def number(pattern: str) -> tuple[float, ...]:
        match = re.search(pattern.replace(" NUMBER", r"\s+([\d.]+)"), result.stderr)
        assert match is not None, pattern
        return tuple(float(group) for group in match.groups())

    seconds = {name: counts[name] / 1000 for name in counts if name.endswith("_ms")}
    assert number("Prompt Tokens: NUMBER    Generated Tokens: NUMBER") == (prompt, generated)
    (loading,) = number(r"Model Load Time: NUMBER \(seconds\)")
    assert loading == pytest.approx(seconds["model_load_end_ms"] - seconds["model_load_start_ms"], abs=1e-4)
    for what, tokens, first, last in (
        ("Total inference time", generated, "inference_start_ms", "inference_end_ms"),
        ("Prompt evaluation", prompt, "inference_start_ms", "prompt_eval_end_ms"),
        (f"Generated {generated} tokens", generated, "prompt_eval_end_ms", "inference_end_ms"),
    ):
        time, rate = number(rf"{what}: NUMBER \(seconds\)\s+Rate: NUMBER \(tokens/second\)")
        assert time == pytest.approx(seconds[last] - seconds[first], abs=1e-4)
        assert rate == pytest.approx(tokens / time if time else 0, rel=1e-3)
    (first,) = number(r"Time to first generated token: NUMBER \(seconds\)")
    assert first == pytest.approx(seconds["first_token_ms"] - seconds["inference_start_ms"], abs=1e-4)
    (sampling,) = number(rf"Sampling time over {prompt + generated} tokens: NUMBER \(seconds\)")
    assert sampling == pytest.approx(seconds["aggregate_sampling_time_ms"], abs=1e-4)


def test_errors(model: list[str], tmp_path: Path):
    assert "unknown option '--modelpath=x'; did you mean --model_path?" in run("--modelpath=x").stderr
    assert "--seq_len: expected a whole number, found '1.5'" in run("--seq_len=1.5").stderr
    assert run("--seq_len=x").returncode == 2
    result = run("--model_path=/none.pte", model[1])
    assert (result.returncode, "/none.pte" in result.stderr) == (1, True)
    result = run(model[0], "--tokenizer_path=/none.json")
    assert (result.returncode, "the tokenizer cannot be loaded: " in result.stderr) == (1, True)
    result = run(*model, "--prompt", "x" * 200)
    assert (result.returncode, "the prompt is too long: it has 200 tokens" in result.stderr) == (1, True)
    for file in ("/none.txt", str(tmp_path)):
        result = run(*model, f"--prompt_file={file}")
        assert (result.returncode, f"{file} cannot be read" in result.stderr) == (1, True)
