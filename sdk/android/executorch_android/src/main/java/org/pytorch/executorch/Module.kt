// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.Closeable
import java.io.File
import java.io.IOException
import java.nio.ByteBuffer
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock

/**
 * A program, loaded and verified, and the methods of it that are ready to run.
 *
 *     Module.load("model.pte").use { module ->
 *       val scores = module.forward(EValue.from(image))[0].toTensor().dataAsFloatArray
 *     }
 *
 * All functions may be called from any thread; runs of one module take turns. They take as long as the model does: on
 * Android call them off the main thread, or use [executeAsync][org.pytorch.executorch.executeAsync] in a coroutine.
 * A call that the runtime refuses throws an [ExecutorchRuntimeException]. After [close], functions that use the program
 * throw an [IllegalStateException]. A module that is not closed is freed some time after it becomes unreachable.
 */
public open class Module private constructor(private var handle: Long, private val file: String?) : Closeable {
  private val lock = ReentrantLock()
  private val methods = ConcurrentHashMap<String, MethodState>()
  private var cancellation = Cancellation()
  @Volatile private var running: Cancellation? = null
  private val reaper = handle.let { pointer -> Reaper.register(this) { Native.freeModule(pointer) } }

  /**
   * Runs the method "forward".
   *
   * @param inputs one for each input of the method, in order.
   * @return its outputs. Their tensors show the module's memory until the method runs again: [Tensor.copy] keeps one.
   */
  public fun forward(vararg inputs: EValue): Array<EValue> = execute("forward", *inputs)

  /** Runs a method, like [forward]. The first run of a method loads it. */
  public fun execute(methodName: String, vararg inputs: EValue): Array<EValue> = execute(methodName, inputs, null)

  private fun execute(methodName: String, inputs: Array<out EValue>, given: Cancellation?): Array<EValue> =
    exclusively { module ->
      val method = stateOf(methodName)
      // The run overwrites the memory of the last outputs, so an output that is fed back as an input is copied first.
      val arguments = if (inputs.any(::isOutputOfThis)) Array(inputs.size) { own(inputs[it]) } else inputs
      arguments.forEach { if (it.isTensor) it.toTensor().pin() }
      if (cancellation.isCancelled) cancellation = Cancellation()
      val current = given ?: cancellation
      running = current
      try {
        run(method) { Reaper.keeping(current) { Native.execute(module, method.nameBytes, arguments, it, current.handle) } }
      } finally {
        running = null
      }
    }

  /**
   * The outputs of a method as they are in memory now, without a run: for outputs that are state, such as parameters.
   * Like a run, it makes the outputs of the last run invalid.
   */
  internal fun outputs(methodName: String): Array<EValue> =
    exclusively { module ->
      val method = stateOf(methodName)
      run(method) { Native.outputs(module, method.nameBytes, it) }
    }

  private inline fun run(method: MethodState, execute: (Run) -> Array<EValue>): Array<EValue> {
    method.runs++
    return method.memory.withLock {
      method.last?.expire()
      method.last = null
      val run = Run(this, method)
      try {
        execute(run)
      } finally {
        run.finish()
      }
    }
  }

  /**
   * Stops the run of [execute] that is in progress, from another thread: before its next instruction it ends with an
   * [ExecutorchRuntimeException] of the code [CANCELLED][ExecutorchRuntimeException.CANCELLED]. A call of a
   * backend is one instruction. Does nothing when no run is in progress; the module can be used again in either case.
   */
  public fun cancel() {
    running?.cancel()
  }

  /** How many test cases a bundled program has for a method; 0 for other programs. See [loadBundled]. */
  public fun bundledCaseCount(methodName: String): Int =
    exclusively { Native.bundledCaseCount(it, methodName.toByteArray()) }

  /** Runs a method with the inputs of test case [index] of a bundled program, like [execute]. [cancel] does not stop it. */
  public fun executeBundled(methodName: String, index: Int): Array<EValue> =
    exclusively { module ->
      require(index >= 0) { "expected the number of a test case from 0 on, found $index" }
      val method = stateOf(methodName)
      run(method) { Native.executeBundled(module, method.nameBytes, index, it) }
    }

  /**
   * Compares the outputs of [executeBundled] with those that the case expects: elements of floating-point tensors may
   * differ by [atol] + [rtol] times the expected one, all others not at all.
   *
   * @throws ExecutorchRuntimeException with [NOT_FOUND][ExecutorchRuntimeException.NOT_FOUND] if one differs, naming it;
   *   with [INVALID_STATE][ExecutorchRuntimeException.INVALID_STATE] if the last run of the method was another one.
   */
  @JvmOverloads
  public fun verifyBundled(methodName: String, index: Int, rtol: Double = 1e-5, atol: Double = 1e-8): Unit =
    exclusively { module ->
      require(index >= 0) { "expected the number of a test case from 0 on, found $index" }
      Native.verifyBundled(module, methodName.toByteArray(), index, rtol, atol)
    }

