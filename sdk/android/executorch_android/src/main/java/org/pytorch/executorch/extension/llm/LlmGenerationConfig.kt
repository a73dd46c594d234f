// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.extension.llm

/**
 * How an answer is generated: `LlmGenerationConfig.create().maxNewTokens(64).build()`.
 *
 * @property isEcho whether the callback receives the prompt first.
 * @property maxNewTokens the most tokens of the answer; -1: what the context has room for.
 * @property isWarming whether this run only warms up: the callback then receives nothing.
 * @property seqLen the most tokens of prompt and answer together; -1: all of the context.
 * @property temperature 0: always the likeliest token; higher values make the answer more random.
 * @property numBos the number of begin tokens before the prompt.
 * @property numEos the number of end tokens after it.
 * @property grammar the grammar that the answer follows, in the language that [grammarType] names; "": anything.
 * @property grammarType "json_schema", "regex", "gbnf" or "lark".
 * @property lookupTokens the most tokens that prompt look-up checks at once; 0: no look-up.
 * @property draftTokens the most tokens that the model of [LlmModule.setDraft] drafts at once; 0: none.
 */
public class LlmGenerationConfig
private constructor(
  @get:JvmName("isEcho") public val isEcho: Boolean,
  public val maxNewTokens: Int,
  @get:JvmName("isWarming") public val isWarming: Boolean,
  public val seqLen: Int,
  public val temperature: Float,
  public val numBos: Int,
  public val numEos: Int,
  public val grammar: String,
  public val grammarType: String,
  public val lookupTokens: Int,
  public val draftTokens: Int,
) {
  /** Sets the properties; each function returns the builder. */
  public class Builder internal constructor() {
    private var echo = true
    private var maxNewTokens = -1
    private var warming = false
    private var seqLen = -1
    private var temperature = DEFAULT_TEMPERATURE
    private var numBos = 0
    private var numEos = 0
    private var grammar = ""
    private var grammarType = ""
    private var lookupTokens = 0
    private var draftTokens = 0

    public fun echo(echo: Boolean): Builder = apply { this.echo = echo }

    public fun maxNewTokens(maxNewTokens: Int): Builder = apply { this.maxNewTokens = maxNewTokens }

    public fun warming(warming: Boolean): Builder = apply { this.warming = warming }

    public fun seqLen(seqLen: Int): Builder = apply { this.seqLen = seqLen }

    public fun temperature(temperature: Float): Builder = apply { this.temperature = temperature }

    public fun numBos(numBos: Int): Builder = apply { this.numBos = numBos }

    public fun numEos(numEos: Int): Builder = apply { this.numEos = numEos }

    public fun grammar(grammar: String): Builder = apply { this.grammar = grammar }

    public fun grammarType(grammarType: String): Builder = apply { this.grammarType = grammarType }

    public fun lookupTokens(lookupTokens: Int): Builder = apply { this.lookupTokens = lookupTokens }

    public fun draftTokens(draftTokens: Int): Builder = apply { this.draftTokens = draftTokens }

    public fun build(): LlmGenerationConfig =
      LlmGenerationConfig(
        echo,
        maxNewTokens,
        warming,
        seqLen,
        temperature,
        numBos,
        numEos,
        grammar,
        grammarType,
        lookupTokens,
        draftTokens,
      )
  }

  public companion object {
    internal const val DEFAULT_TEMPERATURE = 0.8f

    /** The defaults: echo, the context's length, temperature 0.8, no additional begin and end tokens. */
    @JvmStatic public fun create(): Builder = Builder()
  }
}
