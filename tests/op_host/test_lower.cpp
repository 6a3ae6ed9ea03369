// SPDX-License-Identifier: Apache-2.0
// Lowering against the document, pair by pair: for every layout, mode, mask form and set of lengths, each (batch, head,
// row, key) is visible through the problem exactly when a naive reading of the document says so, and each element is
// addressed where the layout puts it.
#include <algorithm>
#include <random>

#include "cpp/check.h"
#include "fused_infer_attention_score_v2/check.h"
#include "fused_infer_attention_score_v2/lower.h"

namespace {

using namespace ascend_attention;
using fia_v2::Request;
using fia_v2::Scene;

struct Sizes {
    int64_t batch, heads, key_heads, query_length, key_length, dim;
};

Shape TensorShape(const std::string& layout, int64_t batch, int64_t heads, int64_t length, int64_t dim) {
    if (layout == "BSH") {
        return {batch, length, heads * dim};
    }
    return layout == "BSND" ? Shape{batch, length, heads, dim} : Shape{batch, heads, length, dim};
}

TensorView View(DType dtype, const Shape& shape) {
    TensorView view;
    view.dtype = dtype;
    view.shape = shape;
    return view;
}

// Element offset of (b, h, s, d) in a contiguous tensor of this layout, spelled out axis by axis.
int64_t NaiveOffset(const std::string& layout, int64_t heads, int64_t length, int64_t dim, int64_t b, int64_t h,
                    int64_t s, int64_t d) {
    if (layout == "BNSD") {
        return ((b * heads + h) * length + s) * dim + d;
    }
    return ((b * length + s) * heads + h) * dim + d;
}

// The document's visibility of key j from row i of batch b; `masked` is the mask's own answer.
bool NaiveVisible(const Request& request, int64_t query_length, int64_t key_length, int64_t i, int64_t j, bool masked) {
    if (i >= query_length || j >= key_length) {
        return false;
    }
    // Any 64-bit token count is legal: wider sums cannot overflow.
    const __int128 pre = request.pre_tokens;
    const __int128 next = request.next_tokens;
    const int64_t shift = key_length - query_length;
    switch (request.sparse_mode) {
        case 0:
            return !request.atten_mask || (!masked && i - pre <= j && j <= i + next);
        case 1:
            return !masked;
        case 2:
            return j <= i;
        case 3:
            return j <= i + shift;
        default:
            return i + shift - pre <= j && j <= i + shift + next;
    }
}

int64_t LengthOf(const OptionalLengths& lengths, int64_t b, int64_t whole) {
    if (!lengths || lengths->empty()) {
        return whole;
    }
    return lengths->size() == 1 ? lengths->front() : (*lengths)[size_t(b)];
}

// Offset into the mask buffer for (b, i, j): the last two axes are (row, key), a leading axis above 1 is the batch.
int64_t NaiveMaskOffset(const Shape& shape, int64_t b, int64_t i, int64_t j) {
    const int64_t rows = shape[shape.size() - 2];
    const int64_t columns = shape[shape.size() - 1];
    const int64_t plane = shape.size() > 2 && shape[0] > 1 ? b : 0;
    return (plane * rows + i) * columns + j;
}

class Case {
public:
    Case(const Request& request, const Sizes& sizes, const std::string& context)
        : request_(request), sizes_(sizes), context_(context) {}

    void Run(std::mt19937& random) {
        Scene scene(request_, Contract::kDocument);
        const Status status = fia_v2::CheckDocument(scene);
        CHECK_EQ_CONTEXT(status.Text(), std::string("ok"), context_);
        CHECK_EQ_CONTEXT(fia_v2::CheckSupported(scene).Text(), std::string("ok"), context_);
        problem_ = fia_v2::Lower(scene);
        if (request_.atten_mask && request_.sparse_mode <= 1) {
            mask_.resize(size_t(NumElements(request_.atten_mask->shape)));
            for (uint8_t& hidden : mask_) {
                hidden = uint8_t(random() % 3 == 0);
            }
        }
        CheckFields();
        CheckRows();
    }

private:
    void CheckFields() {
        CHECK_EQ_CONTEXT(problem_.query_heads, sizes_.heads, context_);
        CHECK_EQ_CONTEXT(problem_.key_heads, sizes_.key_heads, context_);
        CHECK_EQ_CONTEXT(problem_.head_dim, sizes_.dim, context_);
        CHECK_EQ_CONTEXT(problem_.value_head_dim, sizes_.dim, context_);
        CHECK_CONTEXT(problem_.dtype == request_.query->dtype, context_);
        CHECK_EQ_CONTEXT(problem_.writes_lse, request_.return_softmax_lse, context_);
        CHECK_EQ_CONTEXT(problem_.scale, request_.softmax_scale, context_);
        const bool head_major = request_.input_layout.rfind("BNSD", 0) == 0;
        CHECK_CONTEXT((problem_.fold_order == RowOrder::kHeadMajor) == head_major, context_);
        // Masks of sparse_mode 2, 3, 4 are promises: their content is never read.
        CHECK_EQ_CONTEXT(problem_.has_mask, request_.atten_mask && request_.sparse_mode <= 1, context_);
    }

