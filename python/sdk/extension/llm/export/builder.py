# SPDX-License-Identifier: BSD-3-Clause
"""Exports any language model step by step, each by one call: `LLMEdgeManager`.

`exporter` does the same by settings, for the models of this package.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.fx import GraphModule, Node

from sdk.exir import EdgeCompileConfig, EdgeProgramManager, ExecutorchBackendConfig, ExecutorchProgramManager
from sdk.exir import to_edge_transform_and_lower as lower
from sdk.exir._serialize._files import replaced
from sdk.exir.backend.partitioner import Partitioner
from sdk.exir.pass_base import PassType
from sdk.exir.passes.memory_planning_pass import MemoryPlanningPass
from sdk.extension.export_util.utils import export_to_edge, save_pte_program
from sdk.extension.llm.export.export_passes import RemoveRedundantTransposes

logger = logging.getLogger("sdk.extension.llm.export")
FORMAT = "[%(levelname)s %(asctime)s %(filename)s:%(lineno)s] %(message)s"
"""A format for log lines."""


class DType(Enum):
    """The floating-point dtypes in which a model can compute."""

    fp32 = "fp32"
    fp16 = "fp16"
    bf16 = "bf16"

    def to_torch_dtype(self) -> torch.dtype:
        """The dtype of PyTorch."""
        return _DTYPES[self]

    @staticmethod
    def from_torch_dtype(dtype: torch.dtype) -> DType:
        """The member for a dtype. Raises ValueError for one without a member."""
        for member, each in _DTYPES.items():
            if each == dtype:
                return member
        raise ValueError(f"{dtype} is not supported; supported are {', '.join(map(str, _DTYPES.values()))}")


_DTYPES = {DType.fp32: torch.float32, DType.fp16: torch.float16, DType.bf16: torch.bfloat16}


class LLMEdgeManager:
    """A language model on its way from a module to a file. Most steps return the object itself, for chains of calls;
    `run_canonical_optimizations` and `save_to_pte` return None.

    The order is `to_dtype` and `source_transform`, `export`, `run_canonical_optimizations` and `pt2e_quantize`; then
    `export_to_edge` with `to_backend`, or `to_edge_transform_and_lower`; `to_executorch`, `save_to_pte`.
    """

    def __init__(
        self,
        model: nn.Module,
        modelname: str,
        max_seq_len: int,
        use_kv_cache: bool,
        example_inputs: tuple[Any, ...],
        dtype: DType | None = None,
        example_kwarg_inputs: dict[str, Any] | None = None,
        enable_dynamic_shape: bool = False,
        generate_full_logits: bool = False,
        calibration_tasks: list[str] | None = None,
        calibration_limit: int | None = None,
        calibration_seq_length: int | None = None,
        calibration_data: str | None = None,
        tokenizer_path: str | None = None,
        verbose: bool = False,
        metadata: dict[str, Any] | None = None,
        dynamic_shapes: Any = None,
        save_exported_program: bool = False,
        generate_etrecord: bool = False,
        skip_dim_order: bool = True,
    ) -> None:
        """`example_inputs`: tokens, int64 [1, tokens], and with a cache `{"input_pos": int64 [1]}`.

        `enable_dynamic_shape`: calls of up to `max_seq_len` tokens, unless `dynamic_shapes` says otherwise.
        `calibration_data`, with `calibration_seq_length` and `tokenizer_path`: the text with which `pt2e_quantize`
        finds ranges of values. `metadata`: values of methods without inputs. `save_exported_program`: `export` writes a
        .pt2 file.
        """
        self.model, self.modelname, self.max_seq_len, self.use_kv_cache = model, modelname, max_seq_len, use_kv_cache
        self.example_inputs, self.example_kwarg_inputs = example_inputs, example_kwarg_inputs
        self.dtype, self.enable_dynamic_shape, self.verbose = dtype, enable_dynamic_shape, verbose
        self.generate_full_logits = generate_full_logits
        self.calibration_tasks, self.calibration_limit = calibration_tasks, calibration_limit
        self.calibration_seq_length, self.calibration_data = calibration_seq_length, calibration_data
        self.tokenizer_path = tokenizer_path
        self.metadata = {**(metadata or {}), "get_max_seq_len": max_seq_len}
        self.dynamic_shapes = dynamic_shapes or self._shapes()
        self.save_exported_program, self.generate_etrecord = save_exported_program, generate_etrecord
        self.skip_dim_order = skip_dim_order
        self.output_dir = "."
        self.pre_autograd_graph_module: Any = None
        """The captured graph, which passes and quantisers change."""
        self.edge_manager: EdgeProgramManager | None = None
        self.export_program: ExecutorchProgramManager | None = None
        self.canonical_passes: list[Callable[[GraphModule], Any]] = [RemoveRedundantTransposes()]
        self._saved_pte_filename: str | None = None

    def _shapes(self) -> Any:
        if not self.enable_dynamic_shape:
            return None
        tokens = {1: Dim("tokens", min=1, max=self.max_seq_len)}
        return (tokens, {"input_pos": {0: 1}}) if self.use_kv_cache else (tokens,)

    def set_output_dir(self, output_dir: str) -> LLMEdgeManager:
        """The folder for the file."""
        self.output_dir = output_dir
        return self

    def to_dtype(self, dtype_override: DType | None) -> LLMEdgeManager:
        """Converts floating-point weights and buffers to another dtype; None leaves them unchanged. Raises TypeError
        for any other argument."""
        if dtype_override is not None and not isinstance(dtype_override, DType):
            raise TypeError(f"dtype_override: expected a DType, found {dtype_override!r}")
        if dtype_override is not None and dtype_override != self.dtype:
            self.model, self.dtype = self.model.to(dtype_override.to_torch_dtype()), dtype_override
        return self

    def source_transform(self, transforms: Sequence[Callable[[nn.Module], nn.Module]]) -> LLMEdgeManager:
        """Applies functions that change the model, in order."""
        for transform in transforms:
            self.model = transform(self.model)
            if self.verbose:
                logger.info("changed by %s", getattr(transform, "__name__", transform))
        return self

    def export(self) -> LLMEdgeManager:
        """Captures the model with `torch.export`."""
        exported = self._captured(self.model)
        self.pre_autograd_graph_module = exported.module()
        if self.save_exported_program:
            with replaced(Path(f"{self.modelname}.pt2")) as complete:
                torch.export.save(exported, complete)
        return self

    def _captured(self, module: Any) -> ExportedProgram:
        with torch.no_grad():
            return torch.export.export(
                module, self.example_inputs, self.example_kwarg_inputs, dynamic_shapes=self.dynamic_shapes
            )

    def run_canonical_optimizations(self) -> None:
        """Takes pairs of transposes out of the captured graph."""
        module = self._graph()
        for change in self.canonical_passes:
            module = change(module).graph_module
        self.pre_autograd_graph_module = module

    def _graph(self) -> Any:
        if self.pre_autograd_graph_module is None:
            raise RuntimeError("the model is not captured yet: call export() first")
        return self.pre_autograd_graph_module

    def pt2e_calibrate(
        self,
        prepared_module: Any,
        calibration_tasks: list[str] | None,
        calibration_limit: int | None,
        calibration_seq_length: int,
        calibration_data: str,
        tokenizer_path: str,
    ) -> None:
        """Calls a prepared module with the tokens of a text, which it continues with the likeliest tokens up to
        `calibration_seq_length` tokens or the first end of text.

        Raises NotImplementedError for `calibration_tasks`, whose texts are data sets of another package;
        `calibration_limit`, the number of texts of a task, has no effect.
        """
        if calibration_tasks:
            raise NotImplementedError(
                f"calibration_tasks={calibration_tasks}: their texts are data sets; give one as calibration_data"
            )
        from sdk.extension.llm.tokenizers import get_tokenizer

        tokenizer = get_tokenizer(tokenizer_path)
        tokens = list(tokenizer.encode(calibration_data, bos=True, eos=False))
        at = 0
        with torch.no_grad():
            while at < calibration_seq_length and tokens[at] != tokenizer.eos_id:
                logits = self._logits(prepared_module, tokens, at)
                at += 1
                if at == len(tokens):
                    tokens.append(int(logits.argmax()))

    def _logits(self, module: Any, tokens: list[int], at: int) -> Tensor:
        """The logits [vocabulary] after token `at`."""
        if self.use_kv_cache:
            call: tuple[Any, ...] = (torch.tensor([tokens[at : at + 1]]), {"input_pos": torch.tensor([at])})
            last = 0
        else:
            most, seen = self.example_inputs[0].shape[1], tokens[: at + 1]
            if not self.enable_dynamic_shape:  # the last token does not see the padding after it
                if not self.generate_full_logits:
                    raise ValueError(
                        f"a model without a cache whose calls have {most} tokens needs generate_full_logits=True to be "
                        "calibrated"
                    )
                seen = (seen + [0] * most)[:most]
            call, last = (torch.tensor([seen], dtype=self.example_inputs[0].dtype),), min(at, len(seen) - 1)
        logits: Tensor = module(*call)[0]
        return logits[last] if logits.dim() == 2 else logits

    def pt2e_quantize(self, quantizers: list[Any] | None) -> LLMEdgeManager:
        """Quantises the captured graph with torchao's quantizers in order. Each quantises the nodes that the previous
        ones left.

        Without text for calibration the example inputs give the ranges of values.
        """
        if self.edge_manager is not None:
            raise RuntimeError("pt2e_quantize comes before export_to_edge and to_edge_transform_and_lower")
        if not quantizers:
            return self
        from torchao.quantization.pt2e.quantizer import ComposableQuantizer

        from sdk.extension.llm.export.quantize.pt2e import quantize_graph

        def calibrate(prepared: GraphModule) -> None:
            length, text, tokenizer = self.calibration_seq_length, self.calibration_data, self.tokenizer_path
            if length is None or text is None or tokenizer is None:
                prepared(*self.example_inputs, **(self.example_kwarg_inputs or {}))
                return
            self.pt2e_calibrate(prepared, self.calibration_tasks, self.calibration_limit, length, text, tokenizer)

        self.pre_autograd_graph_module = quantize_graph(self._graph(), ComposableQuantizer(quantizers), calibrate)
        return self

    def _edge_config(self) -> EdgeCompileConfig:
        return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=self.skip_dim_order)

    def export_to_edge(self) -> LLMEdgeManager:
        """Lowers to edge dialect; captures the model, unless that is done."""
        if self.pre_autograd_graph_module is None:
            self.export()
        with torch.no_grad():
            self.edge_manager = export_to_edge(
                self.pre_autograd_graph_module,
                self.example_inputs,
                example_kwarg_inputs=self.example_kwarg_inputs,
                dynamic_shapes=self.dynamic_shapes,
                edge_constant_methods=self.metadata,
                edge_compile_config=self._edge_config(),
                strict=False,
                verbose=self.verbose,
            )
        return self

    def to_backend(self, partitioners: Sequence[Partitioner | None] | None) -> LLMEdgeManager:
        """Delegates parts of the graph to the backends of partitioners, in the order of the partitioners."""
        for partitioner in partitioners or []:
            if partitioner is not None:
                self.edge_manager = self._edge().to_backend(partitioner)
        return self

    def _edge(self) -> EdgeProgramManager:
        if self.edge_manager is None:
            raise RuntimeError("there is no edge dialect yet: call export_to_edge() or to_edge_transform_and_lower()")
        return self.edge_manager

    def to_edge_transform_and_lower(
        self, partitioners: list[Partitioner] | None, transform_passes: Sequence[PassType] | None = None
    ) -> LLMEdgeManager:
        """`export_to_edge` and `to_backend` in one step: partitioners see operators before they are decomposed."""
        if self.pre_autograd_graph_module is None:
            self.export()
        self.edge_manager = lower(
            self._captured(self.pre_autograd_graph_module),
            transform_passes=transform_passes,
            partitioner=partitioners,
            compile_config=self._edge_config(),
            constant_methods=self.metadata,
            generate_etrecord=self.generate_etrecord,
        )
        return self

    def to_executorch(
        self,
        passes: Sequence[PassType] | None = None,
        external_constants_tag: Callable[[Node], str | None] | None = None,
        share_mutable_buffers: bool = False,
    ) -> LLMEdgeManager:
        """Makes the program. `external_constants_tag` gives the .ptd file of a constant, or None for the program."""
        self.export_program = self._edge().to_executorch(
            ExecutorchBackendConfig(
                passes=list(passes or []),
                do_quant_fusion_and_const_prop=True,
                memory_planning_pass=MemoryPlanningPass(
                    alloc_graph_input=False, share_mutable_buffers=share_mutable_buffers
                ),
                external_constants=external_constants_tag or False,
            )
        )
        return self

    def save_to_pte(self, output_name: str) -> None:
        """Writes `output_name`.pte, and its .ptd files, to the output folder."""
        if not output_name:
            raise ValueError("output_name: expected the name of the file, found nothing")
        if self.export_program is None:
            raise RuntimeError("there is no program yet: call to_executorch() first")
        self._saved_pte_filename = save_pte_program(self.export_program, output_name, self.output_dir)

    def get_saved_pte_filename(self) -> str | None:
        """The path of the file that `save_to_pte` wrote last; None before its first call."""
        return self._saved_pte_filename