  /** Loads a method, so that its first run need not. */
  public fun loadMethod(methodName: String): Unit = exclusively { Native.loadMethod(it, methodName.toByteArray()) }

  /** The names of the program's methods. */
  public fun getMethods(): Array<String> = exclusively { Native.methods(it).decode() }

  /** The signature of a method, which need not be loaded. Throws [IllegalArgumentException] for an unknown name. */
  public fun getMethodMetadata(name: String): MethodMetadata =
    exclusively { module ->
      val names = Native.methods(module).decode()
      require(name in names) { "there is no method '$name'; the program has: ${names.joinToString()}" }
      val bytes = name.toByteArray()
      MethodMetadata(
        name,
        Native.methodBackends(module, bytes).decode(),
        ValueMetadata.read(Native.methodValues(module, bytes, false)),
        ValueMetadata.read(Native.methodValues(module, bytes, true)),
      )
    }

  /** The last lines of the runtime's log, the oldest first. All modules of the process share one log. */
  public fun readLogBuffer(): Array<String>? = readLogBufferStatic()

  /**
   * Writes an ETDump to [outputPath], a file for the Inspector: the duration of each instruction in all runs since the
   * last ETDump. A library that is built for it (CMake options `EXECUTORCH_BUILD_DEVTOOLS` and
   * `EXECUTORCH_ENABLE_EVENT_TRACER`) records every run and keeps the records until they are written, so use it for
   * measurements only.
   *
   * @return whether it was written. No file is written if this library records nothing, nothing ran, or the file cannot
   *   be written.
   */
  public fun etdump(outputPath: String): Boolean = exclusively { module ->
    val file = File(outputPath)
    // Check the file first: taking the ETDump removes it from the module.
    if (!ExecuTorchRuntime.recordsEvents() || !canWrite(file)) return false
    val bytes = Native.takeEtdump(module)
    if (bytes == null || bytes.isEmpty()) return false
    try {
      file.writeBytes(bytes)
      true
    } catch (e: IOException) {
      false
    }
  }

  private fun canWrite(file: File) = if (file.exists()) file.isFile && file.canWrite() else file.absoluteFile.parentFile?.canWrite() == true

  /** The same, to `/data/local/tmp/result.etdump`. */
  public fun etdump(): Boolean = etdump("/data/local/tmp/result.etdump")

  /**
   * Frees the module. Calling it again has no effect. Returned outputs stay valid.
   *
   * @throws IllegalStateException if the module is running in another thread.
   */
  public fun destroy() {
    check(lock.tryLock()) { "the module is in use by another thread: close it when the last run has returned" }
    try {
      handle = 0
      methods.clear()
      reaper.run()
    } finally {
      lock.unlock()
    }
  }

  /** [destroy]. */
  override fun close(): Unit = destroy()

  /** Runs a method and copies its outputs before another run can begin. The wait for the module can be interrupted. */
  internal fun executeCopied(
    methodName: String,
    inputs: Array<out EValue>,
    cancellation: Cancellation? = null,
  ): Array<EValue> {
    lock.lockInterruptibly()
    try {
      val outputs = execute(methodName, inputs, cancellation)
      return Array(outputs.size) { outputs[it].copy() }
    } finally {
      lock.unlock()
    }
  }

  private inline fun <T> exclusively(block: (Long) -> T): T =
    lock.withLock {
      check(handle != 0L) { "the module is closed" }
      ExecutorchException.withFile(file) { Reaper.keeping(this) { block(handle) } }
    }

  private fun stateOf(method: String): MethodState =
    methods[method] ?: MethodState(method).also { methods[method] = it }

  private fun isOutputOfThis(value: EValue) = value.isTensor && value.toTensor().run?.module === this

  private fun own(value: EValue): EValue = if (isOutputOfThis(value)) value.copy() else value

