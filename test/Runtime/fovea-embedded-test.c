/*===- fovea-embedded-test.c - Kernels inside a host's code -------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * usage: fovea-embedded-test KERNEL METADATA [--threads=N]
 * [--memory=host|managed]
 *          [--async] [--version] [--count] [--reload] [--check] [--handler]
 *
 * Calls a kernel of attention on bf16 tensors of 1x2x70x32 (q, k, v, o), as a
 * host's code does that has it within: from N threads at once, the first time.
 * All values are 0.5, so all results must be. The device is what the loader
 * finds as libcuda.so.1.
 */
#include "fovea/Runtime/fovea_embedded.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 22, MOST_THREADS = 16 };
/** Sizes of a tensor; elements; words of all four. */
static const int64_t sizes[4] = {1, 2, 70, 32};
enum { ELEMENTS = 1 * 2 * 70 * 32, TENSORS = 4, WORDS = TENSORS * 9 };
enum { HALF = 0x3f00, NOTHING = 0x7fc0 };

static fovea_embedded kernel = {.version = FOVEA_EMBEDDED_VERSION};
static int async_calls, managed;
static pthread_barrier_t barrier;

static char *read_file(const char *path, uint64_t *size) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, MOST_BYTES);
  if (!file || !text) {
    printf("can't read %s\n", path);
    exit(100);
  }
  *size = fread(text, 1, MOST_BYTES, file);
  fclose(file);
  return text;
}

static fovea_device *get_device(void) {
  fovea_device *device;
  fovea_embedded_check(fovea_device_open(FOVEA_CURRENT_DEVICE, &device));
  return device;
}

static uint16_t *allocate(fovea_device *device) {
  void *memory;
  size_t bytes = ELEMENTS * sizeof(uint16_t);
  if (managed)
    fovea_embedded_check(fovea_memory_alloc_managed(device, bytes, &memory));
  else
    memory = malloc(bytes);
  return memory;
}

static void release(fovea_device *device, uint16_t *memory) {
  if (managed)
    fovea_embedded_check(
        fovea_memory_free(device, (fovea_address)(uintptr_t)memory));
  else
    free(memory);
}

static void fill(uint16_t *tensor, uint16_t value) {
  for (int i = 0; i < ELEMENTS; ++i)
    tensor[i] = value;
}

/** The row of arguments. */
static void pack(uint16_t *const *tensors, int64_t *words) {
  for (int t = 0; t < TENSORS; ++t) {
    int64_t *w = words + 9 * t, stride = 1;
    w[0] = (int64_t)(uintptr_t)tensors[t];
    for (int d = 3; d >= 0; --d) {
      w[1 + d] = sizes[d];
      w[5 + d] = stride;
      stride *= sizes[d];
    }
  }
}

/** Calls once on memory of its own. Returns how many results are wrong. */
static intptr_t call_once(void) {
  fovea_device *device = get_device();
  uint16_t *tensors[TENSORS];
  int64_t words[WORDS];
  for (int t = 0; t < TENSORS; ++t) {
    tensors[t] = allocate(device);
    fill(tensors[t], t + 1 == TENSORS ? NOTHING : HALF);
  }
  pack(tensors, words);
  fovea_status status =
      async_calls ? fovea_embedded_call_async(&kernel, NULL, words, WORDS)
                  : fovea_embedded_call(&kernel, words, WORDS);
  if (status == FOVEA_OK && async_calls)
    status = fovea_stream_wait(device, NULL);
  intptr_t wrong = 0;
  if (status != FOVEA_OK) {
    printf("%s: %s\n", fovea_status_name(status), fovea_last_error());
    wrong = ELEMENTS;
  }
  for (int i = 0; status == FOVEA_OK && i < ELEMENTS; ++i)
    wrong += tensors[TENSORS - 1][i] != HALF;
  for (int t = 0; t < TENSORS; ++t)
    release(device, tensors[t]);
  fovea_device_close(device);
  return wrong;
}

static void *run(void *unused) {
  pthread_barrier_wait(&barrier);
  return (void *)call_once();
}

static intptr_t call_from(int threads) {
  pthread_t workers[MOST_THREADS];
  intptr_t wrong = 0;
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i)
    pthread_create(&workers[i], NULL, run, NULL);
  for (int i = 0; i < threads; ++i) {
    void *result;
    pthread_join(workers[i], &result);
    wrong += (intptr_t)result;
  }
  pthread_barrier_destroy(&barrier);
  return wrong;
}

static void handle(fovea_status status, const char *message, void *data) {
  printf("handled %s: %s: %s\n", (const char *)data, fovea_status_name(status),
         message);
}

int main(int argc, char **argv) {
  static char here[] = "here";
  if (argc < 3)
    return 100;
  int threads = 1, reload = 0, check = 0;
  char *code = read_file(argv[1], &kernel.code_size),
       *metadata = read_file(argv[2], &kernel.metadata_size);
  kernel.code = code;
  kernel.metadata = metadata;
  for (int i = 3; i < argc; ++i) {
    if (strncmp(argv[i], "--threads=", 10) == 0)
      threads = atoi(argv[i] + 10);
    else if (strncmp(argv[i], "--memory=", 9) == 0)
      managed = strcmp(argv[i] + 9, "managed") == 0;
    else if (strcmp(argv[i], "--async") == 0)
      async_calls = 1;
    else if (strcmp(argv[i], "--version") == 0)
      kernel.version = 7;
    else if (strcmp(argv[i], "--reload") == 0)
      reload = 1;
    else if (strcmp(argv[i], "--handler") == 0)
      fovea_embedded_on_failure(handle, here);
    else if (strcmp(argv[i], "--check") == 0)
      check = 1;
  }
  if (check) {
    int64_t words[1] = {0};
    fovea_embedded_check(FOVEA_OK);
    fovea_embedded_check(fovea_embedded_call(&kernel, words, 1));
    printf("went on\n");
  }
  intptr_t wrong = call_from(threads);
  if (reload) {
    fovea_embedded_unload(&kernel);
    wrong += call_from(threads);
  }
  printf("%ld wrong\n", (long)wrong);
  fovea_embedded_unload(&kernel);
  fovea_embedded_unload(&kernel);
  free(code);
  free(metadata);
  return wrong != 0;
}
