# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.backends.samsung.partition.enn_partitioner` has `EnnPartitioner`."""
