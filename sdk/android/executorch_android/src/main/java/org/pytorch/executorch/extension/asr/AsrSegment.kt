// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.extension.asr

/**
 * A part of a text, such as a sentence, with its times in seconds from the beginning of the sound.
 *
 * @property words the words of the text, if [AsrTranscribeConfig.wordTimes] is set.
 */
public data class AsrSegment(
  public val start: Double,
  public val end: Double,
  public val text: String,
  public val words: List<AsrWord>,
)

/**
 * A word and its times in seconds from the beginning of the sound.
 *
 * @property text the word, with the space before it and the punctuation after it.
 */
public data class AsrWord(public val start: Double, public val end: Double, public val text: String)

/**
 * Receives the parts of a text, in the thread that called `transcribeSegments`. It may call [AsrModule.stop] and no other
 * function of the module.
 */
public fun interface AsrSegmentCallback {
  public fun onSegment(segment: AsrSegment)
}
