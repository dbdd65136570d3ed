//===- TextMutator.h - Mutates text as typing mistakes do -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside libFuzzer's own changes of bytes: of tokens, lines, numbers and
// nesting, and splices of two inputs. Including this in a fuzzer is using it.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TEST_FUZZ_TEXTMUTATOR_H
#define FOVEA_TEST_FUZZ_TEXTMUTATOR_H

#include <cctype>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace fovea::fuzz {

class TextMutator {
public:
  TextMutator(const uint8_t *data, size_t size, unsigned seed)
      : text(reinterpret_cast<const char *>(data), size), random(seed) {
    for (size_t i = 0; i < text.size();) {
      size_t start = i++;
      if (isWord(text[start]))
        while (i < text.size() && isWord(text[i]))
          ++i;
      if (!isspace(static_cast<unsigned char>(text[start])))
        tokens.push_back({start, i - start});
    }
  }

  std::string mutate() {
    if (tokens.empty())
      return text;
    switch (pick(8)) {
    case 0:
      return changeNumber();
    case 1:
      return replace(pickToken(), "");
    case 2:
      return replace(pickToken(), get(pickToken()));
    case 3: {
      Span span = pickSpan();
      return insert(span.start, get(span));
    }
    case 4:
      return replace(pickSpan(), "");
    case 5:
      return insert(pickToken().start, get(pickSpan()));
    case 6:
      return nest();
    default:
      return swapLines();
    }
  }

  /// Some of this text, and the rest of another.
  std::string splice(const TextMutator &other) {
    if (tokens.empty() || other.tokens.empty())
      return text;
    Span there = other.tokens[pick(other.tokens.size())];
    size_t length = pick(3) ? pick(200) : other.text.size();
    return replace(pickSpan(), other.text.substr(there.start, length));
  }

private:
  struct Span {
    size_t start, size;
  };

  static bool isWord(char c) {
    return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  }
  size_t pick(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random);
  }
  Span pickToken() { return tokens[pick(tokens.size())]; }
  Span pickSpan() {
    size_t first = pick(tokens.size());
    size_t last = std::min(tokens.size() - 1, first + pick(12));
    size_t start = tokens[first].start;
    return {start, tokens[last].start + tokens[last].size - start};
  }
  std::string get(Span span) const {
    return text.substr(span.start, span.size);
  }
  std::string replace(Span span, const std::string &by) const {
    return text.substr(0, span.start) + by +
           text.substr(span.start + span.size);
  }
  std::string insert(size_t place, const std::string &what) const {
    return replace({place, 0}, what + " ");
  }

  std::string changeNumber() {
    static const char *const numbers[] = {"0",
                                          "1",
                                          "-1",
                                          "2",
                                          "3",
                                          "7",
                                          "8",
                                          "16",
                                          "31",
                                          "32",
                                          "33",
                                          "64",
                                          "127",
                                          "128",
                                          "255",
                                          "256",
                                          "1000",
                                          "4096",
                                          "65535",
                                          "65536",
                                          "1e30",
                                          "-1e400",
                                          "nan",
                                          "0x7FC0",
                                          "0.0",
                                          "true",
                                          "?",
                                          "2147483647",
                                          "-2147483648",
                                          "4294967296",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "18446744073709551616"};
    constexpr size_t count = sizeof numbers / sizeof *numbers;
    std::vector<Span> found;
    for (Span token : tokens)
      if (isdigit(static_cast<unsigned char>(text[token.start])))
        found.push_back(token);
    return replace(found.empty() ? pickToken() : found[pick(found.size())],
                   numbers[pick(count)]);
  }

  /// Brackets around a span: a few, or very many.
  std::string nest() {
    static const char *const pairs[] = {"[]", "()", "{}", "<>"};
    const char *pair = pairs[pick(4)];
    size_t depth = pick(20) ? 1 + pick(4) : 1 + pick(3000);
    Span span = pickSpan();
    return replace(span, std::string(depth, pair[0]) + get(span) +
                             std::string(pick(8) ? depth : 0, pair[1]));
  }

  std::string swapLines() {
    std::vector<Span> lines;
    for (size_t start = 0; start < text.size();) {
      size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
      lines.push_back({start, end - start});
      start = end;
    }
    Span from = lines[pick(lines.size())], to = lines[pick(lines.size())];
    return pick(2) ? insert(to.start, get(from)) : replace(to, get(from));
  }

  std::string text;
  std::mt19937 random;
  std::vector<Span> tokens;
};

inline size_t store(const std::string &text, uint8_t *data, size_t most) {
  size_t size = std::min(text.size(), most);
  text.copy(reinterpret_cast<char *>(data), size);
  return size;
}

} // namespace fovea::fuzz

extern "C" inline __attribute__((used)) size_t LLVMFuzzerCustomMutator(
    uint8_t *data, size_t size, size_t most, unsigned seed) {
  if (seed % 4 == 0)
    return LLVMFuzzerMutate(data, size, most);
  return fovea::fuzz::store(fovea::fuzz::TextMutator(data, size, seed).mutate(),
                            data, most);
}

extern "C" inline __attribute__((used)) size_t LLVMFuzzerCustomCrossOver(
    const uint8_t *one, size_t oneSize, const uint8_t *two, size_t twoSize,
    uint8_t *out, size_t most, unsigned seed) {
  using fovea::fuzz::TextMutator;
  return fovea::fuzz::store(
      TextMutator(one, oneSize, seed).splice(TextMutator(two, twoSize, seed)),
      out, most);
}

#endif // FOVEA_TEST_FUZZ_TEXTMUTATOR_H
