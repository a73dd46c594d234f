// SPDX-License-Identifier: BSD-3-Clause
// Needs kotlinx-coroutines, which an app may lack: so only files that need them too refer to this one.
package org.pytorch.executorch

import java.util.concurrent.atomic.AtomicBoolean
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.channels.trySendBlocking
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.channelFlow
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.launch

/**
 * The pieces of text that [make] gives to its argument. [make] runs in [Dispatchers.IO], and [stop] ends it when the
 * collector is cancelled or has enough.
 */
internal fun textFlow(stop: () -> Unit, make: ((String) -> Unit) -> Unit): Flow<String> =
  channelFlow {
      val isOver = AtomicBoolean()
      // `Unconfined`: it is resumed in the thread that cancels, because make() keeps this one busy.
      val watcher =
        launch(Dispatchers.Unconfined) {
          try {
            awaitCancellation()
          } finally {
            if (!isOver.get()) stop()
          }
        }
      try {
        // A stop() before the first token has no effect: the failure to send ends such a text.
        make { if (trySendBlocking(it).isFailure) stop() }
      } finally {
        isOver.set(true)
        watcher.cancel()
      }
    }
    .flowOn(Dispatchers.IO)