    // Which sequence and position holds row i of batch b: found by the output address, which must be unique.
    void CheckRows() {
        const std::string in = request_.input_layout == "BNSD_BSND" ? "BNSD" : request_.input_layout;
        const std::string out = request_.input_layout == "BNSD_BSND" ? "BSND" : request_.input_layout;
        std::vector<int> seen(size_t(sizes_.batch * sizes_.query_length), 0);
        for (const ProblemSequence& sequence : problem_.sequences) {
            CHECK_CONTEXT(sequence.query_length >= 1, context_);
            // LSE is (B, N, S, 1) in every layout, so its offset names batch and row.
            const int64_t b = sequence.lse / (sizes_.heads * sizes_.query_length);
            const int64_t first = sequence.lse % (sizes_.heads * sizes_.query_length);
            CHECK_CONTEXT(first + sequence.query_length <= sizes_.query_length, context_);
            for (int64_t p = 0; p < sequence.query_length && first + p < sizes_.query_length; ++p) {
                ++seen[size_t(b * sizes_.query_length + first + p)];
                CheckAddresses(sequence, in, out, b, first + p, p);
                CheckVisibility(sequence, b, first + p, p);
            }
        }
        CHECK_CONTEXT(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }), context_);
    }

    void CheckAddresses(const ProblemSequence& sequence, const std::string& in, const std::string& out, int64_t b,
                        int64_t i, int64_t p) {
        const Sizes& z = sizes_;
        for (int64_t h = 0; h < z.heads; ++h) {
            const int64_t kh = h / (z.heads / z.key_heads);
            const auto at = [&](int64_t base, const HeadStrides& strides, int64_t head, int64_t row) {
                return base + head * strides.head + row * strides.row;
            };
            CHECK_EQ_CONTEXT(at(sequence.query, problem_.query, h, p),
                             NaiveOffset(in, z.heads, z.query_length, z.dim, b, h, i, 0), context_);
            CHECK_EQ_CONTEXT(at(sequence.output, problem_.output, h, p),
                             NaiveOffset(out, z.heads, z.query_length, z.dim, b, h, i, 0), context_);
            CHECK_EQ_CONTEXT(at(sequence.lse, problem_.lse, h, p), (b * z.heads + h) * z.query_length + i, context_);
            for (int64_t j = 0; j < sequence.key_length; j += 3) {
                const int64_t wanted = NaiveOffset(in, z.key_heads, z.key_length, z.dim, b, kh, j, 0);
                CHECK_EQ_CONTEXT(at(sequence.key, problem_.key, kh, j), wanted, context_);
                CHECK_EQ_CONTEXT(at(sequence.value, problem_.value, kh, j), wanted, context_);
            }
        }
    }

    void CheckVisibility(const ProblemSequence& sequence, int64_t b, int64_t i, int64_t p) {
        const int64_t query_length = LengthOf(request_.actual_seq_qlen, b, sizes_.query_length);
        const int64_t key_length = LengthOf(request_.actual_seq_kvlen, b, sizes_.key_length);
        for (int64_t j = 0; j < sizes_.key_length; ++j) {
            const bool masked = request_.atten_mask && request_.sparse_mode <= 1 &&
                                mask_[size_t(NaiveMaskOffset(request_.atten_mask->shape, b, i, j))] != 0;
            bool visible = j < sequence.key_length && p + sequence.band_low <= j && j <= p + sequence.band_high;
            if (visible && problem_.has_mask) {
                visible = mask_[size_t(sequence.mask + p * problem_.mask_row + j)] == 0;
            }
            CHECK_EQ_CONTEXT(visible, NaiveVisible(request_, query_length, key_length, i, j, masked), context_);
        }
    }

    const Request& request_;
    const Sizes& sizes_;
    const std::string context_;
    AttentionProblem problem_;
    std::vector<uint8_t> mask_;
};

std::vector<Shape> FullMaskShapes(const Sizes& z) {
    const int64_t q = z.query_length;
    const int64_t k = z.key_length;
    return {{q, k},     {1, q, k}, {z.batch, q, k}, {1, 1, q, k}, {z.batch, 1, q, k}, {z.batch, 1, q + 3, k + 5},
            {q, k + 16}};
}

