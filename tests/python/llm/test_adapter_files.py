# SPDX-License-Identifier: BSD-3-Clause
"""Adapters that become files for a program: `sdk llm adapter` and `write_adapter`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from language_models import small
from safetensors.torch import save_file
from test_checkpoints import write_gguf
from test_export_llm import CACHED
from test_lora import ALPHA, LAYERS, LORA, RANK, adapter, in_pairs
from torch import Tensor

from sdk.__main__ import main
from sdk.command import CommandError
from sdk.exir import schema
from sdk.exir._serialize._flat_tensor import FlatTensorSerializer
from sdk.exir._serialize._program import PTEFile, serialize_pte_binary
from sdk.exir.scalar_type import ScalarType
from sdk.exir.tensor import scalar_type_enum
from sdk.extension.llm.export.adapter_file import write_adapter
from sdk.extension.llm.export.checkpoint import CheckpointError
from sdk.extension.llm.export.export_llm import export
from sdk.extension.llm.model.transformer import Transformer
from sdk.runtime import Runtime


def peft_folder(folder: Path, weights: dict[str, Tensor], **config: Any) -> Path:
    """An adapter as PEFT saves it."""
    folder.mkdir()
    save_file({name: value.contiguous() for name, value in weights.items()}, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({**LORA, **config}))
    return folder


def test_adapters_are_switched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ECO-04: there is one program and one file of weights. Each adapter is a file that is made without exporting
    again. The results equal those of the model whose weights include the adapter."""
    tokens, first = torch.tensor([[5, 17, 80]]), torch.tensor([0])

    def fresh() -> Transformer:
        return small(rope_theta=5e5)

    path = write_gguf(tmp_path / "model.gguf", fresh(), "llama", "F32")
    torch.manual_seed(2)
    own = peft_folder(tmp_path / "own", adapter(fresh()))
    program = export(
        None,
        [
            f"base.checkpoint={path}",
            f"export.output_dir={tmp_path}",
            "export.foundation_weights_file=base.ptd",
            "export.lora_weights_file=own.ptd",
            f"base.lora_config.adapter_checkpoint={own / 'adapter_model.safetensors'}",
            f"base.lora_config.adapter_config={own / 'adapter_config.json'}",
            *CACHED,
        ],
    )

    def run(file: str) -> Tensor:
        loaded = Runtime.get().load_program(program, data_map=[tmp_path / "base.ptd", tmp_path / file])
        return loaded.load_method("forward").execute([tokens, first])[0].clone()

    def wanted(weights: dict[str, Tensor], scale: float) -> Tensor:
        model = fresh()
        for i, layer in enumerate(model.layers):
            for theirs, ours in LAYERS.items():
                name = f"base_model.model.model.layers.{i}.{theirs}.lora_"
                if f"{name}A.weight" not in weights:
                    continue
                product = weights[f"{name}B.weight"] @ weights[f"{name}A.weight"]
                product = in_pairs(product, 16) if ours in ("attention.wq", "attention.wk") else product
                layer.get_submodule(ours).weight.data += scale * product
        with torch.no_grad():
            return model(tokens)[:, -1]

    torch.manual_seed(3)
    others = {
        "same": (adapter(fresh()), {}),
        "smaller": ({n: v[:2] if "lora_A" in n else v[:, :2] for n, v in adapter(fresh()).items()}, {"r": 2}),
        "partly": ({n: v for n, v in adapter(fresh()).items() if "q_proj" in n}, {"target_modules": ["q_proj"]}),
        "louder": (adapter(fresh()), {"lora_alpha": 20}),
    }
    for name, (weights, config) in others.items():
        folder = peft_folder(tmp_path / name, weights, **config)
        command = ["llm", "adapter", str(folder), "--program", str(program), "-o", str(tmp_path / f"{name}.ptd")]
        assert main(command) == 0
        assert "layers)" in capsys.readouterr().out
        scale = config.get("lora_alpha", ALPHA) / config.get("r", RANK)
        torch.testing.assert_close(run(f"{name}.ptd"), wanted(weights, scale), rtol=0, atol=1e-4)
    write_adapter(own, Path(program), tmp_path / "again.ptd")
    assert torch.equal(run("again.ptd"), run("own.ptd"))


