/*===- launch.c - Runs a compiled kernel from C -------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Launches a kernel of causal attention in bf16 (examples/causal.mlir) and
 * prints its first and last row. The only dependency is libFoveaRuntime.
 *
 *   fovea-compile examples/causal.mlir --target=sm_90a -o causal.ptx \
 *     --metadata=causal.json
 *   fovea-launch causal.ptx causal.json [DRIVER]
 *
 * The optional third argument is used as the CUDA driver: libFoveaPTXDriver.so
 * executes the PTX on the CPU.
 *
 * All scores are equal and values are row indices, so row i is the mean of 0 to
 * i.
 */
#include "fovea/Runtime/fovea_runtime.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBatch = 1, kHeads = 2, kRows = 100, kDim = 32 };
enum { kElements = kBatch * kHeads * kRows * kDim };

/** Exits with a message if the call failed. */
static void check(fovea_status status, const char *what) {
  if (status == FOVEA_OK)
    return;
  fprintf(stderr, "%s: %s\n", what, fovea_last_error());
  exit(1);
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*size + 1);
  if (!text || fread(text, 1, *size, file) != *size) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(1);
  }
  fclose(file);
  return text;
}

/** Converts a value that bf16 represents exactly; others are truncated. */
static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static float from_bf16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/**
 * Allocates a tensor of the kernel in device memory and writes its elements.
 */
static fovea_tensor make_tensor(fovea_device *device, const char *name,
                                const uint16_t *elements) {
  static const int64_t sizes[] = {kBatch, kHeads, kRows, kDim};
  fovea_address address;
  check(fovea_memory_alloc(device, kElements * 2, &address), "allocating");
  check(fovea_memory_write(device, address, elements, kElements * 2),
        "writing");
  return (fovea_tensor){name, address, FOVEA_BF16, 4, sizes, NULL};
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: %s KERNEL METADATA [DRIVER]\n", argv[0]);
    return 1;
  }
  if (argc == 4)
    check(fovea_use_driver(argv[3]), "the driver");
  fovea_device *device;
  check(fovea_device_open(FOVEA_CURRENT_DEVICE, &device), "the device");
  size_t image_size, metadata_size;
  char *image = read_file(argv[1], &image_size);
  char *metadata = read_file(argv[2], &metadata_size);
  fovea_kernel *kernel;
  check(fovea_kernel_load(device, image, image_size, metadata, metadata_size,
                          &kernel),
        "the kernel");

  static uint16_t zeros[kElements], values[kElements], found[kElements];
  for (int i = 0; i < kElements; ++i)
    values[i] = to_bf16((float)(i / kDim % kRows));
  static const int64_t rows[] = {kBatch, kHeads, kRows};
  fovea_address lse;
  check(fovea_memory_alloc(device, kBatch * kHeads * kRows * 4, &lse),
        "allocating");
  fovea_tensor tensors[] = {make_tensor(device, "q", zeros),
                            make_tensor(device, "k", zeros),
                            make_tensor(device, "v", values),
                            make_tensor(device, "o", zeros),
                            {"lse", lse, FOVEA_F32, 3, rows, NULL}};
  check(fovea_kernel_launch(kernel, NULL, tensors, 5, NULL, 0), "the launch");
  check(fovea_stream_wait(device, NULL), "the stream");
  check(fovea_memory_read(device, found, tensors[3].data, sizeof found),
        "reading");
  printf("row 0 is %g, row %d is %g\n", from_bf16(found[0]), kRows - 1,
         from_bf16(found[(kRows - 1) * kDim]));

  for (int i = 0; i < 5; ++i)
    fovea_memory_free(device, tensors[i].data);
  fovea_kernel_unload(kernel);
  fovea_device_close(device);
  free(image);
  free(metadata);
  return 0;
}