  public companion object {
    /** The file is read into memory. */
    public const val LOAD_MODE_FILE: Int = 0

    /** The file is mapped: loading takes no time, and the system may drop weights from memory and read them again. */
    public const val LOAD_MODE_MMAP: Int = 1

    /** Mapped, and kept in memory. */
    public const val LOAD_MODE_MMAP_USE_MLOCK: Int = 2

    /** Mapped, and kept in memory if the system allows it. */
    public const val LOAD_MODE_MMAP_USE_MLOCK_IGNORE_ERRORS: Int = 3

    /**
     * Loads and verifies a program.
     *
     * @param modelPath of the `.pte` file.
     * @param loadMode one of the constants above.
     * @param numThreads the number of threads that all modules of the process use together; 0 leaves it unchanged. Its
     *   initial value is the number of fast cores.
     * @throws IllegalArgumentException if there is no such file or it cannot be read.
     */
    @JvmStatic
    @JvmOverloads
    public fun load(modelPath: String?, loadMode: Int = LOAD_MODE_FILE, numThreads: Int = 0): Module =
      load(modelPath, BackendOptionsMap(), loadMode, numThreads)

    /** The same, with settings for backends. */
    @JvmStatic
    @JvmOverloads
    public fun load(
      modelPath: String?,
      options: BackendOptionsMap,
      loadMode: Int = LOAD_MODE_FILE,
      numThreads: Int = 0,
    ): Module = load(modelPath, emptyList(), options, loadMode, numThreads)

    /** The same, with weights in `.ptd` files. */
    @JvmStatic
    @JvmOverloads
    public fun load(
      modelPath: String?,
      dataPaths: List<String>,
      options: BackendOptionsMap = BackendOptionsMap(),
      loadMode: Int = LOAD_MODE_FILE,
      numThreads: Int = 0,
    ): Module {
      ExecuTorchRuntime.validateFilePath(modelPath, "model")
      dataPaths.forEach { ExecuTorchRuntime.validateFilePath(it, "data file") }
      return open(loadMode, numThreads, options, modelPath) {
        Native.loadFile(modelPath!!.toByteArray(), encode(dataPaths), loadMode, it)
      }
    }

    /**
     * Loads a bundled program (`.bpte`), which has test cases: [executeBundled] runs them. For libraries that are built
     * with the CMake option `EXECUTORCH_BUILD_DEVTOOLS`; others refuse it.
     */
    @JvmStatic
    @JvmOverloads
    public fun loadBundled(modelPath: String?, loadMode: Int = LOAD_MODE_FILE, numThreads: Int = 0): Module {
      ExecuTorchRuntime.validateFilePath(modelPath, "bundled program")
      return open(loadMode, numThreads, BackendOptionsMap(), modelPath) {
        Native.loadBundledFile(modelPath!!.toByteArray(), emptyArray(), loadMode, it)
      }
    }

    /**
     * Loads from `length` bytes at `offset` of an open file, which may be closed afterwards. They are mapped, not
     * copied. [loadAsset] loads a file of the app's assets.
     *
     * @param descriptor the file's number, as `ParcelFileDescriptor.getFd()` returns it.
     * @param length 0: to the end of the file.
     */
    @JvmStatic
    @JvmOverloads
    public fun load(
      descriptor: Int,
      offset: Long,
      length: Long,
      loadMode: Int = LOAD_MODE_MMAP,
      numThreads: Int = 0,
      options: BackendOptionsMap = BackendOptionsMap(),
    ): Module {
      require(descriptor >= 0 && offset >= 0 && length >= 0) {
        "expected a file descriptor, an offset and a length, none of them negative; found $descriptor, $offset and $length"
      }
      return open(loadMode, numThreads, options) { Native.loadDescriptor(descriptor, offset, length, emptyArray(), loadMode, it) }
    }

    /**
     * Loads from the bytes between a direct buffer's position and limit, usually of a mapped file. They are used in
     * place, so they must not change; the module keeps a reference to the buffer. (Bytes that do not start at a
     * multiple of 16 are copied.)
     */
    @JvmStatic
    @JvmOverloads
    public fun load(program: ByteBuffer, numThreads: Int = 0, options: BackendOptionsMap = BackendOptionsMap()): Module {
      require(program.isDirect) { "expected a direct buffer, such as FileChannel.map() or ByteBuffer.allocateDirect() gives" }
      return open(LOAD_MODE_FILE, numThreads, options) { Native.loadBuffer(program.slice(), emptyArray(), LOAD_MODE_FILE, it) }
    }

    /** The last lines of the runtime's log, the oldest first. */
    @JvmStatic public fun readLogBufferStatic(): Array<String>? = ExecuTorchRuntime.readLog()

    private inline fun open(
      loadMode: Int,
      numThreads: Int,
      options: BackendOptionsMap,
      file: String? = null,
      load: (Array<Any>) -> Long,
    ): Module {
      require(loadMode in LOAD_MODE_FILE..LOAD_MODE_MMAP_USE_MLOCK_IGNORE_ERRORS) {
        "expected one of the constants Module.LOAD_MODE_*, from 0 to 3; found $loadMode"
      }
      require(numThreads >= 0) { "expected a number of threads, or 0 to leave it as it is; found $numThreads" }
      if (numThreads > 0) Native.setThreadCount(numThreads)
      val (backends, keys, values) = options.flatten()
      return Module(ExecutorchException.withFile(file) { load(arrayOf(backends, keys, values)) }, file)
    }

    private fun encode(texts: List<String>): Array<ByteArray> = Array(texts.size) { texts[it].toByteArray() }
  }
}
