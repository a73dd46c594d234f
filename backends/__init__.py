# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.backends`: a folder a backend, with its partitioner, compiler, runtime and tests. There is none yet."""
