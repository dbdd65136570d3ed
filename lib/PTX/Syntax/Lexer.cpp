//===- Lexer.cpp - Tokens of PTX ------------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits PTX text into tokens.
//
//===----------------------------------------------------------------------===//

#include "Syntax/Lexer.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>

using namespace fovea::ptx;
using llvm::StringRef;

static bool isNameStart(char c) {
  return llvm::isAlpha(c) || c == '_' || c == '$' || c == '%';
}

static bool isNamePart(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$';
}

void Lexer::skipBlanks() {
  while (position < text.size()) {
    char c = peek();
    if (c == '\n') {
      ++line;
      lineStart = ++position;
    } else if (llvm::isSpace(c)) {
      ++position;
    } else if (c == '/' && peek(1) == '/') {
      position = std::min(text.find('\n', position), text.size());
    } else if (c == '/' && peek(1) == '*') {
      size_t end = std::min(text.find("*/", position + 2), text.size());
      for (; position < end; ++position)
        if (peek() == '\n') {
          ++line;
          lineStart = position + 1;
        }
      position = std::min(end + 2, text.size());
    } else {
      return;
    }
  }
}

Token Lexer::finish(Token token, size_t end) {
  token.text = text.slice(position, end);
  position = end;
  return token;
}

/// `0f3F800000` and `0d...` are bits; decimals with a point are doubles.
Token Lexer::lexNumber(Token token) {
  size_t end = position;
  while (end < text.size() && isNamePart(text[end]))
    ++end;
  StringRef digits = text.slice(position, end);
  if (digits.size() > 1 && digits[0] == '0' && strchr("fFdD", digits[1])) {
    token.bits = llvm::toLower(digits[1]) == 'f' ? 32 : 64;
    token.kind = Token::Real;
    if (digits.size() != 2 + token.bits / 4u ||
        digits.drop_front(2).getAsInteger(16, token.integer))
      token.kind = Token::Bad;
    return finish(token, end);
  }
  if (end < text.size() && text[end] == '.' && end + 1 < text.size() &&
      llvm::isDigit(text[end + 1])) {
    ++end;
    while (end < text.size() && isNamePart(text[end]))
      ++end;
    double value;
    token.kind =
        text.slice(position, end).getAsDouble(value) ? Token::Bad : Token::Real;
    token.bits = 0;
    if (token.kind == Token::Real)
      memcpy(&token.integer, &value, sizeof value);
    return finish(token, end);
  }
  StringRef number = digits;
  number.consume_back("U");
  token.kind =
      number.getAsInteger(0, token.integer) ? Token::Bad : Token::Integer;
  return finish(token, end);
}

Token Lexer::next() {
  skipBlanks();
  Token token;
  token.loc = {line, unsigned(position - lineStart) + 1};
  if (position >= text.size())
    return token;
  char c = peek();
  if (isNameStart(c) || (c == '.' && isNamePart(peek(1)))) {
    token.kind = c == '.' ? Token::Dotted : Token::Word;
    size_t end = position + 1;
    while (end < text.size()) {
      char e = text[end];
      bool joins = isNamePart(e);
      if (e == '.')
        joins = c != '.' && end + 1 < text.size() && isNamePart(text[end + 1]);
      if (e == ':' && end + 2 < text.size() && text[end + 1] == ':' &&
          isNamePart(text[end + 2])) {
        end += 2;
        joins = true;
      }
      if (!joins)
        break;
      ++end;
    }
    token = finish(token, end);
    // A lone underscore is a sink; a lone percent sign is an error.
    if (token.text == "%")
      token.kind = Token::Bad;
    return token;
  }
  if (llvm::isDigit(c))
    return lexNumber(token);
  if (c == '"') {
    size_t end = text.find_first_of("\"\n", position + 1);
    token.kind = end == StringRef::npos || text[end] == '\n' ? Token::Bad
                                                             : Token::String;
    token.text = text.slice(position + 1, end);
    position =
        std::min(end == StringRef::npos ? text.size() : end + 1, text.size());
    if (token.kind == Token::Bad) {
      token.text = "";
      position = text.size();
    }
    return token;
  }
  token.kind =
      strchr("{}()[]<>,;:|@!+-=*&", c) && c ? Token::Punctuation : Token::Bad;
  return finish(token, position + 1);
}
