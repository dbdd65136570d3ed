/*===- Nesting.h - Maximum nesting depth of text ------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#ifndef FOVEA_SUPPORT_NESTING_H
#define FOVEA_SUPPORT_NESTING_H

/** Maximum nesting depth of programs, pipelines and JSON, in the compiler and
 *  in the runtime. */
#define FOVEA_MAX_NESTING 512

#endif /* FOVEA_SUPPORT_NESTING_H */
