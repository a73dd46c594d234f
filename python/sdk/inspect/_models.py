# SPDX-License-Identifier: BSD-3-Clause
"""The models of backends that are in the payloads of a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sdk.backends import registry
from sdk.command import CommandError, describe

Facts = dict[str, Any]


def models(path: Path, facts: Facts, folder: Path | None) -> list[Facts]:
    """The models in a `.pte` with these facts. They are written to `folder`, which must not exist, if it is not None.

    Raises CommandError if a payload is damaged, if the folder cannot be written, or if there is nothing to write.
    """
    ids = dict.fromkeys(delegate["id"] for method in facts["methods"] for delegate in method["delegates"])
    backends = [found for id in ids if (found := registry.backend_of_id(id)) is not None and found.models is not None]
    if folder is not None and not backends:
        known = ", ".join(found.name for found in registry.backends().values() if found.models is not None)
        raise CommandError(f"--models: expected a delegate of a backend with models ({known}), found none in `{path}`")
    listed = []
    for backend in backends:
        place = folder if len(backends) == 1 or folder is None else folder / backend.name
        try:
            found = backend.find("models")(path.read_bytes(), place)
        except (ImportError, OSError, ValueError) as error:
            raise CommandError(f"the models of {backend.name} in `{path}`: {describe(error)}") from error
        for model in found:
            entry = {"backend": backend.name, "name": model.name, "methods": model.methods, "bytes": model.bytes}
            if place is not None:
                entry |= {"path": str(place / model.name), "operations": model.operations}
            listed.append(entry)
    return listed
