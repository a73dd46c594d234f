# SPDX-License-Identifier: BSD-3-Clause
"""This SDK, or the build of its runtime that SDK_PORTABLE_LIB names: `sdk` without a backend, `sdk-NAME` with the
backend NAME, and `sdk-NAME-int8` quantised by its recipe. `sdk-NAME-half` computes in float16, as
`--dtype float16` exports it."""

from __future__ import annotations

from typing import Any

import runtime_under_test
from bench.engines import ON_REQUEST, PRECISIONS, Declaration, ImpossibleError, is_half, is_int8
from bench.pte import PteEngine


class SdkEngine(PteEngine):
    def __init__(self, name: str, threads: int) -> None:
        runtime_under_test.load()
        super().__init__("sdk", threads)
        self.int8, self.half = is_int8(name), is_half(name)
        self.backend = name.removesuffix(PRECISIONS["int8"]).removesuffix(ON_REQUEST["float16"]).partition("-")[2]

    def partitioners(self) -> list[Any]:
        from sdk.backends.registry import backend

        if self.half and not self.converts():
            return [backend(self.backend).find("partitioner")({"force_fp16": True})]
        return [backend(self.backend).make("partitioner")] if self.backend else []

    def converts(self) -> bool:
        """Whether the model is exported in float16. A backend without float16 programs computes a float32 program in
        float16, by an option."""
        from sdk.backends.registry import backend

        return self.half and backend(self.backend).float16

    def capture(self, spec: str) -> Any:
        captured = super().capture(spec)
        if not self.converts():
            return captured
        from sdk.exir.float16 import to_float16

        return to_float16(captured)

    def quantizer(self) -> Any:
        """The quantizer of the backend's scheme `int8`."""
        if not self.int8:
            return None
        from sdk.backends.registry import backend
        from sdk.export.cli.recipes import recipe_of

        scheme = backend(self.backend).quantization.get("int8")
        if scheme is None:
            raise ImpossibleError(f"{self.backend} has no scheme `int8`")
        recipe = recipe_of(None, scheme, [self.backend], None)
        assert recipe.quantization_recipe is not None
        (quantizer,) = recipe.quantization_recipe.get_quantizers() or ()
        return quantizer

    def alive(self, exported: Any) -> dict[str, Any]:
        from bench.arena import measure_arena

        return {"alive_bytes": measure_arena(exported).alive_bytes}


DECLARATION = Declaration(
    title="sdk",
    color="#1b1f24",
    packages=("pte-sdk",),
    suffix="pte",
    make=SdkEngine,
    environment="sdk",
    writer="sdk",
    lowers=True,
    half=True,
)
