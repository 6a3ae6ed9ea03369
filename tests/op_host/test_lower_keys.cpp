// SPDX-License-Identifier: Apache-2.0
// Where every element of a request lies, told twice: by the lowered problem, read as the device reads it, and by the
// document's words (axes of the layouts, of caches, lists and biases), spelled out axis by axis here. For each
// sequence, head, position and channel both have to name the same element, and both have to let a row see the same
// keys.
#include <map>
#include <random>
#include <set>

#include "common/text.h"
#include "cpp/check.h"
#include "fused_infer_attention_score_v2/check.h"
#include "fused_infer_attention_score_v2/lower.h"
#include "op_host/case_file.h"

namespace {

using namespace ascend_attention;
using fia_v2::Request;
using fia_v2::Scene;

// The document's reading of a request.
struct Reading {
    std::string in;   // axes of query and of dense keys
    std::string out;  // of attention_out
    bool packed = false;
    int64_t batch = 0, heads = 0, key_heads = 0, query_length = 0, dim = 0, rope = 0, value_dim = 0;
    std::vector<int64_t> queries, keys;  // of each sequence

    int64_t First(const std::vector<int64_t>& lengths, int64_t b) const {
        int64_t first = 0;
        for (int64_t i = 0; i < b; ++i) {
            first += lengths[size_t(i)];
        }
        return first;
    }
    // Element (b, n, s, c) of a tensor with these axes.
    int64_t At(const std::string& axes, int64_t n_count, int64_t s_count, int64_t width,
               const std::vector<int64_t>& lengths, int64_t b, int64_t n, int64_t s, int64_t c) const {
        if (axes == "BSH" || axes == "BSND") {
            return ((b * s_count + s) * n_count + n) * width + c;
        }
        if (axes == "BNSD") {
            return ((b * n_count + n) * s_count + s) * width + c;
        }
        if (axes == "NBSD") {
            return ((n * batch + b) * s_count + s) * width + c;
        }
        const int64_t total = First(lengths, int64_t(lengths.size()));
        const int64_t token = First(lengths, b) + s;
        return axes == "TND" ? (token * n_count + n) * width + c : (n * total + token) * width + c;
    }
};

std::vector<int64_t> PlainLengths(const OptionalLengths& given, bool cumulative, size_t count, int64_t whole) {
    std::vector<int64_t> lengths(count, whole);
    for (size_t i = 0; given && !given->empty() && i < count; ++i) {
        const int64_t entry = (*given)[given->size() == 1 ? 0 : i];
        lengths[i] = entry - (cumulative && i > 0 ? (*given)[i - 1] : 0);
    }
    return lengths;
}

Reading Read(const Request& request) {
    Reading r;
    const std::string& name = request.input_layout;
    const size_t bar = name.find('_');
    r.in = name.substr(0, bar);
    r.out = bar == std::string::npos ? r.in : name.substr(bar + 1);
    r.packed = r.in == "TND" || r.in == "NTD";
    r.heads = request.num_query_heads;
    r.key_heads = request.num_key_value_heads == 0 ? r.heads : request.num_key_value_heads;
    const Shape& q = request.query->shape;
    r.batch = r.packed ? int64_t(request.actual_seq_qlen->size()) : q[0];
    r.query_length = r.packed ? 0 : q[r.in == "BNSD" ? 2 : 1];
    r.dim = r.in == "BSH" ? q[2] / r.heads : q.back();
    r.rope = request.query_rope ? 64 : 0;
    r.value_dim = r.packed && !request.block_table ? request.value->shape.back() : r.dim;
    r.queries = PlainLengths(r.query_length == 1 && !r.packed ? std::nullopt : request.actual_seq_qlen, r.packed,
                             size_t(r.batch), r.query_length);
    const int64_t dense = request.key ? request.key->shape[r.in == "BNSD" ? 2 : 1] : 0;
    r.keys = PlainLengths(request.actual_seq_kvlen, r.packed && !request.block_table, size_t(r.batch), dense);
    for (size_t i = 0; request.key_list && !request.actual_seq_kvlen && i < request.key_list->size(); ++i) {
        r.keys[i] = (*request.key_list)[i].shape[r.in == "BNSD" ? 2 : 1];
    }
    return r;
}

class Case {
public:
    explicit Case(const std::string& words, std::mt19937& random)
        : words_(words), request_(case_file::MakeRequest(words)), reading_(Read(request_)), random_(random) {}

