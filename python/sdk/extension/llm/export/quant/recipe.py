# SPDX-License-Identifier: BSD-3-Clause
"""Selects the weights to quantise, and how to quantise them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LAYER = re.compile(r"layers\.(\d+)\.")


@dataclass(frozen=True)
class QuantConfig:
    """How a weight is quantised: integers of `bits` (4, 5, 6 or 8), with a scale for `group_size` weights of a row."""

    bits: int
    group_size: int
    symmetric: bool
    """Whether weights have no zero points."""
    method: str
    """"min_max": scales from the largest and smallest weight; "hqq": scales with the least error (half-quadratic)."""


@dataclass
class QuantRule:
    """The configuration of weights whose whole name matches `pattern`. None does not quantise them."""

    pattern: str
    """A regular expression."""
    config: QuantConfig | None
    layers: set[int] | None = field(default=None, repr=False)
    """The rule is only for names with `layers.N.` where N is one of these; None means all names."""


@dataclass
class QuantRecipe:
    """A list of rules. The first rule that matches the name of a weight applies."""

    rules: list[QuantRule]

    def get_config(self, fqn: str) -> QuantConfig | None:
        """The configuration of a name. None: it is not quantised."""
        found = _LAYER.search(fqn)
        layer = None if found is None else int(found[1])
        for rule in self.rules:
            if (rule.layers is None or layer in rule.layers) and re.fullmatch(rule.pattern, fqn):
                return rule.config
        return None