// The token pairs to try; those the document refuses for these lengths are skipped by the caller.
constexpr std::pair<int64_t, int64_t> kTokens[] = {
    {2147483647, 2147483647}, {0, 0},          {3, 0},          {0, 2}, {2, 1}, {4, -2}, {-2, 4}, {-3, 3},
    {INT64_MAX, INT64_MAX},   {INT64_MAX, -1}, {-1, INT64_MAX},
};

const OptionalLengths kQueryLists[] = {std::nullopt, {{}}, {{4}}, {{0, 7}}, {{5, 2, 9}}};
const OptionalLengths kKeyLists[] = {std::nullopt, {{6}}, {{0, 9}}, {{9, 3, 99}}, {{0}}};

int RunMode(std::mt19937& random, Request request, const Sizes& sizes, const std::string& name) {
    int cases = 0;
    for (const auto& query_list : kQueryLists) {
        for (const auto& key_list : kKeyLists) {
            request.actual_seq_qlen = query_list;
            request.actual_seq_kvlen = key_list;
            for (const auto& [pre, next] : kTokens) {
                request.pre_tokens = pre;
                request.next_tokens = next;
                Scene scene(request, Contract::kDocument);
                const Status status = fia_v2::CheckDocument(scene);
                if (!status.ok()) {
                    // Only the token rules may object to what this test builds.
                    CHECK_CONTEXT(status.rule >= "FIA-C47" && status.rule <= "FIA-C50", status.Text());
                    continue;
                }
                Case(request, sizes,
                     Concat(name, " mode ", request.sparse_mode, " pre ", pre, " next ", next, " case ", cases))
                    .Run(random);
                ++cases;
            }
        }
    }
    return cases;
}

void TestEveryLayoutAndMode(std::mt19937& random) {
    const Sizes all_sizes[] = {{2, 4, 2, 7, 9, 16}, {2, 3, 3, 9, 9, 32}, {2, 2, 1, 16, 9, 16}};
    int cases = 0;
    for (const char* layout : {"BSH", "BSND", "BNSD", "BNSD_BSND"}) {
        for (const Sizes& z : all_sizes) {
            const std::string in = std::string(layout) == "BNSD_BSND" ? "BNSD" : layout;
            Request request;
            request.input_layout = layout;
            request.query = View(DType::kFloat16, TensorShape(in, z.batch, z.heads, z.query_length, z.dim));
            request.key = View(DType::kFloat16, TensorShape(in, z.batch, z.key_heads, z.key_length, z.dim));
            request.value = request.key;
            request.num_query_heads = z.heads;
            request.num_key_value_heads = z.key_heads;
            request.softmax_scale = 0.125;
            request.return_softmax_lse = z.heads != 3;
            for (int mode = 0; mode <= 4; ++mode) {
                request.sparse_mode = mode;
                request.atten_mask.reset();
                if (mode == 0) {
                    cases += RunMode(random, request, z, layout);
                }
                const std::vector<Shape> shapes = mode <= 1 ? FullMaskShapes(z) : std::vector<Shape>{{2048, 2048}};
                for (const Shape& shape : shapes) {
                    request.atten_mask = View(DType::kInt8, shape);
                    cases += RunMode(random, request, z, layout);
                }
            }
        }
    }
    CHECK_CONTEXT(cases > 5000, std::to_string(cases));
}

// With one batch a leading mask axis of 1 is that batch.
void TestOneBatch(std::mt19937& random) {
    const Sizes z = {1, 2, 2, 5, 6, 16};
    Request request;
    request.query = View(DType::kBFloat16, TensorShape("BSH", 1, 2, 5, 16));
    request.key = View(DType::kBFloat16, TensorShape("BSH", 1, 2, 6, 16));
    request.value = request.key;
    request.num_query_heads = 2;
    request.sparse_mode = 1;
    for (const Shape& shape : {Shape{5, 6}, Shape{1, 5, 6}, Shape{1, 1, 8, 8}}) {
        request.atten_mask = View(DType::kBool, shape);
        Case(request, z, ShapeText(shape)).Run(random);
    }
}

void TestHugeOffsets() {
    Request request;
    request.input_layout = "BNSD";
    request.query = View(DType::kFloat16, {65536, 1, 20971520, 16});
    request.key = request.query;
    request.value = request.query;
    Scene scene(request, Contract::kDocument);
    CHECK(fia_v2::CheckDocument(scene).ok());
    const AttentionProblem problem = fia_v2::Lower(scene);
    CHECK_EQ(problem.sequences.size(), size_t(65536));
    CHECK_EQ(problem.sequences.back().query, int64_t(65535) * 20971520 * 16);
}

}  // namespace

int main() {
    const unsigned seed = std::random_device{}();
    std::cout << "seed " << seed << "\n";
    std::mt19937 random(seed);
    TestEveryLayoutAndMode(random);
    TestOneBatch(random);
    TestHugeOffsets();
    return check::Result();
}
