# SPDX-License-Identifier: BSD-3-Clause
"""Generates kernel registration code from functions.yaml files. Run as ``python -m codegen.gen`` by the build."""
