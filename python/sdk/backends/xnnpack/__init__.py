# SPDX-License-Identifier: BSD-3-Clause
"""Gives models to XNNPACK, which runs them on CPUs: `partition.xnnpack_partitioner.XnnpackPartitioner`."""
