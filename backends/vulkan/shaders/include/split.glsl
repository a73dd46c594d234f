// Sums that SPLIT threads of a workgroup share: those that differ in z each add a part. All threads of the workgroup must call.
shared vec4 parts[SHARED];
// The sum, for the threads with z = 0.
vec4 sum_of_parts(vec4 part) {
  parts[gl_LocalInvocationIndex] = part;
  barrier();
  if (gl_LocalInvocationID.z == 0) {
    [[unroll]] for (uint i = 1; i < SPLIT; ++i) {
      part += parts[gl_LocalInvocationIndex + i * gl_WorkGroupSize.x];
    }
  }
  barrier();
  return part;
}
// The sum, for all threads.
float total_of_parts(float part) {
  if (SPLIT == 1) {
    return part;
  }
  parts[gl_LocalInvocationIndex].x = part;
  barrier();
  float total = 0.0;
  for (uint i = 0; i < SPLIT; ++i) {
    total += parts[gl_LocalInvocationID.x + i * gl_WorkGroupSize.x].x;
  }
  barrier();
  return total;
}
