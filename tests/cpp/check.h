// SPDX-License-Identifier: Apache-2.0
// The smallest test support that still tells what went wrong: a test executable is a main() that calls functions full
// of CHECKs and returns check::Result().
#pragma once

#include <iostream>
#include <sstream>
#include <string>

namespace check {

inline int& Failures() {
    static int failures = 0;
    return failures;
}

inline long& Checks() {
    static long checks = 0;
    return checks;
}

inline void Report(const char* file, int line, const std::string& text) {
    // A broken loop fails in every iteration; the first failures say it all.
    if (++Failures() <= 40) {
        std::cerr << file << ":" << line << ": " << text << "\n";
    }
}

template <typename A, typename B>
void Equal(const char* file, int line, const char* expression, const A& given, const B& wanted,
           const std::string& context) {
    ++Checks();
    if (!(given == wanted)) {
        std::ostringstream text;
        text << expression << ": given " << given << ", wanted " << wanted << (context.empty() ? "" : "; ") << context;
        Report(file, line, text.str());
    }
}

inline void True(const char* file, int line, const char* expression, bool given, const std::string& context) {
    ++Checks();
    if (!given) {
        Report(file, line, std::string("not true: ") + expression + (context.empty() ? "" : "; ") + context);
    }
}

// Return value of main(). A test that checked nothing has failed.
inline int Result() {
    std::cout << Checks() << " checks, " << Failures() << " failures\n";
    return Failures() == 0 && Checks() > 0 ? 0 : 1;
}

}  // namespace check

#define CHECK(expression) ::check::True(__FILE__, __LINE__, #expression, (expression), "")
#define CHECK_CONTEXT(expression, context) ::check::True(__FILE__, __LINE__, #expression, (expression), (context))
#define CHECK_EQ(given, wanted) ::check::Equal(__FILE__, __LINE__, #given, (given), (wanted), "")
#define CHECK_EQ_CONTEXT(given, wanted, context) \
    ::check::Equal(__FILE__, __LINE__, #given, (given), (wanted), (context))
