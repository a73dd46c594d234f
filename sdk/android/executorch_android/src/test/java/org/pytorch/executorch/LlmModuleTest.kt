// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import kotlin.concurrent.thread
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertTrue
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assumptions.assumeTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout
import org.pytorch.executorch.extension.llm.LlmCallback
import org.pytorch.executorch.extension.llm.LlmGenerationConfig
import org.pytorch.executorch.extension.llm.LlmModule
import org.pytorch.executorch.extension.llm.LlmModuleConfig
import org.pytorch.executorch.extension.llm.generateFlow

/** Text from a language model. tests/data/make_language_model.py makes it and says what eager mode makes of the prompt. */
@Timeout(60)
internal class LlmModuleTest {
  private val program = File(Corpus.root.parentFile, "language_model.pte").path
  private val prompt = "Once upon a time"
  private val eager = "pDl*!Vn8{l9W{l9W{l9W"
  private val greedy = LlmGenerationConfig.create().temperature(0f).echo(false).maxNewTokens(20).build()

  /** The tokenizer that the program contains: the characters from the space on, each of which is one token. */
  private val tokenizer =
    File.createTempFile("tokenizer", ".json").apply {
      val vocabulary =
        (0 until 95).joinToString(",") { number ->
          val letter = (32 + number).toChar()
          "\"${if (letter == '"' || letter == '\\') "\\" else ""}$letter\":$number"
        }
      writeText(
        """{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"."},"behavior":"Isolated","invert":false},""" +
          """"model":{"type":"WordLevel","vocab":{$vocabulary},"unk_token":"?"},"decoder":{"type":"Fuse"}}"""
      )
    }

  init {
    assumeTrue(LlmModule.isSupported(), "built without EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER")
  }

  @AfterEach
  fun deleteTokenizer() {
    tokenizer.delete()
  }

  private fun <T> withModel(block: (LlmModule) -> T): T = LlmModule(program, tokenizer.path, 0f).use(block)

  /** The text and the statistics that a callback got. */
  private class Answer(private val onPiece: () -> Unit = {}) : LlmCallback {
    val pieces = mutableListOf<String>()
    val errors = mutableListOf<Pair<Int, String>>()
    var stats: Map<*, *>? = null
    val text
      get() = pieces.joinToString("")

    override fun onResult(result: String) {
      pieces += result
      onPiece()
    }

    override fun onStats(stats: String) {
      this.stats = Json.parse(stats) as Map<*, *>
    }

    override fun onError(errorCode: Int, message: String) {
      errors += errorCode to message
    }
  }

  @Test
  fun continuesAsEagerDoes() = withModel { model ->
    assertEquals(0, model.load())
    val answer = Answer()
    assertEquals(0, model.generate(prompt, greedy, answer))
    assertEquals(eager, answer.text)
    assertEquals(20, answer.pieces.size)
    val stats = answer.stats!!
    assertEquals(16L, stats["prompt_tokens"])
    assertEquals(20L, stats["generated_tokens"])
    assertTrue(stats["first_token_ms"] as Long in stats["inference_start_ms"] as Long..stats["inference_end_ms"] as Long)
    assertTrue(stats["model_load_start_ms"] as Long > 0 && stats["SCALING_FACTOR_UNITS_PER_SECOND"] == 1000L)
  }

  @Test
  fun theDocumentedOverloads() = withModel { model ->
    fun text(generate: (Answer) -> Int): String = Answer().also { assertEquals(0, generate(it)) }.text.also { model.resetContext() }
    // The length is that of prompt and answer; the prompt is repeated unless `echo` is false.
    assertEquals(prompt + eager.take(4), text { model.generate(prompt, 20, it) })
    assertEquals(eager.take(4), text { model.generate(prompt, 20, it, false) })
    assertTrue(text { model.generate(prompt, it) }.startsWith(prompt + eager))
    assertTrue(text { model.generate("On\u0000ce", it) }.startsWith("On\u0000ce"))
    assertTrue(text { model.generate(prompt, it, false) }.startsWith(eager))
    assertEquals(eager.take(4), text { model.generate(prompt, 20, it, false, 0f, 0, 0) })
    assertEquals(eager.take(4), text { model.generate(null, 0, 0, 0, prompt, 20, it, false) })
    assertEquals("", text { model.generate(prompt, LlmGenerationConfig.create().temperature(0f).warming(true).build(), it) })
  }

  @Test
  fun keepsTheConversationUntilReset() = withModel { model ->
    val few = LlmGenerationConfig.create().temperature(0f).echo(false).maxNewTokens(8).build()
    fun next(text: String) = Answer().also { model.generate(text, few, it) }.text
    assertEquals(eager.take(8), next(prompt))
    assertEquals(eager.substring(8, 16), next(""))
    model.resetContext()
    assertEquals(16, model.prefillPrompt(prompt))
    assertEquals(eager.take(8), next(""))
    assertEquals("<user>Hi", model.applyChatTemplate("""{"messages": [{"role": "user", "content": "Hi"}]}"""))
  }

  @Test
  fun theCallbackAndOtherThreadsStopIt() = withModel { model ->
    val answer = Answer { model.stop() }
    model.generate(prompt, greedy, answer)
    assertTrue(answer.pieces.size <= 2, answer.text)
    model.resetContext()
    val other = Answer { thread { model.stop() }.join() }
    model.generate(prompt, greedy, other)
    assertTrue(other.pieces.size <= 2, other.text)
    model.resetContext()
    assertEquals(eager, Answer().also { model.generate(prompt, greedy, it) }.text)
  }

