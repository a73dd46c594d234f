// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import android.graphics.Bitmap;
import java.io.Closeable;
import java.lang.reflect.Modifier;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;
import org.pytorch.executorch.extension.llm.LlmCallback;
import org.pytorch.executorch.extension.llm.LlmGenerationConfig;
import org.pytorch.executorch.extension.llm.LlmModule;
import org.pytorch.executorch.extension.llm.LlmModuleConfig;
import org.pytorch.executorch.training.SGD;
import org.pytorch.executorch.training.TrainingModule;

/** The documented Java names, as code written for the original uses them. */
class JavaCallersTest {
  private static String program(String name) {
    return System.getProperty("executorch.corpus") + "/" + name + "/model.pte";
  }

  /** GS-12, AND-10: the documents' sample, 1 + 20, with the shape that the corpus has. */
  @Test
  void theDocumentedSample() {
    Module module = Module.load(program("add"));
    float[] first = new float[6];
    float[] second = new float[6];
    Arrays.fill(first, 1.0f);
    Arrays.fill(second, 20.0f);
    Tensor tensor1 = Tensor.fromBlob(first, new long[] {2, 3});
    Tensor tensor2 = Tensor.fromBlob(second, new long[] {2, 3});
    EValue eValue1 = EValue.from(tensor1);
    EValue eValue2 = EValue.from(tensor2);
    float result = module.forward(eValue1, eValue2)[0].toTensor().getDataAsFloatArray()[0];
    assertEquals(21.0f, result);
    module.destroy();
  }

  /** AND-11. */
  @Test
  void moduleHasItsNames() throws Exception {
    assertEquals(0, Module.LOAD_MODE_FILE);
    assertEquals(1, Module.LOAD_MODE_MMAP);
    assertEquals(2, Module.LOAD_MODE_MMAP_USE_MLOCK);
    assertEquals(3, Module.LOAD_MODE_MMAP_USE_MLOCK_IGNORE_ERRORS);
    Module.load(program("add"), Module.LOAD_MODE_MMAP).close();
    Module.load(program("add"), Module.LOAD_MODE_MMAP, 2).close();
    BackendOptionsMap options = new BackendOptionsMap();
    assertTrue(options.isEmpty());
    assertFalse(options.setInt("XnnpackBackend", "workspace_sharing_mode", 1).isEmpty());
    Module.load(program("add"), new BackendOptionsMap()).close();
    Module.load(program("add"), new BackendOptionsMap(), Module.LOAD_MODE_MMAP).close();
    Module.load(program("add"), new BackendOptionsMap(), Module.LOAD_MODE_MMAP, 1).close();
    Module.load(program("add"), Collections.<String>emptyList()).close();
    try (Module module = Module.load(program("add"))) {
      Closeable closeable = module;
      assertNotNull(closeable);
      module.loadMethod("forward");
      assertArrayEquals(new String[] {"forward"}, module.getMethods());
      MethodMetadata metadata = module.getMethodMetadata("forward");
      assertEquals("forward", metadata.getName());
      assertEquals(0, metadata.getBackends().length);
      assertEquals(DType.FLOAT, metadata.getInputs().get(0).getDtype());
      assertArrayEquals(new long[] {2, 3}, metadata.getOutputs().get(0).getShape());
      assertTrue(metadata.getInputs().get(0).isTensor());
      assertNotNull(module.readLogBuffer());
      assertNotNull(Module.readLogBufferStatic());
      boolean recorded = module.etdump();
      boolean recordedElsewhere = module.etdump("/nowhere/result.etdump");
      assertEquals(recorded, recordedElsewhere);
    }
  }

  @Test
  void runtimeHasItsNames() {
    assertNotNull(ExecuTorchRuntime.getRuntime());
    assertTrue(Arrays.asList(ExecuTorchRuntime.getRegisteredOps()).contains("aten::add.out"));
    assertTrue(Arrays.asList(ExecuTorchRuntime.getRegisteredBackends()).contains("XnnpackBackend"));
    ExecuTorchRuntime.validateFilePath(program("add"), "model");
    BackendOption option = new BackendOption("key", 3);
    assertEquals("key", option.getKey());
    assertEquals(3, option.getValue());
  }

