// SPDX-License-Identifier: BSD-3-Clause
// Speech recognition: Seq2SeqRunner, which is also called AsrRunner.
#pragma once

#include <executorch/extension/asr/runner/seq2seq_runner.h>
