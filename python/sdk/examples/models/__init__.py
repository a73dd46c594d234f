# SPDX-License-Identifier: BSD-3-Clause
"""Definitions of models."""

from enum import Enum


class Model(str, Enum):
    """The names of the models."""

    Mul = "mul"
    Linear = "linear"
    Add = "add"
    AddMul = "add_mul"
    Softmax = "softmax"
    Conv1d = "conv1d"
    Sdpa = "sdpa"
    Dl3 = "dl3"
    Edsr = "edsr"
    Lstm = "lstm"
    MobileBert = "mobilebert"
    Mv2 = "mv2"
    Mv2Untrained = "mv2_untrained"
    Mv3 = "mv3"
    Vit = "vit"
    W2l = "w2l"
    Ic3 = "ic3"
    Ic4 = "ic4"
    ResNet18 = "resnet18"
    ResNet50 = "resnet50"
    DeiTTiny = "deit_tiny"
    Whisper = "whisper"
    Llama2 = "llama2"
    Llama = "llama"
    Qwen25 = "qwen2_5_1_5b"
    Qwen3 = "qwen3"
    Phi4Mini = "phi_4_mini"
    SmolLM2 = "smollm2"

    def __str__(self) -> str:
        return self.value


MODEL_NAME_TO_MODEL = {
    "mul": ("toy_model", "MulModule"),
    "linear": ("toy_model", "LinearModule"),
    "add": ("toy_model", "AddModule"),
    "add_mul": ("toy_model", "AddMulModule"),
    "softmax": ("toy_model", "SoftmaxModule"),
    "conv1d": ("toy_model", "Conv1dModule"),
    "sdpa": ("toy_model", "SdpaModule"),
    "dl3": ("deeplab_v3", "DeepLabV3ResNet50Model"),
    "edsr": ("edsr", "EdsrModel"),
    "lstm": ("lstm", "LSTMModel"),
    "mobilebert": ("mobilebert", "MobileBertModelExample"),
    "mv2": ("mobilenet_v2", "MV2Model"),
    "mv2_untrained": ("mobilenet_v2", "MV2UntrainedModel"),
    "mv3": ("mobilenet_v3", "MV3Model"),
    "vit": ("torchvision_vit", "TorchVisionViTModel"),
    "w2l": ("wav2letter", "Wav2LetterModel"),
    "ic3": ("inception_v3", "InceptionV3Model"),
    "ic4": ("inception_v4", "InceptionV4Model"),
    "resnet18": ("resnet", "ResNet18Model"),
    "resnet50": ("resnet", "ResNet50Model"),
    "deit_tiny": ("deit_tiny", "DeiTTinyModel"),
    "whisper": ("whisper", "WhisperModel"),
    "llama2": ("llama", "Llama2Model"),
    "llama": ("llama", "Llama2Model"),
    "qwen2_5_1_5b": ("qwen2_5", "Qwen2_5Model"),
    "qwen3": ("qwen3", "Qwen3Model"),
    "phi_4_mini": ("phi_4_mini", "Phi4MiniModel"),
    "smollm2": ("smollm2", "SmolLM2Model"),
}
"""The module and the class of each model of `model_factory.EagerModelFactory`."""
