// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.extension.asr

/**
 * How speech is transcribed.
 *
 * @property maxNewTokens the most tokens of a window of sound.
 * @property temperature 0: always the likeliest token; higher values make the text more random.
 * @property decoderStartTokenId the token that the text begins with; 0: the one that the program names, and 0 if it names
 *   none.
 * @property promptTokenIds tokens that the model is given after that token, such as a language and a task: [AsrModule.tokenId] has
 *   their numbers. Null: those that the program names.
 * @property wordTimes whether [AsrModule.transcribeSegments] also finds the times of words.
 */
public data class AsrTranscribeConfig
@JvmOverloads
constructor(
  public val maxNewTokens: Long = 128,
  public val temperature: Float = 0f,
  public val decoderStartTokenId: Long = 0,
  public val promptTokenIds: List<Long>? = null,
  public val wordTimes: Boolean = false,
) {
  init {
    require(maxNewTokens > 0) { "maxNewTokens is $maxNewTokens; expected at least 1" }
    require(temperature >= 0) { "temperature is $temperature; expected at least 0" }
  }

  /** Sets the properties; each function returns the builder. */
  public class Builder {
    private var config = AsrTranscribeConfig()

    public fun setMaxNewTokens(maxNewTokens: Long): Builder = apply { config = config.copy(maxNewTokens = maxNewTokens) }

    public fun setTemperature(temperature: Float): Builder = apply { config = config.copy(temperature = temperature) }

    public fun setDecoderStartTokenId(decoderStartTokenId: Long): Builder = apply {
      config = config.copy(decoderStartTokenId = decoderStartTokenId)
    }

    public fun setPromptTokenIds(promptTokenIds: List<Long>?): Builder = apply {
      config = config.copy(promptTokenIds = promptTokenIds)
    }

    public fun setWordTimes(wordTimes: Boolean): Builder = apply { config = config.copy(wordTimes = wordTimes) }

    public fun build(): AsrTranscribeConfig = config
  }
}
