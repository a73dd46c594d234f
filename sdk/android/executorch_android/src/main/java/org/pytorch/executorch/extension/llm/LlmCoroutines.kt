// SPDX-License-Identifier: BSD-3-Clause
// Needs kotlinx-coroutines, which an app may lack: so no other file refers to this one.
@file:JvmName("LlmModuleCoroutines")

package org.pytorch.executorch.extension.llm

import java.util.concurrent.atomic.AtomicBoolean
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.channels.trySendBlocking
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.channelFlow
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.launch

/**
 * The model's answer to [prompt], piece by piece: whole characters, usually of one token. The flow is cold: each
 * collector continues the conversation. The model runs on [Dispatchers.IO] and waits for a collector that is slower. It
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
  channelFlow {
      val isOver = AtomicBoolean()
      // `Unconfined`: it is resumed in the thread that cancels, because generate() keeps this one busy.
      val watcher =
        launch(Dispatchers.Unconfined) {
          try {
            awaitCancellation()
          } finally {
            if (!isOver.get()) stop()
          }
        }
      try {
        generate(
          prompt,
          config,
          object : LlmCallback {
            override fun onResult(result: String) {
              // A stop() before the first token has no effect: this ends such an answer.
              if (trySendBlocking(result).isFailure) stop()
            }
          },
        )
      } finally {
        isOver.set(true)
        watcher.cancel()
      }
    }
    .flowOn(Dispatchers.IO)
