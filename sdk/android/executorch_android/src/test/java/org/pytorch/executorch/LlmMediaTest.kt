// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import org.junit.jupiter.api.Assumptions.assumeTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.pytorch.executorch.extension.llm.LlmCallback
import org.pytorch.executorch.extension.llm.LlmGenerationConfig
import org.pytorch.executorch.extension.llm.LlmModule

/**
 * Pictures, sound, drafts and sessions. tests/data/make_multimodal.py makes the programs and says what transformers makes
 * of the prompt "ab", the picture or sound, and "cd".
 */
@Timeout(60)
internal class LlmMediaTest {
  private val data = Corpus.root.parentFile
  private val text = File(data, "language_model.pte").path
  private val greedy = LlmGenerationConfig.create().temperature(0f).echo(false).maxNewTokens(8)
  private val bytes = ByteArray(3 * 28 * 28) { (it * 37 % 256).toByte() }
  private val numbers = IntArray(bytes.size) { it * 37 % 256 }
  private val features = FloatArray(16 * 200) { (it * 37 % 256) / 256f }
  private val tokenizer = File.createTempFile("tokenizer", ".json")

  /** The tokenizer of these programs: the characters from the space on, each of which is one token. */
  init {
    assumeTrue(LlmModule.isSupported(), "built without EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER")
    tokenizer.deleteOnExit()
    val letters = (0 until 95).map { (32 + it).toChar() }
    val escaped = letters.map { if (it == '"' || it == '\\') "\\$it" else "$it" }
    val vocabulary = escaped.withIndex().joinToString(",") { (number, letter) -> "\"$letter\":$number" }
    tokenizer.writeText(
      """{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"."},"behavior":"Isolated","invert":false},""" +
        """"model":{"type":"WordLevel","vocab":{$vocabulary},"unk_token":"?"},"decoder":{"type":"Fuse"}}"""
    )
  }

  private fun open(name: String) =
    LlmModule(LlmModule.MODEL_TYPE_MULTIMODAL, File(data, "multimodal/$name.pte").path, tokenizer.path, 0f)

  private fun expected(name: String): String {
    val tokens = File(data, "multimodal/$name.expected").readLines()[0].split(" ").map { it.toInt() }
    return tokens.joinToString("") { (it + 32).toChar().toString() }
  }

  private fun LlmModule.answer(prompt: String, config: LlmGenerationConfig.Builder = greedy): String {
    val pieces = StringBuilder()
    generate(prompt, config.build(), LlmCallback { pieces.append(it) })
    return pieces.toString()
  }

  private fun direct(size: Int, fill: (ByteBuffer) -> Unit): ByteBuffer =
    ByteBuffer.allocateDirect(size).order(ByteOrder.nativeOrder()).also(fill)

  @Test
  fun picturesAreThoseOfTransformers() = open("llava").use { model ->
    val buffer = direct(bytes.size) { it.put(bytes) }
    for (add in listOf<() -> Long>({ model.prefillImages(numbers, 28, 28, 3) }, { model.prefillImages(buffer, 28, 28, 3) })) {
      assertEquals(2, model.prefillPrompt("ab"))
      assertEquals(6, add()) // a picture is four tokens
      assertEquals(expected("llava"), model.answer("cd"))
      model.resetContext()
    }
    val pieces = StringBuilder()
    model.prefillPrompt("ab")
    assertEquals(0, model.generate(numbers, 28, 28, 3, "cd", 16, { pieces.append(it) }, false, 0f, 0, 0))
    assertTrue(pieces.startsWith(expected("llava")), pieces.toString())
    assertEquals(16 - 4 - "cd".length, pieces.length) // the length is that of picture, prompt and answer
  }

  /** A picture and its prompt are added by one call, so that neither is added without the other. */
  @Test
  fun aPromptThatCannotBeUsedLeavesNoPicture() = open("llava").use { model ->
    model.prefillPrompt("ab")
    val error = assertFailsWith<ExecutorchException> { model.generate(numbers, 28, 28, 3, "x".repeat(1000), 16, LlmCallback {}) }
    assertEquals(ExecutorchRuntimeException.INVALID_ARGUMENT, error.errorCode)
    assertEquals(6, model.prefillImages(numbers, 28, 28, 3)) // two letters, and four tokens of one picture
    assertEquals(expected("llava"), model.answer("cd"))
  }

  /** With the mean and the deviation of the program's processor. */
  @Test
  fun normalizedPictures() = open("llava").use { model ->
    fun answerTo(add: () -> Long): String {
      model.resetContext()
      model.prefillPrompt("ab")
      assertEquals(6, add())
      return model.answer("cd")
    }
    val dark = FloatArray(bytes.size) { -1f }
    val buffer = direct(4 * bytes.size) { it.asFloatBuffer().put(dark) }
    assertEquals(
      answerTo { model.prefillImages(dark, 28, 28, 3) },
      answerTo { model.prefillNormalizedImage(buffer, 28, 28, 3) },
    )
  }

