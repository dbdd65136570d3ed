/*===- fovea-runtime-test.c - Drives libFoveaRuntime --------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * usage: fovea-runtime-test [--driver=PATH]... [--device=N] [--kernel=FILE
 * --metadata=FILE]
 *          [--info] [--memory] [--threads=N] [--prepared=N] [--repeat=N]
 *          [--packed] [--moved=BYTES] [--check]
 *          [--tensor=NAME,DTYPE,SIZES[,strides=STRIDES][,at=ADDRESS]
 *                    [,holds=INTEGERS]]...
 *          [--scalar=NAME,VALUE]...
 *
 * Sizes, strides and integers are numbers with an x between. Checks what is in
 * the tensors if told to. Launches the kernel once
 * (once in each of N threads; once in each of N threads, prepared before by
 * one; N times and once more after waiting), prints the status and message of
 * what fails, and exits with the status.
 */
#include "fovea/Runtime/fovea_runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, RANK = 8, MOST_BYTES = 1 << 22 };

static fovea_tensor tensors[MOST];
static int64_t sizes[MOST][RANK], strides[MOST][RANK];
static int32_t *contents[MOST];
static size_t num_contents[MOST];
static size_t num_tensors;
static fovea_scalar scalars[MOST];
static size_t num_scalars;
static fovea_kernel *kernel;

static void check(fovea_status status) {
  if (status == FOVEA_OK)
    return;
  printf("%s: %s\n", fovea_status_name(status), fovea_last_error());
  exit((int)status);
}

static char *value_of(char *argument, const char *option) {
  size_t length = strlen(option);
  return strncmp(argument, option, length) == 0 ? argument + length : NULL;
}

static int parse_numbers(char *text, int64_t *numbers) {
  int count = 0;
  for (; *text && count < RANK; ++count) {
    numbers[count] = strtoll(text, &text, 10);
    text += *text == 'x';
  }
  return count;
}

static void parse_tensor(char *text) {
  static const char *const names[] = {"f16", "bf16", "f32", "i1",
                                      "i8",  "i32",  "i64", "i16"};
  fovea_tensor *tensor = &tensors[num_tensors];
  tensor->name = strtok(text, ",");
  char *dtype = strtok(NULL, ",");
  for (int i = 0; i < 8; ++i)
    if (strcmp(names[i], dtype) == 0)
      tensor->dtype = (fovea_dtype)i;
  char *shape = strtok(NULL, ",");
  tensor->rank = shape ? parse_numbers(shape, sizes[num_tensors]) : 0;
  tensor->sizes = sizes[num_tensors];
  tensor->data = 0x10000 * (num_tensors + 1);
  for (char *more; (more = strtok(NULL, ","));) {
    char *value;
    if ((value = value_of(more, "strides="))) {
      parse_numbers(value, strides[num_tensors]);
      tensor->strides = strides[num_tensors];
    } else if ((value = value_of(more, "at="))) {
      tensor->data = strtoull(value, NULL, 0);
    } else if ((value = value_of(more, "holds="))) {
      int32_t *integers = calloc(strlen(value) + 1, sizeof *integers);
      contents[num_tensors] = integers;
      for (; *value; value += *value == 'x')
        integers[num_contents[num_tensors]++] = strtol(value, &value, 10);
    }
  }
  ++num_tensors;
}

static void parse_scalar(char *text) {
  fovea_scalar *scalar = &scalars[num_scalars++];
  scalar->name = strtok(text, ",");
  char *value = strtok(NULL, ",");
  scalar->floating = atof(value);
  scalar->integer = atoll(value);
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    printf("can't read %s\n", path);
    exit(100);
  }
  char *text = calloc(1, MOST_BYTES);
  *size = fread(text, 1, MOST_BYTES, file);
  fclose(file);
  return text;
}

static void *launch(void *unused) {
  check(fovea_kernel_launch(kernel, NULL, tensors, num_tensors, scalars,
                            num_scalars));
  return NULL;
}

/** A number with a point is for an f32 parameter. */
static int64_t scalar_word(const fovea_scalar *scalar) {
  int64_t word = scalar->integer;
  if (scalar->floating != (double)scalar->integer)
    memcpy(&word, &scalar->floating, sizeof word);
  return word;
}

