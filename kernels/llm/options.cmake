# SPDX-License-Identifier: BSD-3-Clause
executorch_option(EXECUTORCH_BUILD_KERNELS_LLM OFF "Operators of language models: attention over a cache (fetches Highway)" GROUP kernels
  TARGETS llm_ops_lib IN kernels/llm)
executorch_option(EXECUTORCH_BUILD_KERNELS_LLM_AOT OFF "A name of ExecuTorch, without effect: its library for exporting is part of the Python package here")