  @Test
  fun soundIsThatOfTransformers() = open("voxtral").use { model ->
    model.prefillPrompt("ab")
    assertEquals(27, model.prefillAudio(features, 1, 16, 200))
    assertEquals(expected("voxtral"), model.answer("cd"))
  }

  @Test
  fun whatCannotBeUsedLeavesTheContext() {
    open("voxtral").use { model ->
      model.prefillPrompt("ab")
      assertFailsWith<ExecutorchException.NotSupported> { model.prefillImages(numbers, 28, 28, 3) }
      assertFailsWith<ExecutorchException.NotSupported> { model.prefillRawAudio(ByteArray(400), 1, 1, 100) }
      val sizes = assertFailsWith<ExecutorchException> { model.prefillRawAudio(ByteArray(150), 1, 1, 100) }
      assertEquals(ExecutorchRuntimeException.INVALID_ARGUMENT, sizes.errorCode)
      val whole = assertFailsWith<ExecutorchException> { model.prefillAudio(ByteArray(16 * 200), 1, 16, 200) }
      assertTrue("holds Byte" in whole.message!!, whole.message)
      model.prefillAudio(features, 1, 16, 200)
      assertEquals(expected("voxtral"), model.answer("cd"))
    }
    open("llava").use { model ->
      val shape = assertFailsWith<ExecutorchException> { model.prefillImages(IntArray(4 * 28 * 28), 28, 28, 4) }
      assertTrue("takes 3 x 28 x 28" in shape.message!!, shape.message)
      val heard = mutableListOf<String>()
      val callback =
        object : LlmCallback {
          override fun onResult(result: String) = Unit

          override fun onError(errorCode: Int, message: String) {
            heard += message
          }
        }
      assertFailsWith<ExecutorchException> { model.generate(IntArray(4 * 28 * 28), 28, 28, 4, "cd", 16, callback) }
      assertEquals(listOf(shape.message), heard)
      val other = if (ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN) ByteOrder.LITTLE_ENDIAN else ByteOrder.BIG_ENDIAN
      for ((words, call) in listOf<Pair<String, () -> Any>>(
        "need 12 bytes, found 3" to { model.prefillImages(IntArray(3), 2, 2, 3) },
        "expected positive ones" to { model.prefillImages(FloatArray(3), -1, -3, 1) },
        "expected positive ones" to { model.prefillAudio(features, Int.MAX_VALUE, Int.MAX_VALUE, Int.MAX_VALUE) },
        "need 12 bytes, found 13" to { model.prefillNormalizedImage(direct(13) {}, 1, 1, 3) },
        "found 256" to { model.prefillImages(intArrayOf(256), 1, 1, 1) },
        "direct buffer" to { model.prefillImages(ByteBuffer.allocate(3), 1, 1, 3) },
        "native byte order" to { model.prefillNormalizedImage(ByteBuffer.allocateDirect(12).order(other), 1, 1, 3) },
      )) {
        val error = assertFailsWith<RuntimeException>(words) { call() }
        assertTrue(words in error.message!!, error.message)
      }
    }
  }

  @Test
  fun aModelDrafts() = LlmModule(text, tokenizer.path, 0f).use { model ->
    val alone = assertFailsWith<IllegalArgumentException> { model.setDraft(model) }
    assertTrue("cannot draft for itself" in alone.message!!, alone.message)
    val drafting = LlmGenerationConfig.create().temperature(0f).echo(false).maxNewTokens(8).draftTokens(3)
    assertFailsWith<ExecutorchException.InvalidState> { model.answer("Once upon a time", drafting) }
    model.resetContext()
    val draft = LlmModule(text, tokenizer.path, 0f)
    model.setDraft(draft)
    assertTrue("closed" in assertFailsWith<IllegalStateException> { draft.load() }.message!!)
    draft.close() // has no effect: the model belongs to the other module
    // The program gives the logits of one token only, so that drafts cannot be checked.
    val error = assertFailsWith<ExecutorchException.NotSupported> { model.answer("Once upon a time", drafting) }
    assertTrue("generate_full_logits" in error.message!!, error.message)
    model.resetContext()
    assertEquals("pDl*!Vn8", model.answer("Once upon a time"))
    val other = open("llava")
    assertFailsWith<ExecutorchException> { LlmModule(File(data, "speech/whisper.pte").path, tokenizer.path, 0f).use(other::setDraft) }
    other.close()
  }

  @Test
  fun aSessionGoesOn() {
    val file = File.createTempFile("conversation", ".session")
    try {
      val wanted = open("llava").use { model ->
        model.prefillPrompt("abc")
        model.saveSession(file.path)
        model.answer("de")
      }
      open("llava").use { model ->
        model.loadSession(file.path)
        assertEquals(wanted, model.answer("de"))
        assertFailsWith<ExecutorchRuntimeException> { model.loadSession("/none") }
        assertFailsWith<ExecutorchRuntimeException> { model.loadSession(text) }
      }
    } finally {
      file.delete()
    }
  }
}
