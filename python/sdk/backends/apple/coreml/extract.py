# SPDX-License-Identifier: BSD-3-Clause
"""The models of Core ML that are in a `.pte` program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sdk.backends.apple.coreml.container import PayloadError, Tree, unpack, unpack_shared, write_folder
from sdk.exir._serialize._program import deserialize_pte_binary

BACKEND_ID = "CoreMLBackend"


@dataclass
class ExtractedModel:
    """A model: its folder's name, its files, its size in bytes, and the methods that use it."""

    name: str
    tree: Tree
    bytes: int
    methods: list[str] = field(default_factory=list)

    @cached_property
    def operations(self) -> dict[str, int]:
        """Counts the calls of each operation. Empty without coremltools, and for models that Apple's compiler has
        compiled."""
        return _operations(self.tree)


def models_of(program: bytes) -> list[ExtractedModel]:
    """The models of a program, in the order of its methods and delegates. Methods that share weights have one model.

    Raises:
        ValueError: the program or a payload is damaged.
    """
    file = deserialize_pte_binary(program)
    found: dict[tuple[str, int | None], ExtractedModel] = {}
    names: set[str] = set()
    for plan in file.program.execution_plan:
        for number, delegate in enumerate(plan.delegates):
            if delegate.id != BACKEND_ID:
                continue
            payload = file.program.backend_delegate_data[delegate.processed.index].data
            shared = unpack_shared(payload)
            key = (plan.name, number) if shared is None else (shared.key, None)
            if shared is not None and key not in found:
                store = file.named_data
                if store is None or shared.key not in store.pte_data:
                    raise PayloadError(f"the program has no named data {shared.key!r}, which {plan.name} names")
                payload = bytes(store.buffers[store.pte_data[shared.key].buffer_index])
            if key not in found:
                _, tree = unpack(payload)
                name = _new_name(f"{plan.name}_{number}" if shared is None else shared.key, names)
                found[key] = ExtractedModel(name, tree, _size(tree))
            found[key].methods.append(plan.name)
    return list(found.values())


def extract(program: bytes, folder: Path | None) -> list[ExtractedModel]:
    """The models of a program, which are written to `folder`, each to a folder with its name. `folder` must not exist;
    None writes nothing.

    Raises:
        ValueError: the program or a payload is damaged, or the folder exists; nothing is written.
        OSError: the folder cannot be written.
    """
    models = models_of(program)
    if models and folder is not None:
        write_folder({model.name: model.tree for model in models}, folder)
    return models


def _new_name(wanted: str, taken: set[str]) -> str:
    """A name for a folder of letters, digits and `_`, which is added to the lower-case names in `taken`. Some file
    systems ignore case."""
    plain = "".join(c if c.isalnum() else "_" for c in wanted) or "model"
    name, number = plain, 1
    while name.casefold() in taken:
        number += 1
        name = f"{plain}_{number}"
    taken.add(name.casefold())
    return name


def _size(tree: Tree) -> int:
    return sum(_size(entry) if isinstance(entry, Mapping) else len(entry) for entry in tree.values())


def _operations(tree: Tree) -> dict[str, int]:
    package = tree.get("model.mlpackage")
    if not isinstance(package, Mapping):
        return {}
    try:
        from sdk.backends.apple.coreml.verify.interpreter import Function
        from sdk.backends.apple.coreml.verify.model import read_package

        model = read_package(package)
    except ImportError:
        return {}
    counts: dict[str, int] = {}
    for name in model.functions:
        for operation, count in Function(model, name).operations().items():
            counts[operation] = counts.get(operation, 0) + count
    return dict(sorted(counts.items()))