enum { MOST_WORDS = MOST * (1 + 2 * RANK) + MOST };

/** The tensors and scalars as given, in a row: in the kernel's order. */
static size_t pack(int64_t *words) {
  size_t count = 0;
  for (size_t i = 0; i < num_tensors; ++i) {
    const fovea_tensor *tensor = &tensors[i];
    words[count++] = (int64_t)tensor->data;
    for (int d = 0; d < tensor->rank; ++d)
      words[count++] = tensor->sizes[d];
    int64_t contiguous = 1;
    for (int d = tensor->rank - 1; d >= 0; --d) {
      words[count + (size_t)d] =
          tensor->strides ? tensor->strides[d] : contiguous;
      contiguous *= tensor->sizes[d];
    }
    count += (size_t)tensor->rank;
  }
  for (size_t i = 0; i < num_scalars; ++i)
    words[count++] = scalar_word(&scalars[i]);
  return count;
}

static void launch_packed(void) {
  int64_t words[MOST_WORDS];
  size_t count = pack(words);
  check(fovea_kernel_launch_packed(kernel, NULL, words, count));
}

/**
 * Prepares the launch, then runs it with tensors `bytes` further on and with
 * each integer scalar incremented, and again with the original arguments.
 */
static void launch_moved(long long bytes) {
  int64_t words[MOST_WORDS];
  fovea_launch *prepared;
  size_t count = pack(words);
  check(fovea_kernel_prepare_packed(kernel, words, count, &prepared));
  for (size_t i = 0; i < num_tensors; ++i)
    words[i] = tensors[i].data ? (int64_t)tensors[i].data + bytes : 0;
  for (size_t i = 0; i < num_scalars; ++i)
    words[num_tensors + i] =
        scalar_word(&scalars[i]) +
        (scalars[i].floating == (double)scalars[i].integer);
  check(fovea_launch_run_at(prepared, NULL, words, num_tensors + num_scalars));
  check(fovea_launch_run(prepared, NULL));
  fovea_status few = fovea_launch_run_at(prepared, NULL, words, 1);
  printf("one word: %d %s\n", few, fovea_last_error());
  fovea_launch_free(prepared);
}

/** Writes the tensors' contents to device memory. */
static void write_contents(fovea_device *device) {
  for (size_t i = 0; i < num_tensors; ++i) {
    if (!contents[i])
      continue;
    size_t bytes = num_contents[i] * sizeof(int32_t);
    check(fovea_memory_alloc(device, bytes, &tensors[i].data));
    check(fovea_memory_write(device, tensors[i].data, contents[i], bytes));
    free(contents[i]);
  }
}

static void *run(void *prepared) {
  check(fovea_launch_run(prepared, NULL));
  return NULL;
}

static void launch_prepared(int threads) {
  pthread_t workers[MOST];
  fovea_launch *prepared;
  check(fovea_launch_prepare(kernel, tensors, num_tensors, scalars, num_scalars,
                             &prepared));
  printf("%lld CTAs\n", (long long)fovea_launch_grid(prepared));
  for (int i = 0; i < threads; ++i)
    pthread_create(&workers[i], NULL, run, prepared);
  for (int i = 0; i < threads; ++i)
    pthread_join(workers[i], NULL);
  fovea_launch_free(prepared);
}

static void use_memory(fovea_device *device) {
  fovea_address address, nothing;
  uint32_t number = 42;
  float milliseconds;
  fovea_event *start, *end;
  check(fovea_memory_alloc(device, 4, &address));
  check(fovea_memory_alloc(device, 0, &nothing));
  check(fovea_memory_write(device, address, &number, 4));
  check(fovea_memory_fill(device, address, 0xff, 1));
  number = 0;
  check(fovea_memory_read(device, &number, address, 4));
  printf("read %u, nothing lies at %llu\n", number,
         (unsigned long long)nothing);
  check(fovea_memory_free(device, address));
  check(fovea_memory_free(device, nothing));
  check(fovea_event_create(device, &start));
  check(fovea_event_create(device, &end));
  check(fovea_event_record(start, NULL));
  check(fovea_event_record(end, NULL));
  check(fovea_event_elapsed(start, end, &milliseconds));
  check(fovea_stream_wait(device, NULL));
  printf("elapsed %g ms\n", milliseconds);
  fovea_event_free(start);
  fovea_event_free(end);
}

