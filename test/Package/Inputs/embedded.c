/* A host whose kernel is missing: the library says so. */
#include <fovea/Runtime/fovea_embedded.h>

#include <stdio.h>

int main(void) {
  static fovea_embedded kernel = {.version = FOVEA_EMBEDDED_VERSION};
  fovea_status status = fovea_embedded_call(&kernel, NULL, 0);
  printf("%s: %s\n", fovea_status_name(status), fovea_last_error());
  return status != FOVEA_ERROR_ARGUMENT;
}
