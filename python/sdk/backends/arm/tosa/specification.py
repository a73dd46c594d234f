# SPDX-License-Identifier: BSD-3-Clause
"""`TosaSpecification`: which release, profiles and extensions of TOSA a program may use.

Source: the TOSA specification 1.0, https://www.mlplatform.org/tosa/tosa_spec.html, chapter "Profiles".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PROFILES = ("FP", "INT")
LEVEL_8K = "8k"
U55 = "u55"
# The extensions of each profile. `u55` is not an extension of TOSA: it names the operators that an Ethos-U55 has.
INT4_LIMITS = (-7, 7)
"""TOSA's int4, an extension, has no -8."""

_EXTENSIONS = {"FP": ("bf16", "cf", "fft", "fp8e4m3", "fp8e5m2", "var"), "INT": ("cf", "int16", "int4", U55, "var")}
_FORM = re.compile(r"TOSA-(\d+)\.(\d+)(?:\.\d+)?\+(.+)")


@dataclass(frozen=True)
class TosaSpecification:
    """A parsed specification such as `TOSA-1.0+INT+int16`.

    Attributes:
        version: The major and minor number.
        profiles: `FP` for floats, `INT` for integers, or both.
        extensions: The extensions of the profiles that may be used.
        level_8k: Whether sizes must be within the level 8K.
    """

    version: tuple[int, int]
    profiles: tuple[str, ...]
    extensions: tuple[str, ...] = ()
    level_8k: bool = False

    @staticmethod
    def create_from_string(repr: str) -> TosaSpecification:
        """Raises ValueError if the text is not of the form `TOSA-1.0+PROFILE[+EXTENSION...]`."""
        match = _FORM.fullmatch(repr)
        if match is None:
            raise ValueError(
                f"{repr!r} is not a TOSA specification; write one like 'TOSA-1.0+FP' or 'TOSA-1.0+INT+int16'"
            )
        version = (int(match[1]), int(match[2]))
        if version != (1, 0):
            raise ValueError(f"{repr!r} has the version {version[0]}.{version[1]}; TOSA 1.0 is supported")
        names = match[3].split("+")
        profiles = tuple(name for name in dict.fromkeys(names) if name in PROFILES)
        if not profiles:
            raise ValueError(f"{repr!r} has no profile; add +FP, +INT or both")
        known = {name for profile in profiles for name in _EXTENSIONS[profile]}
        rest = [name for name in dict.fromkeys(names) if name not in (*PROFILES, LEVEL_8K)]
        unknown = [name for name in rest if name not in known]
        if unknown:
            raise ValueError(
                f"{repr!r} has the extension {unknown[0]!r}; {' and '.join(profiles)} has {', '.join(sorted(known))}"
            )
        return TosaSpecification(version, profiles, tuple(rest), LEVEL_8K in names)

    @property
    def is_U55_subset(self) -> bool:  # noqa: N802
        """Whether only operators of the Ethos-U55 may be used."""
        return U55 in self.extensions

    def support_integer(self) -> bool:
        """Whether the profile INT is there."""
        return "INT" in self.profiles

    def support_float(self) -> bool:
        """Whether the profile FP is there."""
        return "FP" in self.profiles

    def support_extension(self, extension: str) -> bool:
        """Whether an extension may be used."""
        return extension in self.extensions

    def __str__(self) -> str:
        level = (LEVEL_8K,) if self.level_8k else ()
        return "+".join((f"TOSA-{self.version[0]}.{self.version[1]}", *self.profiles, *self.extensions, *level))
