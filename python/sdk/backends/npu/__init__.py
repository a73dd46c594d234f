# SPDX-License-Identifier: BSD-3-Clause
"""Shared code of backends for NPUs whose compilers only the vendors distribute: the quantised graph of a partition
(`graph`), its interpreter in PyTorch (`interpreter`), tables of operators with limits (`operators`), the partitioner
(`partitioner`), and the call of the vendor's compiler (`compiler`)."""
