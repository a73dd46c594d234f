# SPDX-License-Identifier: BSD-3-Clause
"""An HTML page that needs no other file."""

from __future__ import annotations

from html import escape


def html_page(title: str, style: str, body: str) -> str:
    """A page with this style sheet and body. On a phone, it is as wide as the screen."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{style}</style></head>\n<body>\n{body}\n</body></html>\n"
    )
