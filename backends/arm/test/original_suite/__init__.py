# SPDX-License-Identifier: BSD-3-Clause
"""Runs the original's tests of Arm's operators against this SDK: `run` copies them with the package's name changed, and
`common` and `pipelines` replace the original's modules of these names, which call internals of its compiler.
"""
