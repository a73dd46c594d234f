// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch.extension.llm

import org.pytorch.executorch.Module

/**
 * What an [LlmModule] loads: `LlmModuleConfig.create().modulePath(program).tokenizerPath(tokenizer).build()`.
 *
 * @property modulePath of the `.pte` file.
 * @property tokenizerPath of a `tokenizer.json`, `tokenizer.model` or `tokenizer.bin`.
 * @property temperature the temperature where a function is not given one.
 * @property dataPath of a `.ptd` file with weights; null: none.
 * @property modelType one of the constants `MODEL_TYPE_*`.
 * @property numBos the number of begin tokens before a prompt, where a function is not given one.
 * @property numEos the number of end tokens after it.
 * @property loadMode one of the constants `LOAD_MODE_*`, which have the values of [Module]'s.
 */
public class LlmModuleConfig
private constructor(
  public val modulePath: String,
  public val tokenizerPath: String,
  public val temperature: Float,
  public val dataPath: String?,
  public val modelType: Int,
  public val numBos: Int,
  public val numEos: Int,
  public val loadMode: Int,
) {
  /** Sets the properties; each function returns the builder. */
  public class Builder internal constructor() {
    private var modulePath: String? = null
    private var tokenizerPath: String? = null
    private var temperature = LlmGenerationConfig.DEFAULT_TEMPERATURE
    private var dataPath: String? = null
    private var modelType = MODEL_TYPE_TEXT
    private var numBos = 0
    private var numEos = 0
    private var loadMode = LOAD_MODE_MMAP

    public fun modulePath(modulePath: String): Builder = apply { this.modulePath = modulePath }

    public fun tokenizerPath(tokenizerPath: String): Builder = apply { this.tokenizerPath = tokenizerPath }

    public fun temperature(temperature: Float): Builder = apply { this.temperature = temperature }

    public fun dataPath(dataPath: String?): Builder = apply { this.dataPath = dataPath }

    public fun modelType(modelType: Int): Builder = apply { this.modelType = modelType }

    public fun numBos(numBos: Int): Builder = apply { this.numBos = numBos }

    public fun numEos(numEos: Int): Builder = apply { this.numEos = numEos }

    public fun loadMode(loadMode: Int): Builder = apply { this.loadMode = loadMode }

    /** Throws [IllegalArgumentException] without both paths. */
    public fun build(): LlmModuleConfig =
      LlmModuleConfig(
        requireNotNull(modulePath) { "expected the path of a program: call modulePath() first" },
        requireNotNull(tokenizerPath) { "expected the path of a tokenizer: call tokenizerPath() first" },
        temperature,
        dataPath,
        modelType,
        numBos,
        numEos,
        loadMode,
      )
  }

  public companion object {
    public const val LOAD_MODE_FILE: Int = Module.LOAD_MODE_FILE
    public const val LOAD_MODE_MMAP: Int = Module.LOAD_MODE_MMAP
    public const val LOAD_MODE_MMAP_USE_MLOCK: Int = Module.LOAD_MODE_MMAP_USE_MLOCK
    public const val LOAD_MODE_MMAP_USE_MLOCK_IGNORE_ERRORS: Int = Module.LOAD_MODE_MMAP_USE_MLOCK_IGNORE_ERRORS
    public const val MODEL_TYPE_TEXT: Int = LlmModule.MODEL_TYPE_TEXT
    public const val MODEL_TYPE_TEXT_VISION: Int = LlmModule.MODEL_TYPE_TEXT_VISION
    public const val MODEL_TYPE_MULTIMODAL: Int = LlmModule.MODEL_TYPE_MULTIMODAL

    @JvmStatic public fun create(): Builder = Builder()
  }
}
