# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.backends.qualcomm.partition.qnn_partitioner` has `QnnPartitioner`."""
