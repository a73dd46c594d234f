// SPDX-License-Identifier: BSD-3-Clause
// Needs kotlinx-coroutines, which an app may lack: so no other file refers to this one.
@file:JvmName("LlmModuleCoroutines")

package org.pytorch.executorch.extension.llm

import kotlinx.coroutines.flow.Flow
import org.pytorch.executorch.textFlow

/**
 * The model's answer to [prompt], piece by piece: whole characters, usually of one token. The flow is cold: each
 * collector continues the conversation. The model runs on `Dispatchers.IO` and waits for a collector that is slower. It
 * stops after the current token when the collector is cancelled or has enough, as with `take(20)`.
 *
 *     model.generateFlow("Once upon a time").collect { text -> view.append(text) }
 *
 * @param config by default the answer without the prompt, at the temperature 0.8, as long as the context has room.
 */
public fun LlmModule.generateFlow(
  prompt: String,
  config: LlmGenerationConfig = LlmGenerationConfig.create().echo(false).build(),
): Flow<String> =
  textFlow(::stop) { give ->
    generate(
      prompt,
      config,
      object : LlmCallback {
        override fun onResult(result: String) = give(result)
      },
    )
  }
