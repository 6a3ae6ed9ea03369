// SPDX-License-Identifier: Apache-2.0
#include "plan/words.h"

#include <cmath>

#include "common/text.h"

namespace ascend_attention {
namespace {

std::string RangeText(const Band& band, int64_t row, int64_t keys) {
    const int64_t first = std::max<int64_t>(0, band.low + row);
    const int64_t last = std::min<int64_t>(keys - 1, band.high + row);
    return first > last ? "no key" : first == last ? Concat("key ", first) : Concat("keys ", first, " to ", last);
}

// The keys around `row`, which is the formula of a position. The documents' default stands for all there are.
std::string BandText(const char* row, int64_t pre_tokens, int64_t next_tokens) {
    constexpr int64_t kAll = 2147483647;
    if (pre_tokens >= kAll && next_tokens >= kAll) {
        return "all keys";
    }
    // `row` moved by so many tokens, towards the last key if `up`.
    const auto moved = [row](int64_t tokens, bool up) {
        const uint64_t distance = tokens < 0 ? 0 - uint64_t(tokens) : uint64_t(tokens);
        return tokens == 0 ? std::string(row) : Concat(row, up == (tokens > 0) ? " + " : " - ", distance);
    };
    const std::string first = pre_tokens >= kAll ? "0" : moved(pre_tokens, false);
    const std::string last = next_tokens >= kAll ? "the last" : moved(next_tokens, true);
    return Concat("keys ", first, " to ", last);
}

// Sequences from ... to - 1.
void AddRange(int64_t from, int64_t to, const std::string& text, Page* page) {
    if (from < to) {
        const std::string which =
            to - from == 1 ? Concat("sequence ", from) : Concat("sequences ", from, " to ", to - 1);
        page->Add("lengths", which + ": " + text);
    }
}

}  // namespace

const char* AxesOf(AxisOrder order) {
    switch (order) {
        case AxisOrder::kBSH:
            return "(B, S, N*D)";
        case AxisOrder::kBSND:
            return "(B, S, N, D)";
        case AxisOrder::kBNSD:
            return "(B, N, S, D)";
        case AxisOrder::kTND:
            return "(T, N, D)";
        case AxisOrder::kNTD:
            return "(N, T, D)";
        case AxisOrder::kNBSD:
            return "(N, B, S, D)";
    }
    return "";
}

std::string HeadsOver(int64_t query_heads, int64_t key_heads) {
    const int64_t group = query_heads / key_heads;
    return Concat(query_heads, query_heads == 1 ? " query head over " : " query heads over ", key_heads,
                  group == 1 ? (key_heads == 1 ? " key/value head" : " key/value heads")
                             : Concat(": query head h reads key head h // ", group));
}

std::string ScaleText(double scale, int64_t head_dim) {
    return Concat("scores are multiplied by ", scale,
                  scale != 0 ? ""
                             : Concat(", so that all keys that a row sees weigh the same; 1 / sqrt(head_dim) is ",
                                      1 / std::sqrt(double(head_dim))));
}

std::string VisibleText(const BandArguments& arguments) {
    const char* kept = ", row i sees those where atten_mask is zero";
    switch (arguments.sparse_mode) {
        case 0:
            return arguments.mask
                       ? Concat("sparse_mode 0: of ", BandText("i", arguments.pre_tokens, arguments.next_tokens), kept)
                       : "sparse_mode 0 without atten_mask: every key; pre_tokens and next_tokens have no effect";
        case 1:
            return arguments.mask ? Concat("sparse_mode 1: of all keys", kept) : "sparse_mode 1: every key";
        case 2:
            return "sparse_mode 2: row i sees keys 0 to i; the content of atten_mask is not read";
        case 3:
            return "sparse_mode 3: row i sees keys 0 to i + (keys - queries); the content of atten_mask is not read";
        case 4:
            return Concat("sparse_mode 4: with d = i + (keys - queries), row i sees ",
                          BandText("d", arguments.pre_tokens, arguments.next_tokens),
                          "; the content of atten_mask is not read");
        default:
            return Concat("sparse_mode ", arguments.sparse_mode);
    }
}

std::string SequenceText(int64_t rows, int64_t keys, int64_t padded, const Band& band, bool masked) {
    std::string text = Concat(rows, rows == 1 ? " query, " : " queries, ", keys, keys == 1 ? " key" : " keys");
    if (padded > rows) {
        text += Concat(" (rows ", rows, " to ", padded - 1, " are padding)");
    }
    if (rows == 0) {
        return text;
    }
    const std::string first = RangeText(band, 0, keys);
    const std::string last = RangeText(band, rows - 1, keys);
    const bool counts = masked && keys != 0;
    text += counts ? "; if atten_mask hid nothing, " : "; ";
    const char* sees = counts ? " would see " : " sees ";
    if (rows == 1) {
        return Concat(text, "it", sees, first);
    }
    return text + (first == last ? Concat("every row", sees, first)
                                 : Concat("row 0", sees, first, ", row ", rows - 1, " ", last));
}

void AddEqualSequences(int64_t count, const std::string& text, Page* page) { AddRange(0, count, text, page); }

void AddSequences(LengthsView rows, LengthsView keys,
                  const std::function<std::string(int64_t rows, int64_t keys)>& text, Page* page) {
    constexpr int kShown = 16;
    int shown = 0;
    for (size_t from = 0; from < rows.size();) {
        size_t to = from + 1;
        while (to < rows.size() && rows[to] == rows[from] && keys[to] == keys[from]) {
            ++to;
        }
        if (++shown > kShown) {
            page->Add("lengths", Concat("and ", rows.size() - from, " more"));
            return;
        }
        AddRange(int64_t(from), int64_t(to), text(rows[from], keys[from]), page);
        from = to;
    }
}

void AddOutputTerms(const char* scale_name, const OptionalTensor& scale, const char* offset_name, bool offset, bool pse,
                    Page* page) {
    if (scale) {
        page->Add("quantised", Concat("attention_out: int8, ", scale_name, " ",
                                      NumElements(scale->shape) == 1 ? "for all" : "per channel",
                                      offset ? Concat(", with ", offset_name) : ""));
    }
    if (pse) {
        page->Add("bias", "pse_shift is added to the scaled scores");
    }
}

std::string OutputText(const OutputSpec& spec) { return Concat(NameOf(spec.dtype), " ", ShapeText(spec.shape)); }

void AddNotes(bool empty_query, bool empty_keys, bool has_lse, Page* page) {
    if (empty_query || empty_keys) {
        page->Add("note",
                  empty_query ? "nothing to compute: query is empty" : "key and value are empty: no row sees a key");
    }
    page->Add("note", Concat("rows that see no key and rows of padding are zeros",
                             has_lse ? " in attention_out, +inf in softmax_lse" : ""));
}

void AddRuns(const Status& supported, Page* page) {
    page->Add("runs", supported.ok() ? "yes"
                                     : Concat("not supported yet: ", supported.argument, " ", supported.given,
                                              "; so far: ", supported.allowed, ". ", supported.help));
}

}  // namespace ascend_attention
