# SPDX-License-Identifier: BSD-3-Clause
"""Packages that are extras: programs run with NumPy alone, and making and examining them needs more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

EXTRAS = {
    "PIL": ("Pillow", "pictures"),
    "huggingface_hub": ("huggingface_hub", "llm"),
    "jinja2": ("jinja2", "codegen"),
    "omegaconf": ("OmegaConf", "llm"),
    "pandas": ("pandas", "devtools"),
    "safetensors": ("safetensors", "llm"),
    "tensorboard": ("TensorBoard", "tensorboard"),
    "tokenizers": ("tokenizers", "examples"),
    "torch": ("PyTorch", "export"),
    "torchao": ("torchao", "quantization"),
    "transformers": ("transformers", "examples"),
    "yaml": ("PyYAML", "codegen"),
}
"""A module that is imported -> the name of its package, and the extra that installs it. What backends need is in their
declarations."""


def install_hint(error: ModuleNotFoundError, extra: str | None = None) -> str:
    """`needs PyTorch: pip install 'pte-sdk[export]'` where an import failed because an extra is not installed; "" for
    other modules. `extra` is the one to name if the caller's work needs more than the missing package."""
    package, own = EXTRAS.get((error.name or "").partition(".")[0], ("", ""))
    return f"needs {package}: pip install 'pte-sdk[{extra or own}]'" if package else ""


@contextmanager
def needing_torch(what: str) -> Iterator[None]:
    """Imports within this say that `what` needs PyTorch, and how to install it, where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        hint = install_hint(error)
        if (error.name or "").partition(".")[0] != "torch" or hint in str(error):
            raise
        raise ModuleNotFoundError(f"{what} {hint}", name=error.name) from None
