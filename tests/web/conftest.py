# SPDX-License-Identifier: BSD-3-Clause
from web_pages import chromium

__all__ = ["chromium"]
