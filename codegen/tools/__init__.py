# SPDX-License-Identifier: BSD-3-Clause
"""Command lines that builds call: gen_oplist, merge_yaml, gen_selected_op_variants, gen_max_kernel_num."""
