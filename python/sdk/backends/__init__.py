# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.backends`: each backend has a folder with its partitioner and compiler. Its C++ runtime is in the repository's
`backends/`.
"""