  @Test
  void tensorHasItsNames() {
    long[] shape = {2};
    FloatBuffer floats = Tensor.allocateFloatBuffer(2);
    IntBuffer ints = Tensor.allocateIntBuffer(2);
    LongBuffer longs = Tensor.allocateLongBuffer(2);
    DoubleBuffer doubles = Tensor.allocateDoubleBuffer(2);
    ByteBuffer bytes = Tensor.allocateByteBuffer(2);
    ShortBuffer halves = Tensor.allocateHalfBuffer(2);
    assertEquals(DType.FLOAT, Tensor.fromBlob(floats, shape).dtype());
    assertEquals(DType.INT32, Tensor.fromBlob(ints, shape).dtype());
    assertEquals(DType.INT64, Tensor.fromBlob(longs, shape).dtype());
    assertEquals(DType.DOUBLE, Tensor.fromBlob(doubles, shape).dtype());
    assertEquals(DType.INT8, Tensor.fromBlob(bytes, shape).dtype());
    assertEquals(DType.UINT8, Tensor.fromBlobUnsigned(bytes, shape).dtype());
    assertEquals(DType.HALF, Tensor.fromBlob(halves, shape).dtype());
    assertEquals(2L, Tensor.fromBlob(floats, shape).numel());
    assertEquals(6L, Tensor.numel(new long[] {2, 3}));
    assertArrayEquals(shape, Tensor.fromBlob(floats, shape).shape());
    assertEquals(6, Tensor.fromBlob(floats, shape).dtypeJniCode());
    assertArrayEquals(new float[] {1, 2}, Tensor.fromBlob(new float[] {1, 2}, shape).getDataAsFloatArray());
    assertArrayEquals(new int[] {1, 2}, Tensor.fromBlob(new int[] {1, 2}, shape).getDataAsIntArray());
    assertArrayEquals(new long[] {1, 2}, Tensor.fromBlob(new long[] {1, 2}, shape).getDataAsLongArray());
    assertArrayEquals(new double[] {1, 2}, Tensor.fromBlob(new double[] {1, 2}, shape).getDataAsDoubleArray());
    assertArrayEquals(new byte[] {1, -2}, Tensor.fromBlob(new byte[] {1, -2}, shape).getDataAsByteArray());
    assertArrayEquals(new byte[] {1, -2}, Tensor.fromBlobUnsigned(new byte[] {1, -2}, shape).getDataAsUnsignedByteArray());
    assertArrayEquals(new short[] {1, 2}, Tensor.fromBlob(new short[] {1, 2}, shape).getDataAsShortArray());
    assertArrayEquals(new float[] {1, 1}, Tensor.ones(shape, DType.FLOAT).getDataAsFloatArray());
    assertArrayEquals(new long[] {0, 0}, Tensor.zeros(shape, DType.INT64).getDataAsLongArray());
    Tensor.ones(shape, DType.FLOAT).copyDataInto(floats);
    Tensor.ones(shape, DType.INT32).copyDataInto(ints);
    Tensor.ones(shape, DType.INT64).copyDataInto(longs);
    Tensor.ones(shape, DType.DOUBLE).copyDataInto(doubles);
    Tensor.ones(shape, DType.INT8).copyDataInto(bytes);
    bytes.clear();
    Tensor.ones(shape, DType.UINT8).copyDataIntoUnsigned(bytes);
    Tensor.ones(shape, DType.HALF).copyDataInto(halves);
    assertEquals(1f, floats.get(1));
    assertEquals((byte) 1, bytes.get(1));
    assertEquals((short) 0x3C00, halves.get(1));
    assertTrue(Tensor.ones(shape, DType.FLOAT).getRawDataBuffer() instanceof FloatBuffer);
    Tensor again = Tensor.fromByteArray(Tensor.fromBlob(new float[] {1, 2}, shape).toByteArray());
    assertArrayEquals(new float[] {1, 2}, again.getDataAsFloatArray());
    assertEquals(DType.BITS16, DType.fromJniCode(22));
    assertEquals(15, DType.BFLOAT16.jniCode);
  }

  @Test
  void evalueHasItsNames() {
    EValue tensor = EValue.from(Tensor.ones(new long[] {1}, DType.FLOAT));
    assertTrue(tensor.isTensor() && !tensor.isNone());
    assertTrue(EValue.optionalNone().isNone());
    assertTrue(EValue.from(true).isBool() && EValue.from(true).toBool());
    assertTrue(EValue.from(3L).isInt());
    assertEquals(3L, EValue.from(3L).toInt());
    assertTrue(EValue.from(2.5).isDouble());
    assertEquals(2.5, EValue.from(2.5).toDouble());
    assertTrue(EValue.from("text").isString());
    assertEquals("text", EValue.from("text").toStr());
    assertEquals(1f, EValue.fromByteArray(tensor.toByteArray()).toTensor().getDataAsFloatArray()[0]);
    assertThrows(IllegalStateException.class, tensor::toBool);
    assertThrows(IllegalStateException.class, () -> EValue.from(1L).toDouble());
  }

