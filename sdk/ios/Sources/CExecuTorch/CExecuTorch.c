/* SPDX-License-Identifier: BSD-3-Clause */
/* A target must have a source file; this one shows that the headers are C. */
#include <CExecuTorch/asr.h>
#include <CExecuTorch/executorch.h>
#include <CExecuTorch/images.h>
#include <CExecuTorch/llm.h>
