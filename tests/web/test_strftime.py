# SPDX-License-Identifier: BSD-3-Clause
"""The strftime() of the WebAssembly module writes what this machine's C library writes."""

from __future__ import annotations

import ctypes
import datetime
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from web_pages import ROOT

CONVERSIONS = "aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyY%"
COMPILER = shutil.which("c++")


class Tm(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("sec", "min", "hour", "mday", "mon", "year", "wday", "yday", "isdst")]


def _tm(moment: datetime.datetime) -> Tm:
    found = moment.timetuple()
    values = (found.tm_sec, found.tm_min, found.tm_hour, found.tm_mday, found.tm_mon - 1, found.tm_year - 1900)
    return Tm(*values, (found.tm_wday + 1) % 7, found.tm_yday - 1, 0)


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
def test_dates_are_those_of_the_c_library(tmp_path: Path) -> None:
    library = tmp_path / "strftime.so"
    source = ROOT / "sdk" / "web" / "native" / "strftime.cpp"
    command = [str(COMPILER), "-std=c++17", "-shared", "-fPIC", "-DET_WEB_STRFTIME=web_strftime", str(source)]
    subprocess.run([*command, "-o", str(library)], check=True)
    write = ctypes.CDLL(str(library)).web_strftime
    write.restype = ctypes.c_size_t
    write.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER(Tm)]
    buffer = ctypes.create_string_buffer(400)
    flags = ("%-d", "%-m", "%_H", "%0e", "%^b", "%-I")
    form = "|".join([*(f"%{letter}" for letter in CONVERSIONS), *flags])
    # Beginnings and ends of years of every weekday, leap years among them, and hours on both sides of noon.
    for year in range(1970, 2071):
        for days in (-4, -3, -2, -1, 0, 1, 2, 3, 58, 59, 200):
            moment = datetime.datetime(year, 1, 1, (days * 7) % 24, 5, 9) + datetime.timedelta(days=max(days, 0))
            if days < 0:
                moment = datetime.datetime(year, 12, 32 + days, 23, 59, 59)
            assert write(buffer, 400, form.encode(), _tm(moment)) == len(buffer.value)
            assert buffer.value.decode() == time.strftime(form, moment.timetuple())
    assert write(buffer, 4, b"%Y", _tm(datetime.datetime(2026, 1, 1))) == 0  # no room for the NUL