  /** The signatures as they are documented, with their types: method references would not compile with others. */
  @Test
  void signaturesAreUnchanged() throws Exception {
    BiFunction<String, EValue[], EValue[]> execute;
    try (Module module = Module.load(program("add"), Module.LOAD_MODE_FILE)) {
      execute = module::execute;
      Function<EValue[], EValue[]> forward = module::forward;
      Consumer<String> loadMethod = module::loadMethod;
      Supplier<String[]> methods = module::getMethods;
      Function<String, MethodMetadata> metadata = module::getMethodMetadata;
      Supplier<String[]> log = module::readLogBuffer;
      Predicate<String> etdump = module::etdump;
      EValue ones = EValue.from(Tensor.ones(new long[] {2, 3}, DType.FLOAT));
      loadMethod.accept(methods.get()[0]);
      assertEquals(1, execute.apply("forward", new EValue[] {ones, ones}).length);
      assertEquals(1, forward.apply(new EValue[] {ones, ones}).length);
      assertEquals("forward", metadata.apply("forward").getName());
      assertNotNull(log.get());
      assertFalse(etdump.test("/nowhere/result.etdump"));
      module.destroy();
      assertThrows(IllegalStateException.class, () -> module.forward(ones, ones));
    }
    assertFalse(Modifier.isFinal(Module.class.getModifiers()), "the documented class is open");
    BiFunction<String, Integer, BackendOption> option = BackendOption::new;
    Supplier<BackendOptionsMap> options = BackendOptionsMap::new;
    assertEquals(3, option.apply("key", 3).getValue());
    assertTrue(options.get().isEmpty());
    DType[] inOrder = {
      DType.UINT8, DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.HALF, DType.FLOAT, DType.DOUBLE,
      DType.COMPLEX_HALF, DType.COMPLEX_FLOAT, DType.COMPLEX_DOUBLE, DType.BOOL, DType.QINT8, DType.QUINT8,
      DType.QINT32, DType.BFLOAT16, DType.QINT4X2, DType.QINT2X4, DType.BITS1X8, DType.BITS2X4, DType.BITS4X2,
      DType.BITS8, DType.BITS16
    };
    for (int code = 0; code < inOrder.length; code++) {
      assertEquals(code, inOrder[code].jniCode);
      assertEquals(inOrder[code], DType.fromJniCode(code));
    }
    BiFunction<long[], DType, Tensor> ones = Tensor::ones;
    BiFunction<long[], DType, Tensor> zeros = Tensor::zeros;
    ToLongFunction<long[]> numel = Tensor::numel;
    Function<byte[], Tensor> fromByteArray = Tensor::fromByteArray;
    Function<byte[], EValue> valueFromByteArray = EValue::fromByteArray;
    Tensor tensor = ones.apply(new long[] {2}, DType.INT8);
    assertEquals(2L, numel.applyAsLong(tensor.shape()));
    assertArrayEquals(new byte[] {1, 1}, fromByteArray.apply(tensor.toByteArray()).getDataAsByteArray());
    assertEquals(0, zeros.apply(new long[] {1}, DType.INT8).getDataAsByteArray()[0]);
    Buffer raw = tensor.getRawDataBuffer();
    assertTrue(raw.isDirect());
    assertTrue(valueFromByteArray.apply(EValue.optionalNone().toByteArray()).isNone());
  }

  /** org.pytorch.executorch.training, as it is documented. */
  @Test
  void trainingHasItsNames() {
    String folder = System.getProperty("executorch.corpus") + "/../training/";
    TrainingModule.load(folder + "xor_external.pte", folder + "xor_external.ptd").close();
    TrainingModule module = TrainingModule.load(folder + "xor.pte");
    Map<String, Tensor> parameters = module.namedParameters("forward");
    SGD sgd = SGD.create(parameters, 0.1);
    assertNotNull(SGD.create(parameters, 0.1, 0.9, 0.0, 0.0, true));
    EValue x = EValue.from(Tensor.fromBlob(new float[] {1, 0}, new long[] {1, 2}));
    EValue target = EValue.from(Tensor.fromBlob(new long[] {1}, new long[] {1}));
    float first = module.executeForwardBackward("forward", x, target)[0].toTensor().getDataAsFloatArray()[0];
    Map<String, Tensor> gradients = module.namedGradients("forward");
    assertEquals(parameters.keySet(), gradients.keySet());
    sgd.step(gradients);
    float second = module.executeForwardBackward("forward", x, target)[0].toTensor().getDataAsFloatArray()[0];
    assertTrue(second < first, "a step makes the loss of its point smaller");
    module.close();
  }

