/* glibc functions for portable builds, in terms of glibc 2.27.
 *
 * A library linked on a newer system uses the newest version of each symbol,
 * even if an older one is equivalent: 2.34 moved threads and the loader into
 * libc, 2.33 added a symbol for stat, 2.29 changed the error handling of math
 * functions. GCC's static libraries also use new functions. The linker prefers
 * these definitions to glibc's; scripts/tag_wheel.py checks that no newer
 * symbol remains. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#pragma GCC visibility push(hidden)

/* Defines NAME as a call of glibc's NAME at VERSION. */
#define AS_OF(version, result, name, parameters, arguments)                    \
  extern result older_##name parameters                                        \
      __attribute__((visibility("default")));                                  \
  __asm__(".symver older_" #name ", " #name "@GLIBC_" version);                \
  result name parameters { return older_##name arguments; }
#define FIRST(result, name, parameters, arguments)                             \
  AS_OF("2.2.5", result, name, parameters, arguments)

/* Threads and the loader: in libpthread and libdl before 2.34. */
FIRST(int, pthread_create,
      (pthread_t * thread, const pthread_attr_t *attributes,
       void *(*start)(void *), void *argument),
      (thread, attributes, start, argument))
FIRST(int, pthread_detach, (pthread_t thread), (thread))
FIRST(int, pthread_join, (pthread_t thread, void **value), (thread, value))
FIRST(int, pthread_once, (pthread_once_t * once, void (*start)(void)),
      (once, start))
FIRST(int, pthread_attr_setstacksize,
      (pthread_attr_t * attributes, size_t size), (attributes, size))
FIRST(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
FIRST(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
FIRST(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))
FIRST(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old),
      (how, set, old))
FIRST(int, __pthread_key_create, (pthread_key_t * key, void (*end)(void *)),
      (key, end))
AS_OF("2.12", int, pthread_setname_np, (pthread_t thread, const char *name),
      (thread, name))
FIRST(void *, dlopen, (const char *file, int mode), (file, mode))
FIRST(void *, dlsym, (void *library, const char *name), (library, name))
FIRST(char *, dlerror, (void), ())
FIRST(int, dladdr, (const void *address, Dl_info *facts), (address, facts))

FIRST(double, exp, (double x), (x))
FIRST(double, exp2, (double x), (x))
FIRST(double, log, (double x), (x))
FIRST(double, log2, (double x), (x))
FIRST(double, pow, (double x, double y), (x, y))

/* Before 2.33 these were inline functions that pass the version of the struct
 * layout: 1 on x86-64. */
extern int __xstat(int layout, const char *path, struct stat *facts)
    __attribute__((visibility("default")));
extern int __lxstat(int layout, const char *path, struct stat *facts)
    __attribute__((visibility("default")));
extern int __fxstat(int layout, int file, struct stat *facts)
    __attribute__((visibility("default")));
int stat(const char *path, struct stat *facts) {
  return __xstat(1, path, facts);
}
int lstat(const char *path, struct stat *facts) {
  return __lxstat(1, path, facts);
}
int fstat(int file, struct stat *facts) { return __fxstat(1, file, facts); }

/* True if the process has a single thread, which allows non-atomic reference
 * counts (2.32). With 0 they are always atomic. */
char __libc_single_threaded = 0;

#if __GLIBC_PREREQ(2, 33)
/* LLVM uses it to report memory usage (2.33). The older function counts in
 * ints. */
struct mallinfo2 mallinfo2(void) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo counts = mallinfo();
#pragma GCC diagnostic pop
  return (struct mallinfo2){
      (unsigned)counts.arena,    (unsigned)counts.ordblks,
      (unsigned)counts.smblks,   (unsigned)counts.hblks,
      (unsigned)counts.hblkhd,   (unsigned)counts.usmblks,
      (unsigned)counts.fsmblks,  (unsigned)counts.uordblks,
      (unsigned)counts.fordblks, (unsigned)counts.keepcost};
}
#endif

/* Used by random_device of libstdc++ (2.36). */
uint32_t arc4random(void) {
  uint32_t number = 0;
  if (getentropy(&number, sizeof(number)) != 0)
    __builtin_trap();
  return number;
}

#if __GLIBC_PREREQ(2, 35)
/* Used by libgcc's unwinder to find frame tables (2.35): the object loaded at
 * an address. */
static int describe_if_there(struct dl_phdr_info *object, size_t size,
                             void *found) {
  (void)size;
  struct dl_find_object *result = found;
  const uintptr_t wanted = (uintptr_t)result->dlfo_map_start;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  void *frames = NULL;
  int is_there = 0;
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &object->dlpi_phdr[i];
    const uintptr_t address = object->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_GNU_EH_FRAME)
      frames = (void *)address;
    if (header->p_type != PT_LOAD)
      continue;
    begin = address < begin ? address : begin;
    end = address + header->p_memsz > end ? address + header->p_memsz : end;
    is_there |= wanted - address < header->p_memsz;
  }
  if (!is_there)
    return 0;
  memset(result, 0, sizeof(*result));
  result->dlfo_map_start = (void *)begin;
  result->dlfo_map_end = (void *)end;
  result->dlfo_eh_frame = frames;
  return 1;
}

int _dl_find_object(void *address, struct dl_find_object *result) {
  result->dlfo_map_start = address;
  return dl_iterate_phdr(describe_if_there, result) ? 0 : -1;
}
#endif

#pragma GCC visibility pop
