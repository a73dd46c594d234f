# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.backends`: each backend has a folder with its partitioner and compiler. The code that runs its programs is in
the repository's `backends/`.
"""