static void print_info(fovea_device *device) {
  fovea_device_info info;
  check(fovea_device_get_info(device, &info));
  printf("device %d: %s, sm_%d%d, %d multiprocessors, %d bytes shared, driver "
         "%d\n",
         info.number, info.name, info.major, info.minor, info.multiprocessors,
         info.max_shared_memory, info.driver_version);
  fovea_kernel_info kernel_info;
  check(fovea_kernel_get_info(kernel, &kernel_info));
  printf("kernel %s: %d threads, %d bytes shared, %d registers, %d bytes "
         "local, %d blocks\n",
         kernel_info.name, kernel_info.threads, kernel_info.shared_memory,
         kernel_info.registers, kernel_info.local_memory,
         kernel_info.blocks_per_multiprocessor);
}

int main(int argc, char **argv) {
  int number = FOVEA_CURRENT_DEVICE, threads = 0, info = 0, memory = 0;
  int prepared = 0, repeat = 0, packed = 0, checked = 0;
  long long moved = 0;
  char *image = NULL, *metadata = NULL, *value;
  for (int i = 1; i < argc; ++i) {
    if ((value = value_of(argv[i], "--driver=")))
      check(fovea_use_driver(value));
    else if ((value = value_of(argv[i], "--device=")))
      number = atoi(value);
    else if ((value = value_of(argv[i], "--kernel=")))
      image = value;
    else if ((value = value_of(argv[i], "--metadata=")))
      metadata = value;
    else if ((value = value_of(argv[i], "--threads=")))
      threads = atoi(value);
    else if ((value = value_of(argv[i], "--prepared=")))
      prepared = atoi(value);
    else if ((value = value_of(argv[i], "--repeat=")))
      repeat = atoi(value);
    else if ((value = value_of(argv[i], "--tensor=")))
      parse_tensor(value);
    else if ((value = value_of(argv[i], "--scalar=")))
      parse_scalar(value);
    else if (strcmp(argv[i], "--info") == 0)
      info = 1;
    else if (strcmp(argv[i], "--memory") == 0)
      memory = 1;
    else if (strcmp(argv[i], "--packed") == 0)
      packed = 1;
    else if ((value = value_of(argv[i], "--moved=")))
      moved = atoll(value);
    else if (strcmp(argv[i], "--check") == 0)
      checked = 1;
  }
  fovea_device *device;
  check(fovea_device_open(number, &device));
  if (memory)
    use_memory(device);
  write_contents(device);
  if (image && metadata) {
    size_t image_size, metadata_size;
    char *image_text = read_file(image, &image_size);
    char *metadata_text = read_file(metadata, &metadata_size);
    fovea_status status = fovea_kernel_load(
        device, image_text, image_size, metadata_text, metadata_size, &kernel);
    free(image_text);
    free(metadata_text);
    check(status);
    if (info)
      print_info(device);
    if (checked)
      check(fovea_kernel_check(kernel, NULL, tensors, num_tensors, scalars,
                               num_scalars));
    pthread_t workers[MOST];
    for (int i = 0; i < threads; ++i)
      pthread_create(&workers[i], NULL, launch, NULL);
    for (int i = 0; i < threads; ++i)
      pthread_join(workers[i], NULL);
    if (prepared)
      launch_prepared(prepared);
    for (int i = 0; i < repeat; ++i)
      launch(NULL);
    if (repeat)
      check(fovea_stream_wait(device, NULL));
    if (moved)
      launch_moved(moved);
    else if (packed)
      launch_packed();
    else if (num_tensors && !threads && !prepared)
      launch(NULL);
    fovea_kernel_unload(kernel);
  }
  fovea_device_close(device);
  printf("FOVEA_OK\n");
  return 0;
}
