// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Every program of the corpus, called with the names for Java code, with arrays as inputs and outputs, gives the
 * outputs of eager mode. */
class JavaCorpusTest {
  @TestFactory
  Stream<DynamicTest> givesWhatEagerGave() {
    return Corpus.Companion.getNames().stream().map(name -> DynamicTest.dynamicTest(name, () -> run(name)));
  }

  private static void run(String name) {
    Corpus corpus = new Corpus(name);
    assertFalse(corpus.getCalls().isEmpty());
    try (Module module = load(corpus)) {
      for (Corpus.Call call : corpus.getCalls()) {
        EValue[] inputs = call.getInputs().stream().map(JavaCorpusTest::toEValue).toArray(EValue[]::new);
        EValue[] outputs = module.execute(call.getMethod(), inputs);
        assertEquals(call.getOutputs().size(), outputs.length);
        for (int i = 0; i < outputs.length; i++) {
          check(outputs[i], call.getOutputs().get(i), name);
        }
      }
    }
  }

  private static Module load(Corpus corpus) {
    return corpus.getData().isEmpty()
        ? Module.load(corpus.getProgram())
        : Module.load(corpus.getProgram(), corpus.getData());
  }

  @Test
  void everyCaseOfABundledProgram() {
    try (Module module = Module.loadBundled(System.getProperty("executorch.corpus") + "/bundled/model.bpte")) {
      Corpus corpus = new Corpus("bundled");
      assertEquals(corpus.getCalls().size(), module.bundledCaseCount("forward"));
      for (int index = 0; index < corpus.getCalls().size(); index++) {
        EValue[] outputs = module.executeBundled("forward", index);
        check(outputs[0], corpus.getCalls().get(index).getOutputs().get(0), "bundled");
        module.verifyBundled("forward", index);
      }
    }
  }

  private static EValue toEValue(Corpus.Value from) {
    switch (from.getType()) {
      case "tensor":
        return EValue.from(toTensor(from));
      case "int":
        return EValue.from((long) from.getValue());
      case "double":
        return EValue.from(((Number) from.getValue()).doubleValue());
      case "bool":
        return EValue.from((boolean) from.getValue());
      case "string":
        return EValue.from((String) from.getValue());
      default:
        return EValue.optionalNone();
    }
  }

  private static Tensor toTensor(Corpus.Value from) {
    long[] shape = from.getShape();
    int count = (int) Tensor.numel(shape);
    if (!isSorted(from.getOrder())) {
      ByteBuffer buffer = Tensor.allocateByteBuffer(from.getData().length);
      buffer.put(from.inMemory());
      return Tensor.fromBlob(buffer, shape, from.getDtype(), from.getOrder());
    }
    ByteBuffer data = ByteBuffer.wrap(from.getData()).order(ByteOrder.LITTLE_ENDIAN);
    switch (from.getDtype()) {
      case FLOAT:
        float[] floats = new float[count];
        data.asFloatBuffer().get(floats);
        return Tensor.fromBlob(floats, shape);
      case DOUBLE:
        double[] doubles = new double[count];
        data.asDoubleBuffer().get(doubles);
        return Tensor.fromBlob(doubles, shape);
      case INT32:
        int[] ints = new int[count];
        data.asIntBuffer().get(ints);
        return Tensor.fromBlob(ints, shape);
      case INT64:
        long[] longs = new long[count];
        data.asLongBuffer().get(longs);
        return Tensor.fromBlob(longs, shape);
      case HALF:
        short[] halves = new short[count];
        data.asShortBuffer().get(halves);
        return Tensor.fromBlob(halves, shape);
      case INT8:
        return Tensor.fromBlob(from.getData(), shape);
      case UINT8:
        return Tensor.fromBlobUnsigned(from.getData(), shape);
      case BOOL:
        boolean[] flags = new boolean[count];
        for (int i = 0; i < count; i++) {
          flags[i] = data.get(i) != 0;
        }
        return Tensor.fromBlob(flags, shape);
      default:
        throw new AssertionError("no program of the corpus takes " + from.getDtype());
    }
  }

  private static boolean isSorted(int[] order) {
    int[] sorted = order.clone();
    Arrays.sort(sorted);
    return Arrays.equals(order, sorted);
  }

  private static void check(EValue found, Corpus.Value expected, String program) {
    switch (expected.getType()) {
      case "tensor":
        assertTrue(found.isTensor());
        Corpus.Companion.checkTensor(found.toTensor(), elements(found.toTensor()), expected, program);
        break;
      case "int":
        assertEquals((long) expected.getValue(), found.toInt());
        break;
      case "double":
        assertEquals(((Number) expected.getValue()).doubleValue(), found.toDouble());
        break;
      case "bool":
        assertEquals(expected.getValue(), found.toBool());
        break;
      case "string":
        assertEquals(expected.getValue(), found.toStr());
        break;
      default:
        assertTrue(found.isNone());
    }
  }

  /** In the order of memory, little-endian. */
  private static byte[] elements(Tensor tensor) {
    ByteBuffer bytes = ByteBuffer.allocate((int) tensor.numel() * 8).order(ByteOrder.LITTLE_ENDIAN);
    switch (tensor.dtype()) {
      case FLOAT:
        for (float element : tensor.getDataAsFloatArray()) bytes.putFloat(element);
        break;
      case DOUBLE:
        for (double element : tensor.getDataAsDoubleArray()) bytes.putDouble(element);
        break;
      case INT32:
        for (int element : tensor.getDataAsIntArray()) bytes.putInt(element);
        break;
      case INT64:
        for (long element : tensor.getDataAsLongArray()) bytes.putLong(element);
        break;
      case HALF:
        for (short element : tensor.getDataAsShortArray()) bytes.putShort(element);
        break;
      case UINT8:
        bytes.put(tensor.getDataAsUnsignedByteArray());
        break;
      case INT8:
      case BOOL:
        bytes.put(tensor.getDataAsByteArray());
        break;
      default:
        throw new AssertionError("no program of the corpus gives " + tensor.dtype());
    }
    return Arrays.copyOf(bytes.array(), bytes.position());
  }
}
