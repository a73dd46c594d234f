# SPDX-License-Identifier: BSD-3-Clause
"""`WeightFiles`: the data file and the key of each constant of a payload."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils.weak import WeakTensorKeyDictionary

from sdk.exir.passes.external_constants_pass import delegate_tag


class WeightFiles(TorchFunctionMode):
    """Finds the file of a constant: the file for which the weights that it is computed from are marked.

    Weights become constants by permutations, casts, packing and fusion. While this mode is active, the marked weights
    from which a result is computed are recorded. Numbers that leave a tensor (`item`) are not tracked.
    """

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        signature = program.graph_signature
        targets = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
        tensors = {**program.constants, **program.state_dict}
        self._weights: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
        for node in program.graph.find_nodes(op="placeholder"):
            file, target = delegate_tag(node), targets.get(node.name, "")
            if file is not None and target in tensors:
                self._add(tensors[target], {target: file})

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self._weights:
            weights: dict[str, str] = {}
            for leaf in pytree.tree_leaves((args, kwargs)):
                if isinstance(leaf, torch.Tensor):
                    weights.update(self._weights.get(leaf, {}))
            if weights:
                written = args[:1] if func is torch.Tensor.__setitem__ else ()
                for leaf in pytree.tree_leaves((result, written)):
                    if isinstance(leaf, torch.Tensor):
                        self._add(leaf, weights)
        return result

    def file_of(self, tensor: torch.Tensor) -> str | None:
        """The name of the data file for a constant; None for the program.

        Raises:
            ValueError: It is computed from weights that are marked for different files.
        """
        weights = self._weights.get(tensor, {})
        files = sorted(set(weights.values()))
        if len(files) > 1:
            listed = ", ".join(f"{name} for {file!r}" for name, file in sorted(weights.items()))
            raise ValueError(
                f"the backend computes one constant from weights that are marked for different data files ({listed}), "
                "so it cannot be stored in the file of each. Mark these weights for the same file."
            )
        return files[0] if files else None

    def place_of(self, tensor: torch.Tensor, data: bytes) -> tuple[str, str | None]:
        """The key and the file (None: the program) for a constant with the bytes `data`. Raises as `file_of` does.

        The key is a hash, so that equal constants are stored once in each file. Keys in files also contain the file's
        name, because a key may exist only once, and each file must be complete for other programs that read it.
        """
        file, digest = self.file_of(tensor), hashlib.sha256(data).hexdigest()
        return (digest if file is None else f"{digest}.{file}"), file

    def _add(self, tensor: torch.Tensor, weights: Mapping[str, str]) -> None:
        self._weights[tensor] = {**self._weights.get(tensor, {}), **weights}