    void Run() {
        Scene scene(request_, Contract::kExtended);
        CHECK_EQ_CONTEXT(fia_v2::CheckDocument(scene).Text(), std::string("ok"), words_);
        problem_ = fia_v2::Lower(scene);
        addresses_ = fia_v2::ListAddresses(scene);
        FillTable();
        CHECK_EQ_CONTEXT(problem_.head_dim, reading_.dim + reading_.rope, words_);
        CHECK_EQ_CONTEXT(problem_.rope_dim, reading_.rope, words_);
        CHECK_EQ_CONTEXT(problem_.value_head_dim, reading_.value_dim, words_);
        CHECK_EQ_CONTEXT(problem_.has_sink, request_.learnable_sink.has_value(), words_);
        CHECK_EQ_CONTEXT(problem_.has_bias, request_.pse_shift.has_value(), words_);
        MapRows();
        for (const ProblemSequence& sequence : problem_.sequences) {
            CHECK_CONTEXT(sequence.query_length >= 1, words_);
            for (int64_t p = 0; p < sequence.query_length; ++p) {
                CheckRow(sequence, p);
            }
        }
        CHECK_CONTEXT(rows_.empty(), words_);  // each row was somewhere
    }

private:
    // Ids as callers leave them: used entries in any order, the rest garbage.
    void FillTable() {
        if (!request_.block_table) {
            return;
        }
        const int64_t columns = request_.block_table->shape[1];
        table_.assign(size_t(reading_.batch * columns), -1);
        for (int64_t b = 0; b < reading_.batch; ++b) {
            for (int64_t i = 0; i * request_.block_size < reading_.keys[size_t(b)]; ++i) {
                table_[size_t(b * columns + i)] = int64_t(random_() % uint64_t(request_.key->shape[0]));
            }
        }
    }

    // Every row of the result by where its logarithm lies: (B, N, S, 1), or (T, N, 1).
    void MapRows() {
        for (int64_t b = 0; b < reading_.batch; ++b) {
            const int64_t count = reading_.packed ? reading_.queries[size_t(b)] : reading_.query_length;
            for (int64_t i = 0; i < count; ++i) {
                rows_[reading_.At(reading_.packed ? "TND" : "BNSD", reading_.heads, reading_.query_length, 1,
                                  reading_.queries, b, 0, i, 0)] = {b, i};
            }
        }
    }

    void CheckRow(const ProblemSequence& sequence, int64_t p) {
        const auto row = rows_.find(sequence.lse + p * problem_.lse.row);
        CHECK_CONTEXT(row != rows_.end(), words_);
        const auto [b, i] = row->second;
        rows_.erase(row);
        for (int64_t n = 0; n < reading_.heads; ++n) {
            CheckRowTensors(sequence, p, b, n, i);
        }
        CheckVisible(sequence, p, b, i);
        if (seen_.insert({b, sequence.key_length}).second) {
            for (int64_t n = 0; n < reading_.key_heads; ++n) {
                for (int64_t j = 0; j < sequence.key_length; j += 1 + j / 5) {
                    CheckKey(sequence, b, n, j);
                }
            }
        }
    }

