# SPDX-License-Identifier: BSD-3-Clause
"""The original's language model, exporter and runner of text, with the Python of the original's environment.

Usage: ``python oracle_llm.py DIRECTORY``

The directory has ``request.json`` (prompt, count of tokens, names of programs to run and to export), ``params.json``,
``weights.pth`` and ``tokenizer.json``. Each program of ``run``, NAME.pte, continues the prompt greedily: NAME.text.
Each name of ``export`` becomes NAME.pte: the model in the way of the original's ``export_llm`` (``custom_sdpa``: its
operator and caches; ``8da4w``: torchao's weights, in XNNPACK). If it fails, NAME.error has the error.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import traceback
from pathlib import Path
from typing import Any

import executorch
import torch


def runner_module() -> Any:
    """Imports the extension module without its package, because the package's ``__init__`` needs transformers."""
    (path,) = (Path(executorch.__path__[0]) / "extension/llm/runner").glob("_llm_runner*.so")
    spec = importlib.util.spec_from_file_location("_llm_runner", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(directory: Path, name: str, prompt: str, count: int) -> None:
    module, pieces = runner_module(), []
    runner = module.TextLLMRunner(str(directory / f"{name}.pte"), str(directory / "tokenizer.json"))
    config = module.GenerationConfig(echo=False, max_new_tokens=count, temperature=0.0)
    runner.generate(prompt, config, pieces.append, None)
    (directory / f"{name}.text").write_text("".join(pieces))


def export(directory: Path, name: str) -> None:
    from executorch.examples.models.llama.llama_transformer import construct_transformer
    from executorch.examples.models.llama.model_args import ModelArgs
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.passes import MemoryPlanningPass
    from executorch.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass

    args = json.loads((directory / "params.json").read_text())
    length = 128
    model = construct_transformer(
        ModelArgs(**args, max_seq_len=length, max_context_len=length, use_kv_cache=True, enable_dynamic_shape=True)
    ).eval()
    model.load_state_dict(torch.load(directory / "weights.pth"), strict=False)
    partitioners: list[Any] = []
    if name.endswith("custom_sdpa"):
        from executorch.examples.models.llama.source_transformation import custom_kv_cache, sdpa

        model = sdpa.replace_sdpa_with_custom_op(custom_kv_cache.replace_kv_cache_with_custom_kv_cache(model))
    if name.endswith("8da4w"):
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_

        quantize_(model, Int8DynamicActivationIntxWeightConfig(torch.int4, PerGroup(32)))
        partitioners = [XnnpackPartitioner()]
    inputs = (torch.tensor([[2, 3, 4]]), {"input_pos": torch.tensor([0])})
    shapes = ({1: torch.export.Dim("token_dim", max=length - 1)}, {"input_pos": {0: 1}})
    metadata = {
        "get_max_seq_len": length,
        "get_max_context_len": length,
        "get_n_layers": args["n_layers"],
        "get_vocab_size": args["vocab_size"],
        "use_kv_cache": True,
        "use_sdpa_with_kv_cache": name.endswith("custom_sdpa"),
        "enable_dynamic_shape": True,
        "get_bos_id": 0,
        "get_eos_ids": [95],
    }
    with torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.MATH]), torch.no_grad():
        exported = torch.export.export(model, inputs, dynamic_shapes=shapes, strict=True).run_decompositions({})
    lowered = to_edge_transform_and_lower(
        exported,
        partitioner=partitioners,
        compile_config=EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=True),
        constant_methods=metadata,
    )
    settings = ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),
        sym_shape_eval_pass=ConstraintBasedSymShapeEvalPass(),
    )
    (directory / f"{name}.pte").write_bytes(lowered.to_executorch(settings).buffer)


def main(directory: Path) -> None:
    request = json.loads((directory / "request.json").read_text())
    steps = [(name, run, (request["prompt"], request["count"])) for name in request["run"]]
    steps += [(name, export, ()) for name in request["export"]]
    for name, step, arguments in steps:
        try:
            step(directory, name, *arguments)
        except Exception:  # a program that fails does not stop the others
            (directory / f"{name}.error").write_text(traceback.format_exc())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
