# SPDX-License-Identifier: BSD-3-Clause
"""Quantizers for torchao's PT2E. They differ in the patterns that they annotate and in the bit widths of
activations."""

from __future__ import annotations

from typing import Any, final

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
    MinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import (
    ComposableQuantizer,
    OperatorConfig,
    QuantizationAnnotation,
    QuantizationConfig,
    QuantizationSpec,
    Quantizer,
)
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from sdk.backends.cadence.aot.quantizer import patterns
from sdk.backends.cadence.aot.quantizer.mixed_patterns import (
    MixedW8A32ConvPattern,
    MixedW8A32GruPattern,
    MixedW8A32LinearPattern,
)
from sdk.backends.cadence.aot.quantizer.patterns import PartitionAnchors, QuantizationPattern
from sdk.backends.cadence.aot.quantizer.utils import find_sequential_partitions_aten, is_annotated, no_outside_users
from sdk.backends.quantizer.base import BackendQuantizer


def _spec(dtype: torch.dtype, symmetric: bool, observer: Any) -> QuantizationSpec:
    limits = torch.iinfo(dtype)
    return QuantizationSpec(
        dtype=dtype,
        quant_min=limits.min,
        quant_max=limits.max,
        qscheme=torch.per_tensor_symmetric if symmetric else torch.per_tensor_affine,
        is_dynamic=False,
        observer_or_fake_quant_ctr=observer,
    )


_HISTOGRAM = HistogramObserver.with_args(eps=2**-12)
_FAKE_WEIGHT = FakeQuantize.with_args(observer=MinMaxObserver)

act_qspec_asym8s = _spec(torch.int8, False, _HISTOGRAM)
act_qspec_asym16s = _spec(torch.int16, False, _HISTOGRAM)
wgt_qspec_asym8s = _spec(torch.int8, False, MinMaxObserver)
wgt_qspec_sym8s = _spec(torch.int8, True, MinMaxObserver)
bias_qspec: QuantizationSpec | None = None
act_qat_qspec_asym8s = _spec(torch.int8, False, FusedMovingAvgObsFakeQuantize)
wgt_qat_qspec_asym8s = _spec(torch.int8, False, _FAKE_WEIGHT)
wgt_qat_qspec_sym8s = _spec(torch.int8, True, _FAKE_WEIGHT)


def _config(
    activation: QuantizationSpec | None, weight: QuantizationSpec, bias: QuantizationSpec | None = None
) -> QuantizationConfig:
    return QuantizationConfig(input_activation=activation, output_activation=activation, weight=weight, bias=bias)


qconfig_A8W8 = _config(act_qspec_asym8s, wgt_qspec_asym8s)  # noqa: N816
qconfig_A8W8sym = _config(act_qspec_asym8s, wgt_qspec_sym8s)  # noqa: N816
qconfig_A8W8_qat = _config(act_qat_qspec_asym8s, wgt_qat_qspec_asym8s)  # noqa: N816
qconfig_A8W8sym_qat = _config(act_qat_qspec_asym8s, wgt_qat_qspec_sym8s)  # noqa: N816
qconfig_A16 = _config(act_qspec_asym16s, wgt_qspec_asym8s)  # noqa: N816
qconfig_A32W8sym = _config(None, wgt_qspec_sym8s, wgt_qspec_sym8s)  # noqa: N816


