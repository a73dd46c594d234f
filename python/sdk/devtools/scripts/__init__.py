# SPDX-License-Identifier: BSD-3-Clause
"""Small command lines over the developer tools."""