  @Test
  void exceptionsHaveTheirNames() {
    ExecutorchRuntimeException e = new ExecutorchRuntimeException(ExecutorchRuntimeException.NOT_FOUND, "details");
    assertEquals(0x20, e.getErrorCode());
    assertTrue(e.getMessage().endsWith("NotFound (error 0x20): details"));
    assertTrue(e.getDetailedError().contains("details"));
    Throwable cause = new Error();
    assertEquals(cause, new ExecutorchRuntimeException(1, null, cause).getCause());
    RuntimeException made = ExecutorchRuntimeException.makeExecutorchException(ExecutorchRuntimeException.INVALID_ARGUMENT, "x");
    assertTrue(made instanceof ExecutorchRuntimeException.ExecutorchInvalidArgumentException);
    int[] codes = {
      ExecutorchRuntimeException.OK, ExecutorchRuntimeException.INTERNAL, ExecutorchRuntimeException.INVALID_STATE,
      ExecutorchRuntimeException.END_OF_METHOD, ExecutorchRuntimeException.ALREADY_LOADED,
      ExecutorchRuntimeException.NOT_SUPPORTED, ExecutorchRuntimeException.NOT_IMPLEMENTED,
      ExecutorchRuntimeException.INVALID_ARGUMENT, ExecutorchRuntimeException.INVALID_TYPE,
      ExecutorchRuntimeException.OPERATOR_MISSING, ExecutorchRuntimeException.REGISTRATION_EXCEEDING_MAX_KERNELS,
      ExecutorchRuntimeException.REGISTRATION_ALREADY_REGISTERED, ExecutorchRuntimeException.NOT_FOUND,
      ExecutorchRuntimeException.MEMORY_ALLOCATION_FAILED, ExecutorchRuntimeException.ACCESS_FAILED,
      ExecutorchRuntimeException.INVALID_PROGRAM, ExecutorchRuntimeException.INVALID_EXTERNAL_DATA,
      ExecutorchRuntimeException.OUT_OF_RESOURCES, ExecutorchRuntimeException.DELEGATE_INVALID_COMPATIBILITY,
      ExecutorchRuntimeException.DELEGATE_MEMORY_ALLOCATION_FAILED, ExecutorchRuntimeException.DELEGATE_INVALID_HANDLE
    };
    int[] expected = {0, 1, 2, 3, 4, 16, 17, 18, 19, 20, 21, 22, 32, 33, 34, 35, 36, 37, 48, 49, 50};
    assertArrayEquals(expected, codes);
  }

  /** tests/data/errors.json, from Java. */
  @Test
  void mistakesHaveTheirCodeAndTheirWords() {
    for (ErrorTable.Mistake mistake : ErrorTable.getMistakes()) {
      ExecutorchRuntimeException error =
          assertThrows(
              ExecutorchRuntimeException.class,
              () -> {
                try (Module module = Module.load(mistake.getProgram())) {
                  module.execute(mistake.getMethod(), mistake.getInputs());
                }
              });
      assertEquals(ErrorTable.getCodes().get(mistake.getError()).intValue(), error.getErrorCode(), mistake.getName());
      for (String words : mistake.getWords()) {
        assertTrue(error.getMessage().contains(words), error.getMessage());
      }
    }
  }

  /** The failure's details, and the names for language models and Android's inputs. */
  @Test
  void failuresLanguageModelsAndInputsHaveTheirNames() throws Exception {
    try (Module module = Module.load(program("add"))) {
      ExecutorchException error = assertThrows(ExecutorchException.class, () -> module.forward());
      assertEquals(program("add"), error.getFile());
      assertNull(error.getOperator());
      assertNull(error.getBackend());
      assertNull(error.getHint());
    }
    Class<?> text = String.class;
    for (Class<?>[] parameters :
        new Class<?>[][] {
          {text, text, float.class},
          {text, text, float.class, text},
          {int.class, text, text, float.class},
          {int.class, text, text, float.class, text},
          {int.class, text, text, float.class, text, int.class, int.class},
          {int.class, text, text, float.class, List.class},
          {int.class, text, text, float.class, List.class, int.class, int.class},
          {LlmModuleConfig.class}
        }) {
      assertNotNull(LlmModule.class.getConstructor(parameters));
    }
    assertEquals(1, LlmModule.MODEL_TYPE_TEXT);
    assertEquals(2, LlmModule.MODEL_TYPE_TEXT_VISION);
    assertEquals(2, LlmModule.MODEL_TYPE_MULTIMODAL);
    LlmGenerationConfig config =
        LlmGenerationConfig.create().echo(false).maxNewTokens(3).warming(true).seqLen(4).temperature(0.5f).numBos(1).numEos(2).build();
    assertTrue(!config.isEcho() && config.isWarming() && config.getMaxNewTokens() == 3 && config.getSeqLen() == 4);
    assertTrue(config.getTemperature() == 0.5f && config.getNumBos() == 1 && config.getNumEos() == 2);
    LlmCallback callback = result -> assertNotNull(result);
    callback.onStats("{}");
    callback.onError(1, "text");
    Bitmap bitmap = Bitmap.createBitmap(new int[] {0xFF0000FF}, 1, 1, Bitmap.Config.ARGB_8888);
    ImageProcessor processor = new ImageProcessor(1, 1);
    assertArrayEquals(new float[] {0, 0, 1}, AndroidInputs.process(processor, bitmap).getDataAsFloatArray());
  }
}
