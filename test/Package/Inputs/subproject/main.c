/* Links what Fovea builds as a part of this project. */
#include <fovea/Runtime/fovea_runtime.h>

#include <stdio.h>

int main(void) {
  printf("last error: '%s'\n", fovea_last_error());
  return 0;
}
