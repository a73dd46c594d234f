// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

/**
 * The library throws these exceptions when a call of the runtime fails. Each kind of failure has a class, so that a
 * `when` over them needs no `else`. All are [ExecutorchRuntimeException]s, which is ExecuTorch's class, with its code and message.
 *
 *     try {
 *       Module.load(path)
 *     } catch (e: ExecutorchException) {
 *       Log.e("models", "${e.file}: ${e.message}. ${e.hint}", e)
 *     }
 */
public sealed class ExecutorchException(errorCode: Int, details: String?) :
  ExecutorchRuntimeException(errorCode, details) {

  /** The path of the program in use. Null for a program from a buffer or a file descriptor. */
  public var file: String? = null
    internal set

  /** The operator that failed, `aten::add`, or the first one that is missing, `aten::add.out`; null if none is named. */
  public val operator: String? = details?.let(::operatorIn)

  /** The backend that failed, or the first one that is missing; null if none is named. */
  public val backend: String? = details?.let(::backendIn)

  /** What a developer of an app can do about this kind of failure; null if the message says all that is known. */
  public open val hint: String?
    get() = null

  /** A call at the wrong time, such as a step after the end of a method. */
  public class InvalidState internal constructor(errorCode: Int, details: String?) :
    ExecutorchException(errorCode, details)

  /** This library, or the backend, cannot do what was asked. */
  public class NotSupported internal constructor(errorCode: Int, details: String?) :
    ExecutorchException(errorCode, details)

  /** The program uses operators that this library was built without: see [operator]. */
  public class OperatorMissing internal constructor(errorCode: Int, details: String?) :
    ExecutorchException(errorCode, details) {
    override val hint: String
      get() = "build the library with the operators of this program: scripts/build_android_library.sh --models ${file ?: "model.pte"}"
  }

  /** A backend, a test case or data that the program uses is not there: see [backend]. */
  public class NotFound internal constructor(errorCode: Int, details: String?) :
    ExecutorchException(errorCode, details) {
    override val hint: String?
      get() = backend?.let { "use a library that was built with $it, or export the program for another backend" }
  }

  /** There is not enough memory. */
  public class OutOfMemory internal constructor(errorCode: Int, details: String?) :
    ExecutorchException(errorCode, details) {
    override val hint: String
      get() = "close modules that are not in use, load with LOAD_MODE_MMAP, or export with smaller upper bounds of dynamic shapes"
  }

  /** A file cannot be read. */
  public class AccessFailed internal constructor(errorCode: Int, details: String?) :
    ExecutorchException(errorCode, details) {
    override val hint: String
      get() = "check that the file is complete, that the app may read it, and that a descriptor is still open"
  }

  /** The program is damaged, cut off, or of a version that this library cannot run. */
  public class InvalidProgram internal constructor(errorCode: Int, details: String?) :
    ExecutorchException(errorCode, details) {
    override val hint: String
      get() = "compare the file's size with that of the exported one (a download may be incomplete), or export it again"
  }

  /** The weights in `.ptd` files are missing, damaged, or of another program. */
  public class InvalidExternalData internal constructor(errorCode: Int, details: String?) :
    ExecutorchException(errorCode, details) {
    override val hint: String
      get() = "pass the .ptd files that were exported with this program: Module.load(path, listOf(weights))"
  }

  /** The run was stopped: [Module.cancel]. */
  public class Cancelled internal constructor(errorCode: Int, details: String?) :
    ExecutorchException(errorCode, details)

  /** Another failure, for example of a backend: see [errorCode]. */
  public class Failed internal constructor(errorCode: Int, details: String?) : ExecutorchException(errorCode, details)

  internal companion object {
    private const val serialVersionUID: Long = 1

    fun of(errorCode: Int, details: String?): ExecutorchException =
      when (errorCode) {
        INVALID_ARGUMENT -> ExecutorchInvalidArgumentException(details)
        INVALID_STATE,
        END_OF_METHOD,
        ALREADY_LOADED -> InvalidState(errorCode, details)
        NOT_SUPPORTED,
        NOT_IMPLEMENTED -> NotSupported(errorCode, details)
        OPERATOR_MISSING -> OperatorMissing(errorCode, details)
        NOT_FOUND -> NotFound(errorCode, details)
        MEMORY_ALLOCATION_FAILED,
        DELEGATE_MEMORY_ALLOCATION_FAILED,
        OUT_OF_RESOURCES -> OutOfMemory(errorCode, details)
        ACCESS_FAILED -> AccessFailed(errorCode, details)
        INVALID_PROGRAM,
        DELEGATE_INVALID_COMPATIBILITY -> InvalidProgram(errorCode, details)
        INVALID_EXTERNAL_DATA -> InvalidExternalData(errorCode, details)
        CANCELLED -> Cancelled(errorCode, details)
        else -> Failed(errorCode, details)
      }

    /** Runs [block]; a failure of the runtime gets the path of the program. */
    inline fun <T> withFile(file: String?, block: () -> T): T =
      try {
        block()
      } catch (e: ExecutorchException) {
        if (e.file == null) e.file = file
        throw e
      }
  }
}

// The runtime's messages name the operator or backend in these forms: instruction_execute.cpp, method_init.cpp and
// instruction_init.cpp in sdk/cpp/executorch/runtime/executor. ExceptionsTest checks them with programs that fail.
private val failedOperator = Regex("""Operator (\S+) \(instruction \d+ of method """)
private val missingOperators = Regex("""operators that are not registered [^:]*: ([^\s,]+)""")
private val failedBackend = Regex("""Backend (\S+) \(instruction \d+ of method """)
private val missingBackends = Regex("""backends that are not registered[^:]*: ([^\s,]+)""")

private fun operatorIn(details: String) = nameIn(details, failedOperator, missingOperators)

private fun backendIn(details: String) = nameIn(details, failedBackend, missingBackends)

private fun nameIn(details: String, vararg forms: Regex): String? = forms.firstNotNullOfOrNull { it.find(details)?.groupValues?.get(1) }