    void CheckRowTensors(const ProblemSequence& sequence, int64_t p, int64_t b, int64_t n, int64_t i) {
        const Reading& r = reading_;
        const auto at = [&](const std::string& axes, int64_t width) {
            return r.At(axes, r.heads, r.query_length, width, r.queries, b, n, i, 0);
        };
        const auto device = [&](int64_t base, const HeadStrides& strides) {
            return base + n * strides.head + p * strides.row;
        };
        CHECK_EQ_CONTEXT(device(sequence.query, problem_.query), at(r.in, r.dim), words_);
        CHECK_EQ_CONTEXT(device(sequence.output, problem_.output), at(r.out, r.value_dim), words_);
        CHECK_EQ_CONTEXT(device(sequence.lse, problem_.lse), at(r.packed ? "TND" : "BNSD", 1), words_);
        if (r.rope > 0) {
            CHECK_EQ_CONTEXT(device(sequence.query_rope, problem_.query_rope), at(r.in, r.rope), words_);
        }
        if (request_.pse_shift) {
            const Shape& shape = request_.pse_shift->shape;
            const int64_t set = shape[0] == 1 ? 0 : b;
            CHECK_EQ_CONTEXT(device(sequence.bias, problem_.bias), ((set * shape[1] + n) * shape[2] + i) * shape[3],
                             words_);
        }
    }

    // Channel c of key j as the device finds it: the list or block that holds it, and the element inside.
    std::pair<int64_t, int64_t> DeviceKey(int64_t base, const HeadStrides& strides, int64_t block, const Shape& heads,
                                          const ProblemSequence& sequence, int64_t n, int64_t j, int64_t c) const {
        const int64_t size = problem_.block_size;
        switch (problem_.key_placement) {
            case KeyPlacement::kDense:
            case KeyPlacement::kSelected:  // all blocks selected
                return {0, base + n * strides.head + j * strides.row + c};
            case KeyPlacement::kPagedRows:
                return {0, table_[size_t(base + j / size)] * block + n * strides.head + j % size * strides.row + c};
            case KeyPlacement::kPagedNz:
                return {0, table_[size_t(base + j / size)] * block + n * strides.head + c / 16 * 16 * size +
                               j % size * 16 + c % 16};
            case KeyPlacement::kList: {
                const int64_t entry = sequence.key_list + n;
                return {entry / addresses_.heads,
                        entry % addresses_.heads * addresses_.head_bytes[size_t(entry / addresses_.heads)] / 2 +
                            j * strides.row + c};
            }
        }
        return {-1, int64_t(heads.size())};
    }

    std::pair<int64_t, int64_t> DocumentKey(const std::vector<Shape>& shapes, int64_t width, int64_t b, int64_t n,
                                            int64_t j, int64_t c) const {
        if (shapes.size() > 1) {  // a list: entry b alone, as a batch of one
            Reading alone = reading_;
            alone.batch = 1;
            const int64_t length = shapes[size_t(b)][reading_.in == "BNSD" ? 2 : 1];
            return {b, alone.At(reading_.in, reading_.key_heads, length, width, {length}, 0, n, j, c)};
        }
        const Shape& shape = shapes[0];
        if (!request_.block_table) {
            const int64_t length = shape[reading_.in == "BNSD" ? 2 : 1];
            return {0, reading_.At(reading_.in, reading_.key_heads, length, width, reading_.keys, b, n, j, c)};
        }
        const int64_t size = request_.block_size;
        const int64_t id = table_[size_t(b * request_.block_table->shape[1] + j / size)];
        const int64_t t = j % size;
        if (shape.size() == 3) {  // (blocks, block_size, H)
            return {0, (id * shape[1] + t) * shape[2] + n * width + c};
        }
        if (shape.size() == 4) {  // (blocks, N, block_size, D)
            return {0, ((id * shape[1] + n) * shape[2] + t) * shape[3] + c};
        }
        return {0, (((id * shape[1] + n) * shape[2] + c / 16) * shape[3] + t) * shape[4] + c % 16};
    }

    std::vector<Shape> ShapesOf(const OptionalTensor& tensor, const OptionalTensorList& list) const {
        std::vector<Shape> shapes;
        for (size_t i = 0; list && i < list->size(); ++i) {
            shapes.push_back((*list)[i].shape);
        }
        return tensor ? std::vector<Shape>{tensor->shape} : shapes;
    }

