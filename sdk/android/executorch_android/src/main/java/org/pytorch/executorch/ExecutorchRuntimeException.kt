// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

/**
 * A call of the runtime failed. [message] says what was expected, what was found and what to do. The text is the same
 * from C++, Python, Swift and so on. The library throws an [ExecutorchException], which also has the file, the operator
 * and a hint.
 *
 * @property errorCode one of the numbers below, which are the numbers of the C++ enum `executorch::runtime::Error`.
 */
public open class ExecutorchRuntimeException
@JvmOverloads
constructor(public val errorCode: Int, details: String?, cause: Throwable? = null) :
  RuntimeException(describe(errorCode, details), cause) {

  /** [message], followed by the last lines of the runtime's log. */
  public val detailedError: String
    get() {
      val log = ExecuTorchRuntime.readLog() ?: return message!!
      return if (log.isEmpty()) message!! else message + "\nThe log before it:\n" + log.joinToString("\n")
    }

  /** An argument has a wrong value, or a program's input a wrong shape or dtype: [INVALID_ARGUMENT]. */
  public class ExecutorchInvalidArgumentException(details: String?) : ExecutorchException(INVALID_ARGUMENT, details)

  public companion object {
    public const val OK: Int = 0x00
    public const val INTERNAL: Int = 0x01
    public const val INVALID_STATE: Int = 0x02
    public const val END_OF_METHOD: Int = 0x03
    public const val ALREADY_LOADED: Int = 0x04
    public const val NOT_SUPPORTED: Int = 0x10
    public const val NOT_IMPLEMENTED: Int = 0x11
    public const val INVALID_ARGUMENT: Int = 0x12
    public const val INVALID_TYPE: Int = 0x13
    public const val OPERATOR_MISSING: Int = 0x14
    public const val REGISTRATION_EXCEEDING_MAX_KERNELS: Int = 0x15
    public const val REGISTRATION_ALREADY_REGISTERED: Int = 0x16
    public const val NOT_FOUND: Int = 0x20
    public const val MEMORY_ALLOCATION_FAILED: Int = 0x21
    public const val ACCESS_FAILED: Int = 0x22
    public const val INVALID_PROGRAM: Int = 0x23
    public const val INVALID_EXTERNAL_DATA: Int = 0x24
    public const val OUT_OF_RESOURCES: Int = 0x25
    public const val DELEGATE_INVALID_COMPATIBILITY: Int = 0x30
    public const val DELEGATE_MEMORY_ALLOCATION_FAILED: Int = 0x31
    public const val DELEGATE_INVALID_HANDLE: Int = 0x32

    /** The run was stopped: [Module.cancel]. */
    public const val CANCELLED: Int = 0x40

    private const val serialVersionUID: Long = 1

    /**
     * The exception for a code: the subclass of [ExecutorchException] that has this code, an
     * [ExecutorchInvalidArgumentException] for [INVALID_ARGUMENT].
     */
    @JvmStatic
    public fun makeExecutorchException(errorCode: Int, details: String?): RuntimeException =
      ExecutorchException.of(errorCode, details)

    // Called by the native library.
    @JvmStatic
    @JvmName("fromNative")
    internal fun fromNative(errorCode: Int, details: ByteArray): RuntimeException =
      makeExecutorchException(errorCode, String(details, Charsets.UTF_8))

    private fun describe(errorCode: Int, details: String?): String {
      val code = "${nameOf(errorCode)} (error 0x${errorCode.toString(16).padStart(2, '0')})"
      return if (details.isNullOrEmpty()) code else "$code: $details"
    }

    private fun nameOf(errorCode: Int): String =
      when (errorCode) {
        OK -> "Ok"
        INTERNAL -> "Internal"
        INVALID_STATE -> "InvalidState"
        END_OF_METHOD -> "EndOfMethod"
        ALREADY_LOADED -> "AlreadyLoaded"
        NOT_SUPPORTED -> "NotSupported"
        NOT_IMPLEMENTED -> "NotImplemented"
        INVALID_ARGUMENT -> "InvalidArgument"
        INVALID_TYPE -> "InvalidType"
        OPERATOR_MISSING -> "OperatorMissing"
        REGISTRATION_EXCEEDING_MAX_KERNELS -> "RegistrationExceedingMaxKernels"
        REGISTRATION_ALREADY_REGISTERED -> "RegistrationAlreadyRegistered"
        NOT_FOUND -> "NotFound"
        MEMORY_ALLOCATION_FAILED -> "MemoryAllocationFailed"
        ACCESS_FAILED -> "AccessFailed"
        INVALID_PROGRAM -> "InvalidProgram"
        INVALID_EXTERNAL_DATA -> "InvalidExternalData"
        OUT_OF_RESOURCES -> "OutOfResources"
        DELEGATE_INVALID_COMPATIBILITY -> "DelegateInvalidCompatibility"
        DELEGATE_MEMORY_ALLOCATION_FAILED -> "DelegateMemoryAllocationFailed"
        DELEGATE_INVALID_HANDLE -> "DelegateInvalidHandle"
        CANCELLED -> "Cancelled"
        else -> "Unknown"
      }
  }
}