  @Test
  fun aCallbackMayOnlyStop() = withModel { model ->
    for (call in listOf<() -> Any>(model::load, model::resetContext, { model.prefillPrompt("x") }, model::close, { model.generate("x", Answer()) })) {
      val answer = Answer { call() }
      val error = assertFailsWith<IllegalStateException> { model.generate(prompt, greedy, answer) }
      assertTrue("a callback may call stop()" in error.message!!, error.message)
      assertEquals(1, answer.pieces.size)
      model.resetContext()
    }
  }

  @Test
  fun theFlowHasThePieces() = withModel { model ->
    runBlocking {
      val pieces = model.generateFlow(prompt, greedy).toList()
      assertEquals(eager, pieces.joinToString(""))
      assertEquals(20, pieces.size)
      model.resetContext()
      // A collector that has enough stops the model, which can go on afterwards.
      assertEquals(eager.take(3), model.generateFlow(prompt, greedy).take(3).toList().joinToString(""))
      model.resetContext()
      assertEquals(eager, model.generateFlow(prompt, greedy).toList().joinToString(""))
      model.resetContext()
      assertTrue(model.generateFlow(prompt).toList().isNotEmpty())
      model.resetContext()
      val shown = StringBuilder()
      answer(model, "Hi", shown::append) // of docs/android.md
      assertEquals(64 - "<user>Hi".length, shown.length)
    }
  }

  @Test
  fun cancellingTheCollectorStopsTheModel() = withModel { model ->
    runBlocking {
      val pieces = mutableListOf<String>()
      // Twice the tokens that fit: without a stop the answer would fill the context.
      val collector = launch(Dispatchers.Default) { model.generateFlow(prompt, greedy).collect { pieces += it; if (pieces.size == 2) kotlinx.coroutines.awaitCancellation() } }
      while (pieces.size < 2) kotlinx.coroutines.delay(1)
      collector.cancelAndJoin()
      assertEquals(eager.take(2), pieces.joinToString(""))
      model.resetContext() // which would wait while it generates
      assertEquals(eager, model.generateFlow(prompt, greedy).toList().joinToString(""))
    }
  }

  @Test
  fun mistakesAreErrorsWithWords() = withModel { model ->
    val answer = Answer()
    val error = assertFailsWith<ExecutorchRuntimeException.ExecutorchInvalidArgumentException> { model.generate("x".repeat(100), greedy, answer) }
    assertTrue("the prompt is too long: it has 100 tokens" in error.message!!, error.message)
    assertEquals(program, error.file)
    assertEquals(listOf(ExecutorchRuntimeException.INVALID_ARGUMENT to error.message!!), answer.errors)
    runBlocking { assertFailsWith<ExecutorchException> { model.generateFlow("x".repeat(100), greedy).toList() } }
    assertFailsWith<ExecutorchException.NotSupported> { model.parseToolCalls("a") }
    model.close()
    model.close()
    model.stop()
    assertTrue("closed" in assertFailsWith<IllegalStateException> { model.generate(prompt, answer) }.message!!)
  }

  @Test
  fun filesAndSettings() {
    fun refused(words: String, block: () -> Any) {
      val error = assertFailsWith<IllegalArgumentException> { block() }
      assertTrue(words in error.message!!, error.message)
    }
    refused("there is no model at /none.pte") { LlmModule("/none.pte", tokenizer.path, 0f) }
    refused("there is no tokenizer at /none.json") { LlmModule(program, "/none.json", 0f) }
    refused("there is no data file at /none.ptd") { LlmModule(program, tokenizer.path, 0f, "/none.ptd") }
    refused("MODEL_TYPE_*, found 9") { LlmModule(9, program, tokenizer.path, 0f) }
    refused("from 0 to 3; found 7") { LlmModule(LlmModuleConfig.create().modulePath(program).tokenizerPath(tokenizer.path).loadMode(7).build()) }
    refused("call modulePath() first") { LlmModuleConfig.create().tokenizerPath(tokenizer.path).build() }
    refused("call tokenizerPath() first") { LlmModuleConfig.create().modulePath(program).build() }
    val config = LlmModuleConfig.create().modulePath(program).tokenizerPath(tokenizer.path).temperature(0f).build()
    assertEquals(LlmModuleConfig.LOAD_MODE_MMAP, config.loadMode)
    assertEquals(eager, LlmModule(config).use { model -> Answer().also { model.generate(prompt, greedy, it) }.text })
    val answers = LlmGenerationConfig.create().temperature(0f).echo(false).grammar("[0-9]{3}").grammarType("regex")
    val number = LlmModule(config).use { model -> Answer().also { model.generate(prompt, answers.build(), it) }.text }
    assertTrue(Regex("[0-9]{3}").matches(number), number)
    val bad = assertFailsWith<ExecutorchException> {
      LlmModule(config).use { it.generate(prompt, answers.grammar("(").build(), Answer()) }
    }
    assertTrue("position 2" in bad.message!!, bad.message)
    val defaults = LlmGenerationConfig.create().build()
    assertTrue(defaults.isEcho && defaults.maxNewTokens == -1 && defaults.seqLen == -1 && defaults.temperature == 0.8f)
    assertFalse(defaults.isWarming || defaults.numBos != 0 || defaults.numEos != 0)
    // A program that is not a language model, and a file that is not a tokenizer.
    assertFailsWith<ExecutorchException> { LlmModule(Corpus.path("add"), tokenizer.path, 0f).use { it.load() } }
    val error = assertFailsWith<ExecutorchException> { LlmModule(program, Corpus.path("add"), 0f).use { it.load() } }
    assertTrue("the tokenizer ${Corpus.path("add")} cannot be loaded" in error.message!!, error.message)
  }
}