    void CheckKey(const ProblemSequence& sequence, int64_t b, int64_t n, int64_t j) {
        struct Part {
            std::vector<Shape> shapes;
            int64_t base;
            HeadStrides strides;
            int64_t block;
            int64_t width;
        };
        std::vector<Part> parts = {
            {ShapesOf(request_.key, request_.key_list), sequence.key, problem_.key, problem_.key_block, reading_.dim},
            {ShapesOf(request_.value, request_.value_list), sequence.value, problem_.value, problem_.value_block,
             reading_.value_dim}};
        if (reading_.rope > 0) {
            parts.push_back({ShapesOf(request_.key_rope, std::nullopt), sequence.key_rope, problem_.key_rope,
                             problem_.key_rope_block, reading_.rope});
        }
        for (const Part& part : parts) {
            for (const int64_t c : {int64_t(0), int64_t(17), part.width - 1}) {
                const auto device = DeviceKey(part.base, part.strides, part.block, part.shapes[0], sequence, n, j, c);
                const auto wanted = DocumentKey(part.shapes, part.width, b, n, j, c);
                CHECK_EQ_CONTEXT(device.first, wanted.first, words_);
                CHECK_EQ_CONTEXT(device.second, wanted.second, words_);
            }
        }
    }

    void CheckVisible(const ProblemSequence& sequence, int64_t p, int64_t b, int64_t i) {
        const int64_t queries = reading_.queries[size_t(b)];
        const int64_t keys = reading_.keys[size_t(b)];
        const bool free_row = !reading_.packed && reading_.query_length == 1 && reading_.rope == 0;
        const int64_t mode = free_row ? 1 : request_.sparse_mode;
        const OptionalTensor& mask = request_.atten_mask;
        CHECK_EQ_CONTEXT(problem_.has_mask, mask.has_value() && mode <= 1, words_);
        for (int64_t j = 0; j < keys; ++j) {
            const int64_t shifted = i + keys - queries;
            const int64_t pre = request_.pre_tokens;
            const int64_t next = request_.next_tokens;
            bool visible = i < queries;
            if (mode == 0 && mask) {
                visible = visible && i - pre <= j && j <= i + next;
            } else if (mode == 2) {
                visible = visible && j <= i;
            } else if (mode == 3) {
                visible = visible && j <= shifted;
            } else if (mode == 4) {
                visible = visible && shifted - pre <= j && j <= shifted + next;
            }
            const bool device = j < sequence.key_length && p + sequence.band_low <= j && j <= p + sequence.band_high;
            CHECK_EQ_CONTEXT(device, visible, words_);
            if (visible && problem_.has_mask) {
                const Shape& shape = mask->shape;
                const bool rows = !(shape.size() == 2 && reading_.query_length == 1);  // else (B, KV_S)
                const int64_t row = rows ? (shape.size() > 2 && shape[0] > 1 ? b : 0) * shape[shape.size() - 2] + i : b;
                CHECK_EQ_CONTEXT(sequence.mask + p * problem_.mask_row + j, row * shape.back() + j, words_);
            }
        }
    }