class CadenceAtenQuantizer(BackendQuantizer):
    """Annotates the chains of one pattern."""

    def __init__(self, pattern: QuantizationPattern, quantization_config: QuantizationConfig) -> None:
        super().__init__()
        self.pattern = pattern
        self.quantization_config = quantization_config

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates chains that are not annotated yet and whose inner results have no users outside the chain."""
        for chain in find_sequential_partitions_aten(model, self.pattern.partition_types()):
            if not no_outside_users(chain):
                continue
            anchors, _ = self.pattern.get_anchors(model, chain)
            if anchors.empty:
                continue
            parts = [*anchors.inputs, *anchors.weights, *anchors.biases, *anchors.output]
            if not is_annotated([part[0] for part in parts]):
                self._annotate(anchors)
        return model

    def _annotate(self, anchors: PartitionAnchors) -> None:
        config = self.quantization_config
        for node, *given in anchors.output:
            spec = given[0] if given else config.output_activation
            node.meta[Q_ANNOTATION_KEY] = QuantizationAnnotation(output_qspec=spec, _annotated=True)
        kinds = (
            (anchors.inputs, config.input_activation),
            (anchors.weights, config.weight),
            (anchors.biases, config.bias),
        )
        for parts, default in kinds:
            for node, index, *given in parts:
                argument: Node = node.args[index] if isinstance(index, int) else node.args[index[0]][index[1]]
                annotation = node.meta.setdefault(Q_ANNOTATION_KEY, QuantizationAnnotation(_annotated=True))
                annotation.input_qspec_map[argument] = given[0] if given else default

    def validate(self, model: GraphModule) -> None:
        """Does nothing: every annotation is one that the fusion supports."""

    @classmethod
    def get_supported_operators(cls) -> list[OperatorConfig]:
        return []


def _quantizers(config: QuantizationConfig, *names: str) -> list[Quantizer]:
    return [CadenceAtenQuantizer(getattr(patterns, name)(), config) for name in names]


def _configs(is_qat: bool) -> tuple[QuantizationConfig, QuantizationConfig]:
    """Returns the configurations of layers with asymmetric and with symmetric weights."""
    return (qconfig_A8W8_qat, qconfig_A8W8sym_qat) if is_qat else (qconfig_A8W8, qconfig_A8W8sym)


def get_cadence_default_quantizers(is_qat: bool = False) -> list[Quantizer]:
    """Returns int8 quantizers for convolutions with symmetric weights, linear layers, matrix multiplications, max pools
    and ReLU."""
    config, symmetric = _configs(is_qat)
    return [
        *_quantizers(config, "AddmmPattern", "BmmPattern"),
        *_quantizers(symmetric, "Conv1dPattern", "Conv2dPattern"),
        *_quantizers(config, "LinearPattern", "MatmulPattern", "MaxPool2dPattern", "MaxPool2dWithoutIndicesPattern"),
        *_quantizers(config, "ReluPattern0", "ReluPattern1"),
    ]


class CadenceQuantizer(ComposableQuantizer):
    """Combines several quantizers. The first one that annotates a chain decides."""

    @final
    def get_ops_to_preserve_from_decomposition(self) -> list[OpOverload]:
        """Returns the operators of the patterns, which the export must not decompose."""
        found: set[OpOverload] = set()
        for each in self.quantizers:
            if isinstance(each, CadenceAtenQuantizer):
                found.update(each.pattern.partition_types())
            elif isinstance(each, CadenceQuantizer):
                found.update(each.get_ops_to_preserve_from_decomposition())
        return sorted(found, key=str)

    def patterns(self) -> list[QuantizationPattern]:
        """Returns all patterns in order."""
        found: list[QuantizationPattern] = []
        for each in self.quantizers:
            found += each.patterns() if isinstance(each, CadenceQuantizer) else [each.pattern]
        return found


def _given_or_default(quantizers: list[Quantizer] | None, is_qat: bool = False) -> list[Quantizer]:
    return list(get_cadence_default_quantizers(is_qat) if quantizers is None else quantizers)


class CadenceDefaultQuantizer(CadenceQuantizer):
    """int8 activations and weights; see `get_cadence_default_quantizers`."""

    def __init__(self, quantizers: list[Quantizer] | None = None, is_qat: bool = False) -> None:
        super().__init__(_given_or_default(quantizers, is_qat))


class CadenceNopQuantizer(CadenceQuantizer):
    """Quantises nothing."""

    def __init__(self) -> None:
        super().__init__([])


class CadenceRmsNormNopQuantizer(CadenceQuantizer):
    """Quantises nothing, and keeps rms_norm from being decomposed."""

    def __init__(self) -> None:
        super().__init__(_quantizers(qconfig_A8W8, "RmsNormPattern"))


class CadenceWithLayerNormQuantizer(CadenceQuantizer):
    """The default quantizers and layer norm."""

    def __init__(self, quantizers: list[Quantizer] | None = None) -> None:
        super().__init__([*_given_or_default(quantizers), *_quantizers(qconfig_A8W8, "LayerNormPattern")])


class CadenceWakeWordQuantizer(CadenceQuantizer):
    """The default quantizers, additions and concatenations."""

    def __init__(self, quantizers: list[Quantizer] | None = None, is_qat: bool = False) -> None:
        config, _ = _configs(is_qat)
        super().__init__([*_given_or_default(quantizers, is_qat), *_quantizers(config, "AddPattern", "CatPattern")])


class CadenceFusedConvReluQuantizer(CadenceQuantizer):
    """Convolutions and additions followed by ReLU, the default quantizers, additions and concatenations."""

    def __init__(self, quantizers: list[Quantizer] | None = None, is_qat: bool = False) -> None:
        config, symmetric = _configs(is_qat)
        # Longer chains first: a batch norm may be between a convolution and ReLU.
        with_relu = [f"Conv{n}d{norm}ReluPattern{k}" for norm in ("BN", "") for n in (1, 2) for k in (0, 1)]
        super().__init__(
            [
                *(quantizers or []),
                *_quantizers(symmetric, *with_relu),
                *_quantizers(config, "AddReluPattern0", "AddReluPattern1"),
                *get_cadence_default_quantizers(is_qat),
                *_quantizers(config, "AddPattern", "CatPattern"),
            ]
        )


class CadenceW8A32MixedQuantizer(CadenceQuantizer):
    """int8 weights with float32 activations, for a single row or time step."""

    def __init__(self) -> None:
        mixed = (MixedW8A32LinearPattern(), MixedW8A32ConvPattern(), MixedW8A32GruPattern())
        super().__init__([CadenceAtenQuantizer(pattern, qconfig_A32W8sym) for pattern in mixed])


class CadenceWithSoftmaxQuantizer(CadenceQuantizer):
    """The default quantizers, and int16 softmax."""

    def __init__(self, quantizers: list[Quantizer] | None = None) -> None:
        super().__init__([*_given_or_default(quantizers), *_quantizers(qconfig_A16, "SoftmaxPattern")])


class CadenceWith16BitLinearActivationsQuantizer(CadenceQuantizer):
    """Linear layers with int16 activations and int8 weights."""

    def __init__(self, quantizers: list[Quantizer] | None = None) -> None:
        super().__init__([*(quantizers or []), *_quantizers(qconfig_A16, "LinearPattern")])


class CadenceWith16BitConvActivationsQuantizer(CadenceQuantizer):
    """Convolutions with int16 activations and int8 weights."""

    def __init__(self, quantizers: list[Quantizer] | None = None) -> None:
        super().__init__([*(quantizers or []), *_quantizers(qconfig_A16, "Conv1dPattern", "Conv2dPattern")])


class CadenceWith16BitMatmulActivationsQuantizer(CadenceQuantizer):
    """Matrix multiplications with int16 operands."""

    def __init__(self, quantizers: list[Quantizer] | None = None) -> None:
        super().__init__([*(quantizers or []), *_quantizers(qconfig_A16, "MatmulPattern")])
