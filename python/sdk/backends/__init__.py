# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.backends`: a folder a backend, with its partitioner and compiler. What runs its programs is in the repository's
`backends/`."""