    const std::string words_;
    const Request request_;
    const Reading reading_;
    std::mt19937& random_;
    AttentionProblem problem_;
    AddressList addresses_;
    std::vector<int64_t> table_;
    std::map<int64_t, std::pair<int64_t, int64_t>> rows_;
    std::set<std::pair<int64_t, int64_t>> seen_;
};

// Dimensions of a tensor of `heads` heads over `length` positions; packed: over all tokens.
std::string Dims(const std::string& axes, int64_t batch, int64_t heads, int64_t length, int64_t width) {
    const auto text = [](std::initializer_list<int64_t> shape) {
        std::string list;
        for (const int64_t dim : shape) {
            list += (list.empty() ? "" : ",") + std::to_string(dim);
        }
        return "[" + list + "] ";
    };
    return axes == "BSH"    ? text({batch, length, heads * width})
           : axes == "BSND" ? text({batch, length, heads, width})
           : axes == "BNSD" ? text({batch, heads, length, width})
           : axes == "TND"  ? text({length, heads, width})
                            : text({heads, length, width});
}

std::string Cache(const std::string& form, int64_t heads, int64_t size, int64_t width) {
    return form == "rows"    ? Concat("[9,", size, ",", heads * width, "] ")
           : form == "heads" ? Concat("[9,", heads, ",", size, ",", width, "] ")
                             : Concat("[9,", heads, ",", width / 16, ",", size, ",16] ");
}

std::vector<std::string> PackedCases() {
    std::vector<std::string> cases;
    const std::string modes[] = {"", "sparse_mode=3 atten_mask=int8[2048,2048]",
                                 "sparse_mode=4 atten_mask=int8[2048,2048] pre_tokens=3 next_tokens=-1"};
    const std::string lengths = " actual_seq_qlen={3,3,4,9} actual_seq_kvlen=";
    for (const std::string layout : {"TND", "NTD_TND"}) {
        const std::string axes = layout.substr(0, 3);
        for (const std::string& mode : modes) {
            const std::string head =
                "input_layout=" + layout + " num_query_heads=4 num_key_value_heads=2 query=bfloat16";
            const std::string tail = mode + " return_softmax_lse=true";
            for (const auto& [dim, value] : {std::pair(128, 128), std::pair(192, 128), std::pair(48, 32)}) {
                cases.push_back(head + Dims(axes, 0, 4, 9, dim) + "key=bfloat16" + Dims(axes, 0, 2, 20, dim) +
                                "value=bfloat16" + Dims(axes, 0, 2, 20, value) + tail + lengths +
                                (mode.empty() ? "{5,9,9,20}" : "{5,9,10,20}") +
                                (mode.empty() ? " learnable_sink=bfloat16[4]" : ""));
            }
            cases.push_back(head + Dims(axes, 0, 4, 9, 128) + "query_rope=bfloat16" + Dims(axes, 0, 4, 9, 64) +
                            "key=bfloat16" + Dims(axes, 0, 2, 20, 128) + "value=bfloat16" + Dims(axes, 0, 2, 20, 128) +
                            "key_rope=bfloat16" + Dims(axes, 0, 2, 20, 64) + tail + lengths + "{5,9,10,20}");
            for (const char* form : {"rows", "heads"}) {
                cases.push_back(head + Dims(axes, 0, 4, 9, 128) + "key=bfloat16" + Cache(form, 2, 128, 128) +
                                "value=bfloat16" + Cache(form, 2, 128, 128) + "block_table=int32[4,3] block_size=128 " +
                                tail + lengths + (mode.empty() ? "{300,0,0,128}" : "{300,2,1,128}"));
            }
        }
    }
    return cases;
}

std::vector<std::string> LatentCases() {
    std::vector<std::string> cases;
    const std::string latent = "num_query_heads=4 num_key_value_heads=1 query=bfloat16";
    const auto keys = [](const std::string& form) {
        return "key=bfloat16" + Cache(form, 1, 128, 512) + "value=bfloat16" + Cache(form, 1, 128, 512) +
               "key_rope=bfloat16" + Cache(form, 1, 128, 64) + "block_size=128 ";
    };
    for (const std::string layout : {"BSH", "BSND", "BNSD", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD"}) {
        const std::string axes = layout.substr(0, layout.find('_'));
        for (const int64_t length : {1, 3}) {
            for (const std::string form : {"rows", "heads", "nz"}) {
                if ((axes == "BNSD" && form == "nz") || (axes != "BNSD" && form == "heads")) {
                    continue;
                }
                cases.push_back("input_layout=" + layout + " " + latent + Dims(axes, 2, 4, length, 512) +
                                "query_rope=bfloat16" + Dims(axes, 2, 4, length, 64) + keys(form) +
                                "block_table=int32[2,3] actual_seq_kvlen={300,129} actual_seq_qlen={1,2}" +
                                (length > 1 ? " sparse_mode=3 atten_mask=int8[2048,2048]" : ""));
            }
        }
    }
    for (const std::string layout : {"TND", "TND_NTD"}) {
        for (const std::string form : {"rows", "heads", "nz"}) {
            cases.push_back("input_layout=" + layout + " " + latent + Dims("TND", 0, 4, 7, 512) +
                            "query_rope=bfloat16" + Dims("TND", 0, 4, 7, 64) + keys(form) +
                            "block_table=int32[3,3] actual_seq_qlen={2,2,7} actual_seq_kvlen={300,5,129} sparse_mode=3 "
                            "atten_mask=int8[2048,2048]");
        }
    }
    cases.push_back(
        "input_layout=BSND query=bfloat16[2,4,128,512] query_rope=bfloat16[2,4,128,64] key=bfloat16[2,30,1,512] "
        "value=bfloat16[2,30,1,512] key_rope=bfloat16[2,30,1,64] num_query_heads=128 num_key_value_heads=1 "
        "sparse_mode=4 "
        "atten_mask=int8[2048,2048] pre_tokens=9 next_tokens=0");
    return cases;
}

std::vector<std::string> PaddedCases() {
    std::vector<std::string> cases;
    for (const std::string layout : {"BSH", "BSND", "BNSD"}) {
        const std::string head = "input_layout=" + layout + " num_query_heads=4 num_key_value_heads=2 ";
        const auto query = [&](int64_t length) { return "query=float16" + Dims(layout, 3, 4, length, 64); };
        const std::string dense = "key=float16" + Dims(layout, 3, 2, 40, 64) + "value=float16" +
                                  Dims(layout, 3, 2, 40, 64) + "actual_seq_kvlen={40,0,7} ";
        // One row: actual_seq_qlen and sparse_mode have no effect, a mask has no axis of rows.
        for (const char* more :
             {"actual_seq_qlen={0,1,0} sparse_mode=3", "atten_mask=bool[3,40]", "atten_mask=int8[3,1,48] sparse_mode=2",
              "atten_mask=int8[3,1,1,40] pre_tokens=-9", "pse_shift=float16[1,4,1,48] learnable_sink=bfloat16[4]"}) {
            cases.push_back(head + query(1) + dense + more);
        }
        for (const char* more : {"pse_shift=float16[3,4,7,40] actual_seq_qlen={5,2,7}",
                                 "pse_shift=float16[1,4,8,48] sparse_mode=3 atten_mask=int8[2048,2048]"}) {
            cases.push_back(head + query(7) + dense + more);
        }
        const std::string form = layout == "BNSD" ? "heads" : "rows";
        for (const std::string& paged : {form, std::string("rows")}) {
            for (const int64_t length : {1, 5}) {
                cases.push_back(
                    head + query(length) + "key=float16" + Cache(paged, 2, 128, 64) + "value=float16" +
                    Cache(paged, 2, 128, 64) +
                    "block_table=int32[3,3] block_size=128 actual_seq_kvlen={300,0,129} actual_seq_qlen={1,2,0} " +
                    (length > 1 ? "atten_mask=bool[3,1,6,400] next_tokens=100" : "atten_mask=bool[3,384]"));
            }
        }
        const auto list = [&](const char* name) {
            std::string text;
            for (const int64_t length : {9, 0, 30}) {
                const std::string dims = Dims(layout, 1, 2, length, 64);
                text += (text.empty() ? "" : ",") + ("float16" + dims.substr(0, dims.size() - 1));
            }
            return Concat(name, "=[", text, "] ");
        };
        for (const char* more : {"", "actual_seq_kvlen={4,0,30} sparse_mode=2 atten_mask=int8[2048,2048]"}) {
            cases.push_back(head + query(6) + list("key") + list("value") + more);
        }
    }
    return cases;
}

}  // namespace

int main() {
    const unsigned seed = std::random_device{}();
    std::cout << "seed " << seed << "\n";
    std::mt19937 random(seed);
    int cases = 0;
    for (const auto& list : {PackedCases(), LatentCases(), PaddedCases()}) {
        for (const std::string& words : list) {
            Case(words, random).Run();
            ++cases;
        }
    }
    CHECK_CONTEXT(cases >= 90, std::to_string(cases));
    return check::Result();
}
