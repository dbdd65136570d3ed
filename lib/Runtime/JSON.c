/*===- JSON.c - Members of JSON objects ---------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Tokenises launch metadata with jsmn and finds typed members of objects.
 */
#define FOVEA_JSMN_FUNCTIONS
#include "JSON.h"

#include "fovea/Support/Nesting.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(...) fovea_fail(FOVEA_ERROR_METADATA, "metadata: " __VA_ARGS__)

/** The token after `token` and its children. */
int fovea_json_after(const fovea_json *json, int token) {
  int next = token + 1;
  while (next < json->num_tokens &&
         json->tokens[next].start < json->tokens[token].end)
    ++next;
  return next;
}

/** The value of an object's member, or -1. */
int fovea_json_find(const fovea_json *json, int object, const char *name) {
  int key = object + 1;
  for (int i = 0; i < json->tokens[object].size; ++i) {
    if (strcmp(json->text + json->tokens[key].start, name) == 0)
      return key + 1;
    key = fovea_json_after(json, key + 1);
  }
  return -1;
}

fovea_status fovea_json_expect(const fovea_json *json, int token,
                               jsmntype_t type, const char *name,
                               const char *what) {
  if (token < 0)
    return FAIL("'%s' is missing", name);
  if (json->tokens[token].type != type)
    return FAIL("'%s' must be %s", name, what);
  return FOVEA_OK;
}

fovea_status fovea_json_integer(const fovea_json *json, int token,
                                const char *name, int64_t *value) {
  TRY(fovea_json_expect(json, token, JSMN_PRIMITIVE, name, "an integer"));
  const char *start = json->text + json->tokens[token].start;
  char *end;
  errno = 0;
  long long parsed = strtoll(start, &end, 10);
  if (errno || end != json->text + json->tokens[token].end)
    return FAIL("'%s' must be an integer of 64 bits", name);
  *value = parsed;
  return FOVEA_OK;
}

fovea_status fovea_json_string(const fovea_json *json, int token,
                               const char *name, const char **value) {
  TRY(fovea_json_expect(json, token, JSMN_STRING, name, "a string"));
  *value = json->text + json->tokens[token].start;
  return FOVEA_OK;
}

fovea_status fovea_json_string_member(const fovea_json *json, int object,
                                      const char *name, const char **value) {
  return fovea_json_string(json, fovea_json_find(json, object, name), name,
                           value);
}

fovea_status fovea_json_list_member(const fovea_json *json, int object,
                                    const char *name, int *list) {
  *list = fovea_json_find(json, object, name);
  return fovea_json_expect(json, *list, JSMN_ARRAY, name, "a list");
}

/**
 * Checks the nesting depth first: the tokeniser's search for a parent is linear
 * in the depth, so deeply nested input would take quadratic time.
 */
static fovea_status check_nesting(const char *text, size_t size) {
  bool in_string = false;
  int depth = 0;
  for (size_t i = 0; i < size; ++i) {
    char c = text[i];
    if (c == '"')
      in_string = !in_string;
    else if (in_string && c == '\\')
      ++i;
    else if (!in_string && (c == '[' || c == '{') &&
             ++depth > FOVEA_MAX_NESTING)
      return FAIL("brackets nest deeper than %d", FOVEA_MAX_NESTING);
    else if (!in_string && (c == ']' || c == '}') && depth > 0)
      --depth;
  }
  return FOVEA_OK;
}

/** Strings get a terminating zero in place of the closing quote. */
fovea_status fovea_json_tokenize(fovea_json *json, size_t size) {
  TRY(check_nesting(json->text, size));
  jsmn_parser parser;
  jsmn_init(&parser);
  int count = jsmn_parse(&parser, json->text, size, NULL, 0);
  if (count <= 0)
    return FAIL("not JSON, or cut short, near byte %u", parser.pos);
  json->tokens = malloc(count * sizeof *json->tokens);
  if (!json->tokens)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  jsmn_init(&parser);
  json->num_tokens = jsmn_parse(&parser, json->text, size, json->tokens, count);
  if (json->num_tokens <= 0)
    return FAIL("not JSON, or cut short, near byte %u", parser.pos);
  for (int i = 0; i < json->num_tokens; ++i) {
    jsmntok_t *token = &json->tokens[i];
    if (token->type == JSMN_OBJECT) {
      int key = i + 1;
      for (int member = 0; member < token->size; ++member) {
        if (key >= json->num_tokens || json->tokens[key].type != JSMN_STRING ||
            json->tokens[key].size != 1)
          return FAIL("not JSON near byte %d", token->start);
        key = fovea_json_after(json, key + 1);
      }
    }
  }
  for (int i = 0; i < json->num_tokens; ++i) {
    jsmntok_t *token = &json->tokens[i];
    if (token->type != JSMN_STRING)
      continue;
    if (memchr(json->text + token->start, '\\', token->end - token->start) ||
        memchr(json->text + token->start, 0, token->end - token->start))
      return FAIL("escapes in strings are not allowed, found one at byte %d",
                  token->start);
    json->text[token->end] = 0;
  }
  return fovea_json_expect(json, 0, JSMN_OBJECT, "metadata", "an object");
}
