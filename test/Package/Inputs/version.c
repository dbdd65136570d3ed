/* The smallest program that links libFovea by its package. */
#include <fovea-c/Fovea.h>

#include <stdio.h>

int main(void) {
  printf("version %s\n", foveaVersion());
  return 0;
}
