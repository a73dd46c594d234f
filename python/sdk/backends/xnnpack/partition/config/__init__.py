# SPDX-License-Identifier: BSD-3-Clause
"""`ALL_PARTITIONER_CONFIGS`: all operators that XNNPACK supports."""

from __future__ import annotations

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

__all__ = ["ALL_PARTITIONER_CONFIGS", "ConfigPrecisionType", "XNNPartitionerConfig"]
