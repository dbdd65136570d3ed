/*===- JSON.h - Members of JSON objects ---------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/** Tokenised launch metadata. Error messages refer to the metadata. */
#ifndef FOVEA_LIB_RUNTIME_JSON_H
#define FOVEA_LIB_RUNTIME_JSON_H

#include "Error.h"

/* JSON.c defines jsmn's functions. */
#ifdef FOVEA_JSMN_FUNCTIONS
#define JSMN_STATIC
#else
#define JSMN_HEADER
#endif
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

/** A text and its tokens, identified by index. */
typedef struct fovea_json {
  char *text;
  jsmntok_t *tokens;
  int num_tokens;
} fovea_json;

/**
 * Tokenises an object of `size` characters. Strings get a terminating zero in
 * place of the closing quote.
 */
fovea_status fovea_json_tokenize(fovea_json *json, size_t size);

/** The token after `token` and its children. */
int fovea_json_after(const fovea_json *json, int token);
/** The value of an object's member, or -1. */
int fovea_json_find(const fovea_json *json, int object, const char *name);

/**
 * Checks that the token, the value of member `name`, exists and has the given
 * type; `what` describes the type in the error message.
 */
fovea_status fovea_json_expect(const fovea_json *json, int token,
                               jsmntype_t type, const char *name,
                               const char *what);
fovea_status fovea_json_integer(const fovea_json *json, int token,
                                const char *name, int64_t *value);
fovea_status fovea_json_string(const fovea_json *json, int token,
                               const char *name, const char **value);
/** Reads a string member of an object. */
fovea_status fovea_json_string_member(const fovea_json *json, int object,
                                      const char *name, const char **value);
fovea_status fovea_json_list_member(const fovea_json *json, int object,
                                    const char *name, int *list);

#endif
