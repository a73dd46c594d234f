# SPDX-License-Identifier: BSD-3-Clause
"""`LLMEdgeManager`, and the partitioners and quantisers for it: its programs compute what the model does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from language_models import small
from test_caches import in_calls
from test_runner import write_tokenizer

from sdk.devtools.backend_debug import get_delegation_info
from sdk.extension.llm.export import LLMEdgeManager, partitioner_lib, quantizer_lib
from sdk.extension.llm.export.builder import DType
from sdk.extension.llm.model.transformer import Transformer
from sdk.runtime import Runtime

TOKENS = torch.randint(0, 95, (1, 20), generator=torch.Generator().manual_seed(8))
CALL = (torch.tensor([[2, 3, 4]]), {"input_pos": torch.tensor([0])})


def manager(model: Transformer, **options: Any) -> LLMEdgeManager:
    options = {"use_kv_cache": True, "enable_dynamic_shape": True, "generate_full_logits": True, **options}
    return LLMEdgeManager(model, "small", 10, example_inputs=options.pop("example_inputs", CALL), **options)


def logits(path: Path | str) -> torch.Tensor:
    method = Runtime.get().load_program(path).load_method("forward")
    assert method is not None
    return in_calls(lambda tokens, at: method.execute([tokens, at])[0], TOKENS, [7, 1, 1, 10, 1])


def expected() -> torch.Tensor:
    with torch.no_grad():
        return small()(TOKENS)[0]


@pytest.mark.sampled
def test_every_step(tmp_path: Path):
    """LE-15: the model is prepared and converted with a quantiser, lowered, and written. The results are close to those
    of floats."""
    write_tokenizer(tmp_path / "tokenizer.json")
    tokenizer = str(tmp_path / "tokenizer.json")
    calibration = {"calibration_data": "The quick", "calibration_seq_length": 12, "tokenizer_path": tokenizer}
    model = small(use_kv_cache=True, max_seq_len=10)
    built = manager(model, metadata={"get_bos_id": 7}, **calibration).set_output_dir(str(tmp_path)).export()
    built.run_canonical_optimizations()
    options = quantizer_lib.get_pt2e_quantization_params("xnnpack_dynamic")
    built = (
        built.pt2e_quantize(quantizer_lib.get_pt2e_quantizers(options))
        .export_to_edge()
        .to_backend([partitioner_lib.get_xnnpack_partitioner(), None])
        .to_executorch()
    )
    assert built.get_saved_pte_filename() is None
    built.save_to_pte("small")
    assert built.get_saved_pte_filename() == str(tmp_path / "small.pte")
    assert built.export_program is not None
    info = get_delegation_info(built.export_program.exported_program().graph_module)
    assert info.num_delegated_subgraphs > 0
    program = Runtime.get().load_program(tmp_path / "small.pte")
    assert program.load_method("get_bos_id").execute([]) == [7]
    assert program.load_method("get_max_seq_len").execute([]) == [10]
    found = logits(tmp_path / "small.pte")
    assert torch.nn.functional.cosine_similarity(found, expected()).min() > 0.99
    assert not torch.allclose(found, expected(), atol=1e-5)


@pytest.mark.sampled
def test_lowering_in_one_step(tmp_path: Path):
    """All operators are lowered to the backend, with constants in a separate file."""
    built = manager(small(use_kv_cache=True, max_seq_len=10)).set_output_dir(str(tmp_path))
    built.to_edge_transform_and_lower(None).to_executorch(external_constants_tag=lambda node: "weights")
    built.save_to_pte("plain.pte")
    assert (tmp_path / "weights.ptd").exists()
    other = manager(small(use_kv_cache=True, max_seq_len=10)).set_output_dir(str(tmp_path))
    extended = partitioner_lib.get_xnnpack_partitioner(dynamic_quant_only_partitioner=False)
    other.to_edge_transform_and_lower([extended]).to_executorch().save_to_pte("lowered")
    torch.testing.assert_close(logits(tmp_path / "lowered.pte"), expected(), rtol=1e-3, atol=1e-3)


def test_dtypes_and_transforms():
    assert [DType.from_torch_dtype(kind.to_torch_dtype()) for kind in DType] == list(DType)
    with pytest.raises(ValueError, match=r"torch\.int8 is not supported"):
        DType.from_torch_dtype(torch.int8)
    built = manager(small(use_kv_cache=True), dtype=DType.fp32)
    seen: list[Any] = []
    same = built.to_dtype(DType.bf16).source_transform([lambda model: seen.append(model) or model])
    assert same is built and seen == [built.model] and built.dtype is DType.bf16
    assert built.model.output.weight.dtype == torch.bfloat16
    with pytest.raises(TypeError, match="expected a DType"):
        built.to_dtype("fp16")  # type: ignore[arg-type]


def test_steps_in_another_order():
    built = manager(small(use_kv_cache=True))
    for step, call in (
        (built.run_canonical_optimizations, r"export\(\)"),
        (lambda: built.pt2e_quantize([object()]), r"export\(\)"),
        (lambda: built.to_backend([object()]), r"export_to_edge\(\)"),  # type: ignore[list-item]
        (built.to_executorch, r"export_to_edge\(\)"),
        (lambda: built.save_to_pte("x"), r"to_executorch\(\)"),
    ):
        with pytest.raises(RuntimeError, match=call):
            step()
    with pytest.raises(ValueError, match="output_name"):
        built.save_to_pte("")
    built.edge_manager = object()  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="pt2e_quantize comes before"):
        built.pt2e_quantize([])


@pytest.mark.parametrize("cached", [False, True])
def test_calibration_continues_a_text(tmp_path: Path, cached: bool):
    """The module is called with the tokens of the text, and then with each token that greedy decoding appends to it."""
    write_tokenizer(tmp_path / "tokenizer.json")
    model = small(use_kv_cache=cached, max_seq_len=10)
    example = CALL if cached else (torch.zeros(1, 10, dtype=torch.int64),)
    built = manager(model, use_kv_cache=cached, enable_dynamic_shape=cached, example_inputs=example)
    seen = []

    def spy(tokens: torch.Tensor, options: Any = None) -> torch.Tensor:
        seen.append((tokens.tolist()[0], options and int(options["input_pos"])))
        with torch.no_grad():
            return model(tokens, options)

    text = [34, 35, 36]
    built.pt2e_calibrate(spy, None, None, 6, "BCD", str(tmp_path / "tokenizer.json"))
    with torch.no_grad():
        reference = small()
        for _ in range(3):
            text.append(int(reference(torch.tensor([text]))[0, -1].argmax()))
    if cached:
        assert seen == [([token], at) for at, token in enumerate(text)]
    else:
        assert seen == [(text[: at + 1] + [0] * (9 - at), None) for at in range(6)]
        built.generate_full_logits = False
        with pytest.raises(ValueError, match="generate_full_logits=True"):
            built.pt2e_calibrate(spy, None, None, 6, "BCD", str(tmp_path / "tokenizer.json"))
    with pytest.raises(NotImplementedError, match="calibration_data"):
        built.pt2e_calibrate(spy, ["wikitext"], None, 6, "BCD", str(tmp_path / "tokenizer.json"))


def test_options_of_quantisers():
    params = quantizer_lib.get_pt2e_quantization_params
    assert params(None, "8da4w") is None and params("vulkan_8w") is None
    both = params("embedding, xnnpack_dynamic_qc4")
    assert both is not None and both.quantize_linear is not None and both.quantize_linear.is_qc4
    kinds = [type(each).__name__ for each in quantizer_lib.get_pt2e_quantizers(both)]
    assert kinds == ["EmbeddingQuantizer", "XNNPACKQuantizer"]
    assert quantizer_lib.get_pt2e_quantizers(None) == []
    with pytest.raises(ValueError, match="choose one"):
        params("xnnpack_dynamic", "8da4w")
    with pytest.raises(RuntimeError, match="choose one"):
        params("xnnpack_dynamic,xnnpack_dynamic_qc4")
    with pytest.raises(RuntimeError, match="group_size=32"):
        quantizer_lib.EmbeddingQuantOptions(group_size=32)
    linear = quantizer_lib.DynamicQuantLinearOptions(is_per_channel=False)
    with pytest.raises(ValueError, match="is_per_channel"):
        quantizer_lib.get_pt2e_quantizers(quantizer_lib.PT2EQuantOptions(None, linear))


def test_quantisers_of_backends():
    assert type(quantizer_lib.get_vulkan_quantizer("vulkan_8w")).__name__ == "VulkanQuantizer"
    for make, name in (
        (quantizer_lib.get_vulkan_quantizer, "vulkan_4w"), (quantizer_lib.get_coreml_quantizer, "coreml_3w"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"'{name}' is not known; known are"):
            make(name)
    for name in ("8a8w", "16a16w", "16a4w"):
        made, scheme = quantizer_lib.get_qnn_quantizer(f"qnn_{name}")
        assert type(made).__name__ == "QnnQuantizer" and scheme.name == f"use_{name}"
        assert made.default_quant_config.is_linear_per_channel == (name != "16a16w")
    assert quantizer_lib.get_qnn_quantizer("qnn_8a8w", is_qat=True)[0].default_quant_config.is_qat
    with pytest.raises(ValueError, match="expected one of qnn_8a8w"):
        quantizer_lib.get_qnn_quantizer("qnn_2a2w")
    with pytest.raises(ValueError, match="choose one"):
        quantizer_lib.get_qnn_quantizer("qnn_8a8w", "8da4w")
    tosa = quantizer_lib.get_tosa_quantizer("TOSA-1.0+INT", "tosa_8a8w", "linear")
    assert type(tosa).__name__ == "TOSAQuantizer"
    ethosu = ("ethos-u55-128", "default", "default", None)
    assert type(quantizer_lib.get_ethosu_quantizer(*ethosu, "ethosu_16a8w", "full")).__name__ == "EthosUQuantizer"
    assert type(quantizer_lib.get_vgf_quantizer(None, None, "vgf_8a8w", "full")).__name__ == "VgfQuantizer"
    with pytest.raises(ValueError, match="int16"):
        quantizer_lib.get_vgf_quantizer("TOSA-1.0+INT", None, "vgf_16a8w", "full")
    with pytest.raises(ValueError, match="'full' or 'linear'"):
        quantizer_lib.get_tosa_quantizer("TOSA-1.0+INT", "tosa_8a8w", "some")
    with pytest.raises(ValueError, match="expected one of tosa_8a8w"):
        quantizer_lib.get_tosa_quantizer("TOSA-1.0+INT", "tosa_16a8w", "full")


def test_partitioners_of_backends():
    made = [
        partitioner_lib.get_vulkan_partitioner("fp32", True, True),
        partitioner_lib.get_tosa_partitioner("TOSA-1.0+INT"),
        partitioner_lib.get_ethosu_partitioner("ethos-u55-128", "default"),
        partitioner_lib.get_vgf_partitioner(None, None),
        partitioner_lib.get_qnn_partitioner(True, "qnn_16a4w", 2, "SM8750"),
    ]
    names = ["VulkanPartitioner", "TOSAPartitioner", "EthosUPartitioner", "VgfPartitioner", "QnnPartitioner"]
    assert [type(each).__name__ for each in made] == names
    for call, why in (
        (lambda: partitioner_lib.get_vulkan_partitioner("fp16"), "force_fp16"),
        (lambda: partitioner_lib.get_mps_partitioner(), "use_kv_cache"),
        (lambda: partitioner_lib.get_qnn_partitioner(), "use_kv_cache=true"),
        (lambda: partitioner_lib.get_qnn_partitioner(True, soc_model="SM1"), "expected one of QCM6490"),
        (lambda: partitioner_lib.get_coreml_partitioner(17, coreml_quantize="b4w"), "need 18"),
        (lambda: partitioner_lib.get_coreml_partitioner(16, pt2e_quantize="coreml_8a_c8w"), "need 17"),
    ):
        with pytest.raises(ValueError, match=why):
            call()
