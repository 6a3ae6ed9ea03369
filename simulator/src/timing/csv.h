// SPDX-License-Identifier: Apache-2.0
// Comma-separated values with a header line, as the timing data are kept in. Fields may be quoted; a line that starts
// with # is a comment.
#pragma once

#include <string>
#include <vector>

namespace ascend_attention::sim {

class Csv {
public:
    // `name` is the file, for messages. Throws std::invalid_argument when a row and the header differ in length.
    Csv(const std::string& name, const std::string& text);

    struct Row {
        int line;
        std::vector<std::string> fields;
    };
    const std::vector<Row>& rows() const { return rows_; }
    const std::string& Text(const Row& row, const std::string& column) const;
    // Empty fields are 0. Throws std::invalid_argument for anything that is not a finite number >= 0.
    double Number(const Row& row, const std::string& column) const;
    // The same, and for an empty field.
    double Required(const Row& row, const std::string& column) const;
    [[noreturn]] void Refuse(const Row& row, const std::string& problem) const;

private:
    std::string name_;
    std::vector<std::string> header_;
    std::vector<Row> rows_;
};

// The parts of "a; b; c", without blanks around them.
std::vector<std::string> SplitList(const std::string& text);

}  // namespace ascend_attention::sim
