// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import java.util.concurrent.TimeUnit
import kotlin.test.assertEquals
import kotlin.test.assertTrue
import org.junit.jupiter.api.Assumptions.assumeTrue
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Test

/** Native code without memory throws an OutOfMemoryError and does not end the process. */
internal class NativeMemoryTest {
  @Test
  @Tag("memory")
  fun withoutMemoryAnErrorIsThrown() {
    assumeTrue(File("/proc/self/status").exists() && PRLIMIT.exists(), "needs Linux and prlimit")
    val classes = listOf(Native::class, NativeMemoryTest::class, Unit::class).map { File(it.java.protectionDomain.codeSource.location.toURI()).path }
    val java = File(System.getProperty("java.home"), "bin/java").path
    val libraries = "-Djava.library.path=${System.getProperty("java.library.path")}"
    val command = listOf(java, "-Xmx320m", "-XX:+UseSerialGC", libraries, "-cp", classes.distinct().joinToString(File.pathSeparator))
    val builder = ProcessBuilder(command + WithoutMemory::class.java.name).redirectErrorStream(true)
    builder.environment()["MALLOC_ARENA_MAX"] = "1" // threads reserve no address space for separate memory pools
    val child = builder.start()
    val text = child.inputStream.bufferedReader().readText()
    assertTrue(child.waitFor(60, TimeUnit.SECONDS), text)
    assertEquals(0, child.exitValue(), text)
    assertEquals(WithoutMemory.calls.keys.map { "$it: native code has no memory left" }, text.trim().lines())
  }

  private companion object {
    val PRLIMIT = File("/usr/bin/prlimit")
  }
}

/** The process of that test: limits its memory and calls functions that copy a text of 160 MB. */
internal object WithoutMemory {
  private val options = NativeModel.noOptions
  private val none = emptyArray<ByteArray>()
  private val short = "none".toByteArray()

  val calls =
    mapOf<String, (ByteArray) -> Any>(
      "loadFile" to { Native.loadFile(it, none, Module.LOAD_MODE_FILE, options) },
      "loadBundledFile" to { Native.loadBundledFile(it, none, Module.LOAD_MODE_FILE, options) },
      "loadDescriptor" to { Native.loadDescriptor(0, 0, 0, arrayOf(it), Module.LOAD_MODE_FILE, options) },
      "llmLoad" to { Native.llmLoad(short, it, none, Module.LOAD_MODE_FILE, options) },
      "asrLoad" to { Native.asrLoad(short, short, it, none, Module.LOAD_MODE_FILE, options) },
    )

  @JvmStatic
  fun main(arguments: Array<String>) {
    Native.load()
    val text = ByteArray(160 shl 20)
    limit("unlimited") // what Java needs to start a process counts as used
    val used = File("/proc/self/statm").readText().split(" ")[0].toLong() * 4096
    limit("${used + (32 shl 20)}") // enough for Java, and less than the text
    for ((name, call) in calls) {
      val message = try { call(text).toString() } catch (e: Throwable) { e.message }
      println("$name: $message")
    }
  }

  private fun limit(bytes: String) {
    val process = File("/proc/self").canonicalFile.name
    check(ProcessBuilder("prlimit", "--pid", process, "--as=$bytes:").inheritIO().start().waitFor() == 0)
  }
}
