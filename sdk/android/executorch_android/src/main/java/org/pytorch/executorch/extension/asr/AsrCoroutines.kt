// SPDX-License-Identifier: BSD-3-Clause
// Needs kotlinx-coroutines, which an app may lack: so no other file refers to this one.
@file:JvmName("AsrModuleCoroutines")

package org.pytorch.executorch.extension.asr

import kotlinx.coroutines.flow.Flow
import org.pytorch.executorch.textFlow

/**
 * The text of a WAV file, piece by piece. The flow is cold: each collector transcribes the file. The model runs on
 * `Dispatchers.IO`, waits for a collector that is slower, and stops after the token that it computes when the collector is
 * cancelled or has enough.
 *
 *     model.transcribeFlow("speech.wav").collect { text -> view.append(text) }
 */
public fun AsrModule.transcribeFlow(wavPath: String, config: AsrTranscribeConfig? = null): Flow<String> =
  textFlow(::stop) { give -> transcribe(wavPath, config) { give(it) } }

/** The same for samples from -1 to 1. */
public fun AsrModule.transcribeFlow(samples: FloatArray, config: AsrTranscribeConfig? = null): Flow<String> =
  textFlow(::stop) { give -> transcribe(samples, config) { give(it) } }