def test_adapters_that_a_program_cannot_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = small(rope_theta=5e5)
    path = write_gguf(tmp_path / "model.gguf", model, "llama", "F32")
    weights = adapter(model)
    own = peft_folder(tmp_path / "own", weights)
    common = [f"base.checkpoint={path}", f"export.output_dir={tmp_path}", *CACHED]
    plain = Path(export(None, [*common, "export.output_name=plain.pte"]))
    with pytest.raises(CheckpointError, match=r"plain\.pte: the program has no adapters in a separate file"):
        write_adapter(own, plain, tmp_path / "x.ptd")
    lora = [
        f"base.lora_config.adapter_checkpoint={own / 'adapter_model.safetensors'}",
        f"base.lora_config.adapter_config={own / 'adapter_config.json'}",
    ]
    program = Path(export(None, [*common, *lora, "export.lora_weights_file=own.ptd", "export.output_name=lora.pte"]))
    larger = {n: torch.zeros(8, v.shape[1]) if "lora_A" in n else torch.zeros(len(v), 8) for n, v in weights.items()}
    with pytest.raises(CheckpointError, match=r"lora_a.weight: expected 4 x (64|128) numbers, or fewer in dimension 0"):
        write_adapter(peft_folder(tmp_path / "larger", larger, r=8), program, tmp_path / "x.ptd")
    gate = {name.replace("down_proj", "gate_proj"): value for name, value in weights.items()}
    config = {"target_modules": ["q_proj", "k_proj", "gate_proj"]}
    with pytest.raises(CheckpointError, match=r"no place for layers.0.feed_forward.w1.lora_a.weight: export it with"):
        write_adapter(peft_folder(tmp_path / "gate", gate, **config), program, tmp_path / "x.ptd")
    (own / "adapter_model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"expected adapter_model.safetensors or adapter_model.bin"):
        write_adapter(own, program, tmp_path / "x.ptd")
    output = ["--program", str(program), "-o", str(tmp_path / "x.ptd")]
    for command, message in (
        ([str(own), "--program", str(program), "-o", str(tmp_path / "x.pte")], "expected a file that ends in .ptd"),
        ([str(tmp_path / "none"), *output], "expected a folder with adapter_config.json"),
        ([str(own), *output], "expected adapter_model.safetensors"),
    ):
        assert main(["llm", "adapter", *command]) == 2
        assert message in capsys.readouterr().err


PLACES = {"layers.0.attention.wq.lora_a.weight": [4, 64], "layers.0.attention.wq.lora_b.weight": [64, 4]}
HOW = {"scale": ALPHA / RANK, "use_hf_rope": False, "head_dim": 16}


def program_with(
    path: Path, how: Any = HOW, dtype: ScalarType = ScalarType.FLOAT, places: dict[str, list[int]] = PLACES
) -> Path:
    """A program that names matrices of adapters, as somebody may have edited it."""

    def matrix(name: str, sizes: list[int]) -> schema.EValue:
        info = schema.ExtraTensorInfo(fully_qualified_name=name, location=schema.TensorDataLocation.EXTERNAL)
        tensor = schema.Tensor(
            scalar_type=dtype,
            storage_offset=0,
            sizes=sizes,
            dim_order=list(range(len(sizes))),
            requires_grad=False,
            layout=0,
            data_buffer_idx=0,
            allocation_info=None,
            shape_dynamism=schema.TensorShapeDynamism.STATIC,
            extra_tensor_info=info,
        )
        return schema.EValue(tensor)

    container = schema.ContainerMetadata("", "")
    text = how if isinstance(how, str) else json.dumps(how)
    values = {
        "forward": [matrix(*place) for place in places.items()],
        "get_lora": [schema.EValue(schema.String(text))],
    }
    plans = [
        schema.ExecutionPlan(name, container, found, [], [0] if name == "get_lora" else [], [], [], [], [0])
        for name, found in values.items()
    ]
    program = schema.Program(0, plans, [], [], [], schema.SubsegmentOffsets(0, []))
    path.write_bytes(bytes(serialize_pte_binary(PTEFile(program=program))))
    return path


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_adapters_have_the_dtype_of_the_program(dtype: torch.dtype, tmp_path: Path) -> None:
    program = program_with(tmp_path / "lora.pte", dtype=scalar_type_enum(dtype))
    torch.manual_seed(4)
    a, b = torch.randn(RANK, 64), torch.randn(64, RANK)
    prefix = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
    weights = {f"{prefix}A.weight": a, f"{prefix}B.weight": b}
    config = {"target_modules": ["q_proj"], "lora_alpha": 3 * ALPHA}
    write_adapter(peft_folder(tmp_path / "own", weights, **config), program, tmp_path / "own.ptd")
    read = FlatTensorSerializer().deserialize((tmp_path / "own.ptd").read_bytes())
    for (name, sizes), wanted in zip(PLACES.items(), (a, in_pairs(b, 16) * 3), strict=True):
        entry = read.named_data[name]
        assert entry.tensor_layout is not None
        assert (entry.tensor_layout.scalar_type, entry.tensor_layout.sizes) == (scalar_type_enum(dtype), sizes)
        found = torch.frombuffer(bytearray(read.buffers[entry.buffer_index]), dtype=dtype).reshape(sizes)
        assert torch.equal(found, wanted.to(dtype))
    if dtype == torch.float16:
        large = peft_folder(tmp_path / "large", {name: value * 1e6 for name, value in weights.items()}, **config)
        with pytest.raises(CheckpointError, match=r"lora_a.weight: expected finite numbers of torch.float16"):
            write_adapter(large, program, tmp_path / "large.ptd")
        assert not (tmp_path / "large.ptd").exists()


def test_programs_that_somebody_edited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each edited program is refused before memory is allocated for its tensors."""
    prefix = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
    weights = {f"{prefix}A.weight": torch.randn(RANK, 64), f"{prefix}B.weight": torch.randn(64, RANK)}
    own = peft_folder(tmp_path / "own", weights, target_modules=["q_proj"])
    huge = {**PLACES, "layers.1.attention.wq.lora_a.weight": [100_000, 100_000]}
    wrong: list[tuple[dict[str, Any], str]] = [
        *(({"how": {k: v for k, v in HOW.items() if k != name}}, f"as {name}, found None") for name in HOW),
        *(({"how": text}, "get_lora: expected a JSON object") for text in ("[1]", "3", "{", "[" * 100_000)),
        *(({"how": {**HOW, "scale": value}}, "a positive number as scale") for value in (0, -1, True, "1", math.inf)),
        *(({"how": {**HOW, "head_dim": value}}, "whole number as head_dim") for value in (0, -16, True, 16.0, [16])),
        ({"how": {**HOW, "head_dim": 15}}, "expected whole heads of an even head_dim; the model has head_dim 15"),
        ({"how": {**HOW, "use_hf_rope": 1}}, "true or false as use_hf_rope"),
        ({"dtype": ScalarType.INT}, "expected a matrix of torch.float16 or .*, found torch.int32"),
        ({"places": huge}, "at most 4294967296 bytes, found 40000002048"),
        ({"places": {**PLACES, "layers.1.attention.wq.lora_a.weight": [64]}}, "two positive sizes, found .64."),
        ({"places": {**PLACES, "layers.1.attention.wq.lora_a.weight": [0, 64]}}, "two positive sizes, found .0, 64."),
        ({"places": {**PLACES, "layers.1.attention.wq.lora_a.weight": [-4, -64]}}, "two positive sizes"),
    ]
    for changed, message in wrong:
        program = program_with(tmp_path / "lora.pte", **changed)
        with pytest.raises(CheckpointError, match=message):
            write_adapter(own, program, tmp_path / "x.ptd")
        assert main(["llm", "adapter", str(own), "--program", str(program), "-o", str(tmp_path / "x.ptd")]) == 2
        assert "Traceback" not in capsys.readouterr().err
    assert not (tmp_path / "x.ptd").exists()


def test_an_adapter_is_written_completely_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
    weights = {f"{prefix}A.weight": torch.randn(RANK, 64), f"{prefix}B.weight": torch.randn(64, RANK)}
    own = peft_folder(tmp_path / "own", weights, target_modules=["q_proj"])
    program, output = program_with(tmp_path / "lora.pte"), tmp_path / "own.ptd"
    output.write_bytes(b"before")
    whole = Path.write_bytes

    def half(path: Path, data: bytes) -> int:
        whole(path, data[: len(data) // 2])
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", half)
        with pytest.raises(CommandError, match=r"no space left on device\. Nothing was left behind"):
            write_adapter(own, program, output)
    assert output.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lora.pte", "own", "own.ptd"]
