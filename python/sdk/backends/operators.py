# SPDX-License-Identifier: BSD-3-Clause
"""The operators of a backend: a table whose entries decide which calls the backend takes, and write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from torch.fx import Node

from sdk.backends.graph.names import name_of


class Operator(Protocol):
    """An operator of a backend. The first argument of both functions is the node. The other arguments are the same for
    all operators of a backend: the program's data that it needs, and the object that it writes to."""

    @property
    def refusal(self) -> Callable[..., str | None]:
        """Returns why the backend does not support a call, for the user, or None if it does."""

    @property
    def lower(self) -> Callable[..., Any]:
        """Writes a call that is not refused."""


Entry = TypeVar("Entry", bound=Operator)


class Operators(dict[str, Entry]):
    """The operators of a backend by their names in the edge dialect, such as `aten.add.Tensor`.

    Attributes:
        title: The name of the backend, for messages.
        name_of: The name of the operator that a node calls.
    """

    def __init__(self, title: str, name_of: Callable[[Node], str] = name_of) -> None:
        super().__init__()
        self.title = title
        self.name_of = name_of

    def add(self, names: Iterable[str], entry: Entry, replaces: bool = False) -> None:
        """Registers operators. With `replaces`, names may be registered already.

        Raises:
            TypeError: the entry lacks `refusal` or `lower`.
            ValueError: a name is registered already.
        """
        for name in names:
            for function in ("refusal", "lower"):
                if not callable(getattr(entry, function, None)):
                    raise TypeError(
                        f"the operator {name} of {self.title}, {_place(entry)}, has no function `{function}`: "
                        f"define {function}(node, ...)"
                    )
            if name in self and not replaces:
                raise ValueError(
                    f"the operator {name} of {self.title} is registered twice: {_place(self[name])} and "
                    f"{_place(entry)}; remove one"
                )
            self[name] = entry

    def refusal(self, node: Node, *context: Any) -> str | None:
        """Returns why the backend does not support a call, or None if it does."""
        entry = self.get(self.name_of(node))
        return f"{self.title} has no such operator" if entry is None else entry.refusal(node, *context)


def _place(entry: object) -> str:
    """Returns the module and the name of an entry's type, for messages."""
    of = entry if isinstance(entry, type) else type(entry)
    return f"{of.__module__}.{of.__qualname__}"
