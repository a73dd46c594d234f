# SPDX-License-Identifier: BSD-3-Clause
"""`ALL_PARTITIONER_CONFIGS`: all operators that XNNPACK supports, and `OPERATORS`, their table."""

from __future__ import annotations

from collections.abc import Iterable

from sdk.backends.operators import Operators
from sdk.backends.xnnpack.operators import attention, elementwise, image, matrix, pools, quantize, shape, steps
from sdk.backends.xnnpack.operators.operator import ConfigPrecisionType, XNNPartitionerConfig

ALL_PARTITIONER_CONFIGS: list[type[XNNPartitionerConfig]] = [
    attention.AttentionConfig,
    elementwise.BinaryConfig,
    elementwise.ClampConfig,
    elementwise.EluConfig,
    elementwise.GeluConfig,
    elementwise.HardswishConfig,
    elementwise.LeakyReluConfig,
    elementwise.PreluConfig,
    elementwise.SoftmaxConfig,
    elementwise.PowerConfig,
    elementwise.ProductConfig,
    elementwise.SumConfig,
    elementwise.UnaryConfig,
    pools.AdaptivePoolConfig,
    pools.AvgPoolConfig,
    image.BatchNormConfig,
    image.ConvolutionConfig,
    image.GetItemConfig,
    pools.MaxDimConfig,
    pools.MaxPoolConfig,
    pools.ResizeConfig,
    matrix.AddmmConfig,
    matrix.LinearConfig,
    matrix.MatmulConfig,
    quantize.DequantizeConfig,
    quantize.DynamicQuantConfig,
    quantize.QuantizeConfig,
    shape.CatConfig,
    shape.CopyConfig,
    shape.ExpandConfig,
    shape.PadConfig,
    shape.PermuteConfig,
    shape.ReshapeConfig,
    shape.SelectConfig,
    shape.SliceConfig,
    shape.SplitConfig,
    steps.ConvertConfig,
    steps.EmbeddingConfig,
    steps.IndexPutConfig,
    steps.NormConfig,
    steps.ReduceConfig,
    steps.TruthConfig,
    steps.WhereConfig,
]


def table_of(configs: Iterable[type[XNNPartitionerConfig]], replaces: bool = False) -> Operators[XNNPartitionerConfig]:
    """Returns the table of some operators. With `replaces`, the last of several configs for an operator is
    used."""
    table = Operators[XNNPartitionerConfig]("XNNPACK")
    for cls in configs:
        table.add(cls.target_names, cls(), replaces)
    return table


OPERATORS = table_of(ALL_PARTITIONER_CONFIGS)

__all__ = ["ALL_PARTITIONER_CONFIGS", "OPERATORS", "ConfigPrecisionType", "XNNPartitionerConfig", "table_of"]
