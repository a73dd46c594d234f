# SPDX-License-Identifier: BSD-3-Clause
"""The original's `backends.arm.test.tester.test_pipeline` for its tests: the stages of a test, which a test may
change before it runs them. The TOSA reference model computes the results of TOSA, and the runtime with the
model of the NPU those of an Ethos-U55 and U65; a program for an Ethos-U85 is compiled and not run."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import torch
from arm_lowering import Lowered
from torch import Tensor, nn
from torch.export import export
from torch.utils import _pytree as pytree

from original_suite import common
from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from sdk.backends.arm.quantizer import (
    EthosUQuantizer,
    TOSAQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from sdk.backends.arm.tosa import TosaCompileSpec, TOSAPartitioner
from sdk.backends.arm.tosa.schema import DType, Op
from sdk.exir import EdgeCompileConfig, to_edge_transform_and_lower

T = TypeVar("T")
_DELEGATE = "torch.ops.higher_order.executorch_call_delegate"
_QUANTIZES = [f"torch.ops.quantized_decomposed.{name}_per_tensor.default" for name in ("dequantize", "quantize")]


class Tester:
    """A model and the result of each stage. `cur` is the program that checks read."""

    def __init__(self, model: nn.Module, inputs: tuple[Any, ...], spec: ArmCompileSpec, dynamic_shapes: Any) -> None:
        self.model, self.inputs, self.compile_spec = model.eval(), inputs, spec
        self.original = copy.deepcopy(self.model)
        self.dynamic_shapes = dynamic_shapes
        self.use_portable_ops = False
        self.reference: Any = self.model
        self.scales: list[float | None] = []
        self.cur = ""
        self.lowered: Lowered | None = None

    def quantize(self, quantizer: Any, config: Any) -> None:
        if config is not None and quantizer._global is None:
            quantizer.set_global(config)
        captured = export(self.model, self.inputs, strict=True).module()
        self.model = quantizer.quantize_with_submodules(captured, [self.inputs])
        self.reference = self.model
        self.cur = self.model.code

    def export(self) -> None:
        self.program = export(self.model, self.inputs, strict=True, dynamic_shapes=self.dynamic_shapes)
        self.cur = self.program.graph_module.code
        (output,) = (node for node in self.program.graph.nodes if node.op == "output")
        self.scales = [_scale_of(node) for node in pytree.tree_leaves(output.args)]

    def to_edge_transform_and_lower(self) -> None:
        is_npu = isinstance(self.compile_spec, EthosUCompileSpec)
        partitioner = (EthosUPartitioner if is_npu else TOSAPartitioner)(self.compile_spec)
        self.lowered = Lowered(
            to_edge_transform_and_lower(
                copy.deepcopy(self.program),
                partitioner=[partitioner],
                compile_config=EdgeCompileConfig(_check_ir_validity=False),
            )
        )
        self.cur = self.lowered.program.graph_module.code

    def check(self, names: Sequence[str]) -> None:
        missing = [name for name in names if name not in self.cur]
        assert not missing, f"{missing} are not in\n{self.cur}"

    def check_aten(self, names: Sequence[str]) -> None:
        """Warns: before it quantises, each quantizer may write an operator as others."""
        missing = [name for name in names if name not in self.cur]
        if missing:
            warnings.warn(f"the captured graph has no {missing}", stacklevel=1)

    def check_not(self, names: Sequence[str]) -> None:
        found = [name for name in names if name in self.cur]
        assert not found, self.lowered.left() if self.lowered is not None else f"{found} are in\n{self.cur}"

    def check_count(self, counts: Mapping[str, int]) -> None:
        found = {name: self.cur.count(name) for name in counts}
        assert found == dict(counts), self.lowered.left() if self.lowered is not None else self.cur

    def check_dtype_count(self, expected: Mapping[str, Mapping[str, int]]) -> None:
        """The numbers of operators of TOSA by their names and the dtypes of their results."""
        assert self.lowered is not None
        blocks = [file.regions[0].blocks[0] for file in self.lowered.files]
        found: Counter[tuple[str, str]] = Counter()
        for block in blocks:
            dtypes = {tensor.name: DType(tensor.type).name for tensor in block.tensors}
            found += Counter((Op(each.op).name, dtypes.get(o, "")) for each in block.operators for o in each.outputs)
        wanted = {(op, dtype): count for op, counts in expected.items() for dtype, count in counts.items()}
        assert {key: found[key] for key in wanted} == wanted, found

    def run_method_and_compare_outputs(
        self, inputs: Any = None, atol: float = 1e-3, rtol: float = 1e-3, qtol: float = 0, **_: Any
    ) -> None:
        given = inputs or self.inputs
        expected = pytree.tree_leaves(self.reference(*copy.deepcopy(given)))
        assert self.lowered is not None
        found = (
            self.lowered.run_by_the_runtime(*given)
            if isinstance(self.compile_spec, EthosUCompileSpec)
            else self.lowered.run(*given)
        )
        assert len(found) == len(expected)
        for ours, wanted, scale in zip(found, expected, self.scales, strict=True):
            assert ours.shape == wanted.shape
            tolerance = atol + qtol * (scale or 0.0)
            if wanted.dtype == torch.bool:
                assert torch.equal(ours, wanted)
            else:
                torch.testing.assert_close(ours, wanted, atol=tolerance, rtol=rtol, equal_nan=True)

    def compare_with_floats(self, frobenius: float | None, cosine: float | None) -> None:
        """The quantised model and the float one."""
        floats = pytree.tree_leaves(self.original(*copy.deepcopy(self.inputs)))
        results = pytree.tree_leaves(self.reference(*copy.deepcopy(self.inputs)))
        for wanted, found, scale in zip(floats, results, self.scales, strict=True):
            if not (isinstance(wanted, Tensor) and wanted.is_floating_point()):
                continue
            wanted, found = wanted.double(), found.double()
            wanted = wanted.where(wanted.abs() >= (scale or 0.0), 0.0).nan_to_num()
            size, noise = float(wanted.norm()), (scale or 0.0) * wanted.numel() ** 0.5
            if size <= max(1e-8, noise) or not torch.isfinite(found).all():
                continue
            similarity = float((wanted * found).sum() / (size * float(found.norm()) + 1e-12))
            error = float((wanted - found).norm()) / size - (0.02 if similarity >= max(0.98, cosine or 0.0) else 0.0)
            assert frobenius is None or error <= frobenius, f"the relative error is {error}"
            assert cosine is None or similarity >= cosine, f"the cosine is {similarity}"

    def serialize(self) -> None:
        """The runtime reads the program that `run_by_the_runtime` serialises."""

    def to_executorch(self) -> None:
        assert self.lowered is not None
        copy.deepcopy(self.lowered.edge).to_executorch()


def _scale_of(node: Any) -> float | None:
    """The scale of a result that is dequantised."""
    is_dequantized = isinstance(node, torch.fx.Node) and "dequantize_per_tensor" in str(node.target)
    return float(node.args[1]) if is_dequantized else None


ArmTester = Tester


class Pipeline(Generic[T]):
    """The stages, by their names in the original."""

    def __init__(
        self,
        module: nn.Module,
        test_data: Any,
        aten_ops: Any,
        spec: ArmCompileSpec,
        exir_ops: Any,
        dynamic_shapes: Any = None,
    ) -> None:
        self.tester = Tester(module, tuple(test_data), spec, dynamic_shapes)
        self._stages: list[list[Any]] = []
        self.add("export", self.tester.export)
        self.add("check.aten", self.tester.check_aten, _names(aten_ops))
        self.add("to_edge_transform_and_lower", self.tester.to_edge_transform_and_lower)
        self.add("check_not.exir", self.tester.check_not, _names(exir_ops))
        self.add("check_count.exir", self.tester.check_count, {_DELEGATE: 1})
        self.add("to_executorch", self.tester.to_executorch)

    def add(self, name: str, function: Callable[..., None], *arguments: Any, **named: Any) -> None:
        self._stages.append([name, function, arguments, named])

    def quantized(self, quantizer: Any, config: Any) -> None:
        """Quantises the model before the other stages, and checks the calls that this adds."""
        self._quantizer = quantizer
        self._stages.insert(0, ["quantize", self.tester.quantize, (quantizer, config), {}])
        if any(isinstance(each, Tensor) and each.is_floating_point() for each in self.tester.inputs):
            self.add_stage_after("quantize", self.tester.check, _QUANTIZES, suffix="quant_nodes")

    @property
    def quantizer(self) -> Any:
        return self._quantizer

    def find_pos(self, name: str) -> int:
        names = [stage[0] for stage in self._stages]
        if name not in names:
            raise Exception(f"Stage id {name} not found in pipeline")
        return names.index(name)

    def has_stage(self, name: str) -> bool:
        return any(stage[0] == name for stage in self._stages)

    def pop_stage(self, name: int | str) -> Any:
        return self._stages.pop(self.find_pos(name) if isinstance(name, str) else name)

    def change_args(self, name: str, *arguments: Any, **named: Any) -> Pipeline[T]:
        self._stages[self.find_pos(name)][2:] = [arguments, named]
        return self

    def add_stage_after(
        self, name: str, function: Callable[..., None], *arguments: Any, suffix: str | None = None, **named: Any
    ) -> Pipeline[T]:
        own = function.__name__ if suffix is None else f"{function.__name__}.{suffix}"
        self._stages.insert(self.find_pos(name) + 1, [own, function, arguments, named])
        return self

    def add_stage(self, function: Callable[..., None], *arguments: Any, pos: int = -1, **named: Any) -> Pipeline[T]:
        place = len(self._stages) if pos < 0 else pos
        named.pop("suffix", None)
        self._stages.insert(place, [function.__name__, function, arguments, named])
        return self

    def dump_operator_distribution(self, stage: str, *_: Any, **__: Any) -> Pipeline[T]:
        """The original prints what the stage made."""
        return self.add_stage_after(stage, lambda: print(self.tester.cur), suffix="distribution")

    def count_tosa_ops(self, expected: Mapping[str, int]) -> Pipeline[T]:
        def count() -> None:
            assert self.tester.lowered is not None
            found: Counter[str] = self.tester.lowered.operators
            assert {name: found[name] for name in expected} == dict(expected), self.tester.lowered.left()

        return self.add_stage_after("to_edge_transform_and_lower", count)

    def run(self) -> None:
        with torch.no_grad():
            for _, function, arguments, named in self._stages:
                function(*arguments, **named)


def _names(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _tosa(profile: str, extensions: Sequence[str] | None, version: str = "1.0") -> TosaCompileSpec:
    return TosaCompileSpec("+".join((f"TOSA-{version}", profile, *(extensions or ()))))


class TosaPipelineINT(Pipeline[T]):
    def __init__(
        self,
        module: nn.Module,
        test_data: Any,
        aten_op: Any,
        exir_op: Any = None,
        run_on_tosa_ref_model: bool = True,
        symmetric_io_quantization: bool = False,
        per_channel_quantization: bool = True,
        atol: float = 1e-3,
        rtol: float = 1e-3,
        qtol: float = 1,
        dynamic_shapes: Any = None,
        tosa_version: str = "1.0",
        tosa_extensions: Sequence[str] | None = None,
        epsilon: float = 2**-12,
        frobenius_threshold: float | None = 0.05,
        cosine_threshold: float | None = 0.95,
        **_: Any,
    ) -> None:
        extensions = tosa_extensions or ()
        spec = _tosa("INT", extensions, tosa_version)
        super().__init__(module, test_data, aten_op, spec, exir_op, dynamic_shapes)
        quantizer = TOSAQuantizer(spec)
        config = (
            get_symmetric_a16w8_quantization_config(per_channel_quantization, epsilon=epsilon)
            if "int16" in extensions
            else get_symmetric_quantization_config(per_channel_quantization)
        )
        if symmetric_io_quantization:
            quantizer.set_io(config)
        self.quantized(quantizer, config)
        self.add_stage_after("export", self.tester.compare_with_floats, frobenius_threshold, cosine_threshold)
        self._stages[self.find_pos("compare_with_floats")][0] = "run_method_and_compare_outputs.original_model"
        if run_on_tosa_ref_model:
            function = self.tester.run_method_and_compare_outputs
            self.add("run_method_and_compare_outputs", function, atol=atol, rtol=rtol, qtol=qtol)


class TosaPipelineFP(Pipeline[T]):
    def __init__(
        self,
        module: nn.Module,
        test_data: Any,
        aten_op: Any,
        exir_op: Any = None,
        run_on_tosa_ref_model: bool = True,
        atol: float = 1e-3,
        rtol: float = 1e-3,
        dynamic_shapes: Any = None,
        tosa_version: str = "1.0",
        tosa_extensions: Sequence[str] | None = None,
        **_: Any,
    ) -> None:
        spec = _tosa("FP", tosa_extensions, tosa_version)
        super().__init__(module, test_data, aten_op, spec, exir_op, dynamic_shapes)
        if run_on_tosa_ref_model:
            function = self.tester.run_method_and_compare_outputs
            self.add("run_method_and_compare_outputs", function, atol=atol, rtol=rtol)


class _EthosU(Pipeline[T]):
    def __init__(
        self,
        module: nn.Module,
        test_data: Any,
        aten_ops: Any,
        exir_ops: Any = None,
        run_on_fvp: bool = True,
        symmetric_io_quantization: bool = False,
        per_channel_quantization: bool = True,
        a16w8_quantization: bool = False,
        atol: float = 1e-3,
        rtol: float = 1e-3,
        qtol: float = 1,
        epsilon: float = 2**-12,
        **_: Any,
    ) -> None:
        spec = self.spec()
        super().__init__(module, test_data, aten_ops, spec, exir_ops)
        config = (
            get_symmetric_a16w8_quantization_config(per_channel_quantization, epsilon=epsilon)
            if a16w8_quantization
            else get_symmetric_quantization_config(per_channel_quantization)
        )
        quantizer = EthosUQuantizer(spec)
        if symmetric_io_quantization:
            quantizer.set_io(config)
        self.quantized(quantizer, config)
        if run_on_fvp and "u85" not in spec.target:
            self.add("serialize", self.tester.serialize)
            function = self.tester.run_method_and_compare_outputs
            self.add("run_method_and_compare_outputs", function, atol=atol, rtol=rtol, qtol=qtol)

    @staticmethod
    def spec() -> EthosUCompileSpec:
        raise NotImplementedError


class EthosU55PipelineINT(_EthosU[T]):
    spec = staticmethod(common.get_u55_compile_spec)


class EthosU65PipelineINT(_EthosU[T]):
    spec = staticmethod(common.get_u65_compile_spec)


class EthosU85PipelineINT(_EthosU[T]):
    spec = staticmethod(common.get_u85_compile_spec)


class OpNotSupportedPipeline(Pipeline[T]):
    def __init__(
        self,
        module: nn.Module,
        test_data: Any,
        non_delegated_ops: Mapping[str, int],
        n_expected_delegates: int = 0,
        quantize: bool = False,
        u55_subset: bool = False,
        tosa_version: str = "1.0",
        tosa_extensions: Sequence[str] | None = None,
        **_: Any,
    ) -> None:
        extensions = [*(["u55"] if u55_subset else []), *(tosa_extensions or ())]
        spec = _tosa("INT" if quantize else "FP", extensions, tosa_version)
        super().__init__(module, test_data, [], spec, [])
        if quantize:
            self.quantized(TOSAQuantizer(spec), get_symmetric_quantization_config())
        self.change_args("check_count.exir", {_DELEGATE: n_expected_delegates, **non_delegated_ops})
        self.pop_stage("to_executorch")


class VgfPipeline:
    """Tests of VGF are skipped: this SDK has its own suites for VGF."""

    def __class_getitem__(cls, _: Any) -> type[VgfPipeline]:
        return cls
