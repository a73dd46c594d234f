# SPDX-License-Identifier: BSD-3-Clause
"""`ALL_PARTITIONER_CONFIGS`: every operator that XNNPACK takes."""

from __future__ import annotations

from sdk.backends.xnnpack.operators import elementwise, image, matrix, shape
from sdk.backends.xnnpack.operators.operator import ConfigPrecisionType, XNNPartitionerConfig

ALL_PARTITIONER_CONFIGS: list[type[XNNPartitionerConfig]] = [
    elementwise.BinaryConfig,
    elementwise.ClampConfig,
    elementwise.EluConfig,
    elementwise.GeluConfig,
    elementwise.LeakyReluConfig,
    elementwise.PreluConfig,
    elementwise.SoftmaxConfig,
    elementwise.SquareConfig,
    elementwise.UnaryConfig,
    image.AvgPoolConfig,
    image.BatchNormConfig,
    image.ConvolutionConfig,
    image.GetItemConfig,
    image.MaxPoolConfig,
    image.MeanConfig,
    image.ResizeConfig,
    matrix.AddmmConfig,
    matrix.LinearConfig,
    matrix.MatmulConfig,
    shape.CatConfig,
    shape.CopyConfig,
    shape.PadConfig,
    shape.PermuteConfig,
    shape.ReshapeConfig,
    shape.SliceConfig,
]

__all__ = ["ALL_PARTITIONER_CONFIGS", "ConfigPrecisionType", "XNNPartitionerConfig"]
