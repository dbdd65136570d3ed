/*===- JSON.h - Members of JSON objects ---------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Launch metadata as tokens. Errors are about the metadata that is being read.
 */
#ifndef FOVEA_LIB_RUNTIME_JSON_H
#define FOVEA_LIB_RUNTIME_JSON_H

#include "Internal.h"

/* Its functions are in JSON.c. */
#ifdef FOVEA_JSMN_FUNCTIONS
#define JSMN_STATIC
#else
#define JSMN_HEADER
#endif
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

/** A text and its tokens, which are numbered. */
typedef struct fovea_json {
  char *text;
  jsmntok_t *tokens;
  int num_tokens;
} fovea_json;

/** Finds the tokens of an object, its `size` characters long text. Strings get
 * a terminating zero where the closing quote was. */
fovea_status fovea_json_tokenize(fovea_json *json, size_t size);

/** The token behind `token` and all that it holds. */
int fovea_json_after(const fovea_json *json, int token);
/** The value of an object's member, or -1. */
int fovea_json_find(const fovea_json *json, int object, const char *name);

/** Whether the token, the member `name`, is there and of this type: `what`. */
fovea_status fovea_json_expect(const fovea_json *json, int token,
                               jsmntype_t type, const char *name,
                               const char *what);
fovea_status fovea_json_integer(const fovea_json *json, int token,
                                const char *name, int64_t *value);
fovea_status fovea_json_string(const fovea_json *json, int token,
                               const char *name, const char **value);
/** The same of an object's member. */
fovea_status fovea_json_string_member(const fovea_json *json, int object,
                                      const char *name, const char **value);
fovea_status fovea_json_list_member(const fovea_json *json, int object,
                                    const char *name, int *list);

#endif
