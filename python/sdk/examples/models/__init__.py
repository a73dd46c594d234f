# SPDX-License-Identifier: BSD-3-Clause
"""Definitions of models."""

MODEL_NAME_TO_MODEL = {
    "mul": ("toy_model", "MulModule"),
    "linear": ("toy_model", "LinearModule"),
    "add": ("toy_model", "AddModule"),
    "add_mul": ("toy_model", "AddMulModule"),
    "softmax": ("toy_model", "SoftmaxModule"),
    "conv1d": ("toy_model", "Conv1dModule"),
    "sdpa": ("toy_model", "SdpaModule"),
}
"""The module and the class of each model of `model_factory.EagerModelFactory`."""
