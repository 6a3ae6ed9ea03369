// SPDX-License-Identifier: Apache-2.0
#include "timing/csv.h"

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>
#include <stdexcept>

namespace ascend_attention::sim {

namespace {

std::vector<std::string> SplitLine(const std::string& line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
            fields.back() += '"';
            ++i;
        } else if (line[i] == '"') {
            quoted = !quoted;
        } else if (line[i] == ',' && !quoted) {
            fields.emplace_back();
        } else {
            fields.back() += line[i];
        }
    }
    return fields;
}

std::string Trim(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

Csv::Csv(const std::string& name, const std::string& text) : name_(name) {
    int line_number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = Trim(text.substr(begin, end - begin));
        begin = end + 1;
        ++line_number;
        if (line.empty() || line[0] == '#') {
            continue;
        }
        std::vector<std::string> fields = SplitLine(line);
        std::transform(fields.begin(), fields.end(), fields.begin(), Trim);
        if (header_.empty()) {
            header_ = std::move(fields);
            continue;
        }
        Row row{line_number, std::move(fields)};
        if (row.fields.size() != header_.size()) {
            Refuse(row,
                   std::to_string(row.fields.size()) + " fields, the header has " + std::to_string(header_.size()));
        }
        rows_.push_back(std::move(row));
    }
}

const std::string& Csv::Text(const Row& row, const std::string& column) const {
    const auto found = std::find(header_.begin(), header_.end(), column);
    if (found == header_.end()) {
        throw std::invalid_argument(name_ + " has no column '" + column + "'");
    }
    return row.fields[static_cast<std::size_t>(found - header_.begin())];
}

double Csv::Number(const Row& row, const std::string& column) const {
    const std::string& text = Text(row, column);
    if (text.empty()) {
        return 0;
    }
    // Not strtod: it goes by the decimal point of the language that the program around has set.
    std::istringstream number(text);
    number.imbue(std::locale::classic());
    double value = 0;
    if (!(number >> value) || number.peek() != std::istringstream::traits_type::eof() || !std::isfinite(value) ||
        value < 0) {
        Refuse(row, column + " is '" + text + "', allowed: a number from 0 on");
    }
    return value;
}

double Csv::Required(const Row& row, const std::string& column) const {
    if (Text(row, column).empty()) {
        Refuse(row, column + " is '', allowed: a number from 0 on");
    }
    return Number(row, column);
}

void Csv::Refuse(const Row& row, const std::string& problem) const {
    throw std::invalid_argument(name_ + ":" + std::to_string(row.line) + ": " + problem);
}

std::vector<std::string> SplitList(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(';', begin), text.size());
        parts.push_back(Trim(text.substr(begin, end - begin)));
        begin = end + 1;
    }
    return parts;
}

}  // namespace ascend_attention::sim
