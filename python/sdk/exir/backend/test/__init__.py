# SPDX-License-Identifier: BSD-3-Clause
"""Small backends that documents and tests use: each shows one part of the interface."""
