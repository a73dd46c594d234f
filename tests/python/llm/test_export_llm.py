# SPDX-License-Identifier: BSD-3-Clause
"""`python -m sdk.extension.llm.export.export_llm`: programs that generate what eager does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from language_models import ARCHITECTURES, both, small
from test_checkpoints import saved, write_gguf

import forked
from declared import default
from sdk.extension.llm.export.export_llm import export, parse_config_arg, pop_config_arg
from sdk.extension.llm.export.exporter import make_model
from sdk.extension.llm.export.settings import SettingsError, read_settings
from sdk.runtime import Runtime

COMMAND = ["-m", "sdk.extension.llm.export.export_llm"]
CACHED = ["model.use_kv_cache=true", "export.max_seq_length=16", "export.max_context_length=40"]


def generated(call: Any, prompt: list[int], count: int) -> tuple[list[int], torch.Tensor]:
    """The most likely tokens after a prompt, one call each, and the logits of the last call."""
    tokens, position, found = prompt, 0, []
    for _ in range(count):
        logits = call(torch.tensor([tokens]), torch.tensor([position]))
        position += len(tokens)
        tokens = [int(logits[0].argmax())]
        found += tokens
    return found, logits


def check(path: Path, arguments: list[str], tolerance: float = 1e-4) -> Any:
    """Exports, and compares what the program and the eager model generate."""
    name = default().name
    written = export(None, [*arguments, f"export.output_dir={path}", f"backend.{name}.enabled=true"])
    program = Runtime.get().load_program(written)
    method = program.load_method("forward")
    model = make_model(read_settings(None, arguments))
    with torch.no_grad():
        expected, logits = generated(lambda tokens, at: model(tokens, {"input_pos": at}), [5, 17, 80, 3], 12)
    found, found_logits = generated(lambda tokens, at: method.execute([tokens, at])[0], [5, 17, 80, 3], 12)
    assert found == expected
    torch.testing.assert_close(found_logits, logits, rtol=tolerance, atol=tolerance)
    return program


def value(program: Any, method: str) -> Any:
    (found,) = program.load_method(method).execute([])
    return found


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    [
        "llama3",
        "llama_dynamic",
        "llama_yarn",
        "llama_with_biases",
        "mistral",
        "qwen2_with_windows",
        "qwen3",
        "qwen3_moe",
        "smollm3",
        "granite",
        "olmo2",
        "gemma2",
        "gemma3",
        "lfm2",
    ],
)
def test_folders_are_exported(name: str, tmp_path: Path):
    """LE-01, LE-04, LE-06, LE-08: the program has the metadata that runners read."""
    theirs, _ = both(name)
    folder = saved(theirs, tmp_path)
    metadata = json.dumps({"get_bos_id": 7, "get_eos_ids": [9, 11]})
    program = check(tmp_path, [f"base.checkpoint={folder}", *CACHED, f"base.metadata='{metadata}'"])
    assert [value(program, method) for method in ("get_max_seq_len", "get_max_context_len", "get_n_layers")] == [
        16,
        40,
        3,
    ]
    assert (value(program, "get_vocab_size"), value(program, "get_bos_id")) == (96, 7)
    assert program.load_method("get_eos_ids").execute([]) == [9, 11]
    assert value(program, "use_kv_cache") is True and value(program, "enable_dynamic_shape") is True


def test_gguf_files_are_exported(tmp_path: Path):
    path = write_gguf(tmp_path / "model.gguf", small(**ARCHITECTURES["llama"]), "llama", "Q4_1")
    check(tmp_path, [f"base.checkpoint={path}", *CACHED], tolerance=1e-2)
    with pytest.raises(SettingsError, match="the checkpoint is quantised already"):
        export(None, [f"base.checkpoint={path}", "quantization.qmode=8da4w", f"export.output_dir={tmp_path}"])


def test_checkpoints_of_meta_are_exported_and_quantised(tmp_path: Path):
    """LE-12, LE-13: linear layers in 4 bits, embeddings in 8."""
    model = small(rope_theta=5e5)
    torch.save({**model.state_dict(), "rope.freqs": torch.zeros(1)}, tmp_path / "consolidated.00.pth")
    params = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 96, "hidden_dim": 128}
    (tmp_path / "params.json").write_text(json.dumps({**params, "rope_theta": 5e5}))
    files = [f"base.checkpoint={tmp_path / 'consolidated.00.pth'}", f"base.params={tmp_path / 'params.json'}"]
    check(tmp_path, [*files, *CACHED])
    whole = (tmp_path / "llama3.pte").stat().st_size
    quantized = ["quantization.qmode=8da4w", "quantization.group_size=32", "quantization.embedding_quantize='8,0'"]
    check(tmp_path, [*files, *CACHED, *quantized], tolerance=2e-2)
    assert (tmp_path / "llama3.pte").stat().st_size < 0.6 * whole


@pytest.mark.parametrize("name, dynamic", [("llama3_2", True), ("static_llama", False)])
def test_llamas_by_their_names(name: str, dynamic: bool, tmp_path: Path):
    """LE-04: `base.model_class` names the program. Calls with static shapes have one token."""
    model = small()
    torch.save(model.state_dict(), tmp_path / "model.pth")
    params = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 96, "hidden_dim": 128}
    (tmp_path / "params.json").write_text(json.dumps(params))
    files = [f"base.checkpoint={tmp_path / 'model.pth'}", f"base.params={tmp_path / 'params.json'}"]
    settings = [f"base.model_class={name}", f"model.enable_dynamic_shape={dynamic}", f"export.output_dir={tmp_path}"]
    written = export(None, [*files, *CACHED, *settings])
    assert Path(written).name == f"{name}.pte"
    program = Runtime.get().load_program(written)
    assert value(program, "enable_dynamic_shape") is dynamic
    method = program.load_method("forward")
    tokens = torch.randint(0, 96, (1, 20), generator=torch.Generator().manual_seed(2))
    steps = [4, 1, 9, 6] if dynamic else [1] * 20
    parts = tokens.split(steps, dim=1)
    with torch.no_grad():
        expected = model(tokens)[0]
    for at, part in zip([0, *torch.tensor(steps).cumsum(0).tolist()], parts, strict=False):
        found = method.execute([part, torch.tensor([at])])[0]
        torch.testing.assert_close(found[0], expected[at + part.shape[1] - 1], rtol=1e-4, atol=1e-4)


def test_libraries_of_operators(tmp_path: Path):
    """`export.so_library` is loaded before the model is read."""
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    with pytest.raises(SettingsError, match=r"base\.params is missing"):
        export(None, [f"export.so_library={library}"])
    assert str(library) in torch.ops.loaded_libraries
    with pytest.raises(SettingsError, match=r"export\.so_library: .*none\.so"):
        export(None, [f"export.so_library={tmp_path / 'none.so'}"])


def test_models_with_images_are_refused():
    with pytest.raises(SettingsError, match="llama3_2_vision reads images, which this version does not export"):
        export(None, ["base.model_class=llama3_2_vision", "base.params=params.json"])


def test_pruned_vocabularies(tmp_path: Path):
    theirs, _ = both("llama")
    folder = saved(theirs, tmp_path)
    (tmp_path / "map.json").write_text(json.dumps({str(row): token for row, token in enumerate(range(0, 96, 2))}))
    with pytest.raises(ValueError, match=r"output.weight has the shape \[96, 48\], expected \[48, 48\]"):
        export(None, [f"base.checkpoint={folder}", f"model.output_prune_map={tmp_path / 'map.json'}"])
    (tmp_path / "map.json").write_text('{"0": "x"}')
    with pytest.raises(SettingsError, match="a prune map has whole numbers only"):
        export(None, [f"base.checkpoint={folder}", f"model.output_prune_map={tmp_path / 'map.json'}"])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["base.use_lora=4"], "not supported in this version: base.use_lora; leave them out"),
        (
            ["base.params=good.json", "quantization.qmode=8da4w-gptq"],
            "quantization.qmode=8da4w-gptq: the GPTQ quantizer that this mode stood for is no longer part of",
        ),
        (["model.expand_rope_table=true"], "not supported in this version: model.expand_rope_table; leave them out"),
        (["base.params=good.json", "base.checkpoint=params.pth"], "params.pth is not a checkpoint of PyTorch: "),
        ([], "base.params is missing"),
        (["base.params=params.json"], r"params.json, line 1, column 2"),
        (["base.checkpoint=model.xyz"], r"expected a .gguf file, or a folder"),
        (["base.checkpoint=missing.gguf"], "No such file"),
        (["export.output_dir=nowhere"], "export.output_dir: nowhere is not a folder"),
        (["base.params=good.json", "base.metadata='{'"], "base.metadata is not JSON: column 2"),
        (["base.params=good.json", "base.metadata='[1]'"], r"must be a JSON object of names and values, found \[1\]"),
        (["base.params=unknown.json"], "these are not fields of ModelArgs: heads"),
    ],
)
def test_what_cannot_be_exported_is_said(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("params.json").write_text("{x")
    Path("params.pth").write_text("{x")
    Path("good.json").write_text(json.dumps({"dim": 8, "n_heads": 2, "hidden_dim": 8, "vocab_size": 4}))
    Path("unknown.json").write_text(json.dumps({"heads": 2}))
    with pytest.raises((ValueError, OSError), match=message):
        export(None, arguments)
    assert not list(Path().glob("*.pte"))


def test_the_command_writes_a_program_or_one_line(tmp_path: Path):
    """LE-01, LE-02: with a YAML file and arguments; status 2 and one line for unusable input."""
    (tmp_path / "params.json").write_text(json.dumps({"dim": 8, "n_heads": 2, "hidden_dim": 8, "vocab_size": 4}))
    (tmp_path / "config.yaml").write_text("base:\n  params: params.json\nexport:\n  output_name: tiny\n")
    command = [*COMMAND, "--config", "config.yaml", "+export.max_context_length=130"]
    run = forked.run(*command, cwd=tmp_path)
    assert (run.returncode, run.stdout.startswith("written: tiny.pte (")) == (0, True), run.stderr
    assert run.stderr == ""  # none of torchao's own messages
    assert (tmp_path / "tiny.pte").stat().st_mode == (tmp_path / "config.yaml").stat().st_mode  # as any file is made
    assert not list(tmp_path.glob("tmp*"))
    run = forked.run(*command, "base.parms=x", cwd=tmp_path)
    assert run.returncode == 2 and "Did you mean: 'params'" in run.stderr.splitlines()[-1]
    run = subprocess.run(
        [sys.executable, *COMMAND, "--help"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert run.returncode == 0 and "[+]group.key=value" in run.stdout


def test_the_names_of_the_original(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["export_llm", "--config", "a.yaml", "+base.model_class=llama3"])
    assert parse_config_arg() == ("a.yaml", ["+base.model_class=llama3"])
    assert pop_config_arg() == "a.yaml"
    assert sys.argv == ["export_llm", "+base.model_class=llama3"]


def test_verbose_prints_what_is_delegated(tmp_path: Path, capsys: pytest.CaptureFixture):
    """DD-16: the export logs a table of delegated operators. Quantised linear layers have a separate row."""
    (tmp_path / "params.json").write_text(
        json.dumps({"dim": 64, "n_layers": 1, "n_heads": 2, "vocab_size": 32, "hidden_dim": 64})
    )
    name = default().name
    settings = [f"base.params={tmp_path / 'params.json'}", "quantization.qmode=8da4w", *CACHED]
    export(None, [*settings, "debug.verbose=true", f"backend.{name}.enabled=true", f"export.output_dir={tmp_path}"])
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines if len(line.split()) == 3}
    assert any(line.startswith("Total delegated subgraphs: ") for line in lines)
    assert rows["aten_linear_default"] == ["8", "0"]  # four of attention, three of the feed-forward layer, the output
    assert rows["torchao_quantize_affine_default"] == ["8", "0"] and int(rows["Total"][0]) > 16


def test_the_memory_plan_is_written(tmp_path: Path):
    """LE-18: the export writes a Chrome trace for each method. Its longest row shows the peak use of the arena, where
    one second stands for one MB."""
    params = {"dim": 64, "n_layers": 1, "n_heads": 2, "vocab_size": 32, "hidden_dim": 64}
    (tmp_path / "params.json").write_text(json.dumps(params))
    settings = [f"base.params={tmp_path / 'params.json'}", *CACHED, f"export.output_dir={tmp_path}"]
    methods = (
        "multimethod.methods=[{method_name: forward, export_seq_len: 8}, {method_name: decode, export_seq_len: 1}]"
    )
    export(None, [*settings, "debug.profile_memory=true", methods])
    widest = {}
    for name in ("memory_profile", "memory_profile_decode"):
        events = json.loads((tmp_path / f"{name}.json").read_text())["traceEvents"]
        widest[name] = max(event["ts"] + event["dur"] for event in events if "dur" in event)
    assert 0 < widest["memory_profile_decode"] < widest["memory_profile"]
    assert widest["memory_profile"] >= 8 * 64 * 4  # activations of 8 tokens
    assert not (tmp_path / "memory_profile_get_vocab_size.json").exists()
