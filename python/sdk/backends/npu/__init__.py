# SPDX-License-Identifier: BSD-3-Clause
"""What backends for NPUs share whose compilers only their vendors distribute: the quantised graph of a partition
(`graph`), its interpreter in PyTorch (`interpreter`), tables of operators with limits (`operators`), the partitioner
(`partitioner`), and the door to the vendor's compiler (`compiler`)."""
