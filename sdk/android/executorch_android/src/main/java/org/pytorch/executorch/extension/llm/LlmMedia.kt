// SPDX-License-Identifier: BSD-3-Clause
// The arguments that LlmModule passes to native code.
package org.pytorch.executorch.extension.llm

import java.nio.ByteBuffer

// Numbers of et_llm_input_type.
internal const val INPUT_IMAGE = 1
internal const val INPUT_NORMALIZED_IMAGE = 2
internal const val INPUT_AUDIO_BYTES = 3
internal const val INPUT_AUDIO = 4
internal const val INPUT_RAW_AUDIO = 5

/** The numbers from 0 to 255 as bytes. */
internal fun bytesOf(numbers: IntArray): ByteArray =
  ByteArray(numbers.size) {
    val number = numbers[it]
    require(number in 0..255) { "expected numbers from 0 to 255 for a picture, found $number" }
    number.toByte()
  }

internal fun checkDirect(buffer: ByteBuffer) {
  require(buffer.isDirect) { "expected a direct buffer: make it with ByteBuffer.allocateDirect()" }
}
