// SPDX-License-Identifier: Apache-2.0
// FIA 6: page attention. Reads the sizes of the cache into the scene.
#include <algorithm>
#include <limits>

#include "fused_infer_attention_score_v2/check.h"

namespace ascend_attention::fia_v2 {
namespace {

Status CheckTable(const Scene& scene) {
    const Request& request = scene.request;
    const OptionalTensor& table = request.block_table;
    if (scene.packed() && !HasLengths(request.actual_seq_qlen)) {
        return Refuse("FIA-C133", "actual_seq_qlen", NoLengths(request.actual_seq_qlen),
                      Concat("one entry per sequence with input_layout ", scene.layout->name),
                      Concat("Where each sequence ends, cumulative: [", scene.tokens, "] for a single one."));
    }
    const int64_t batch = scene.packed() ? int64_t(request.actual_seq_qlen->size()) : scene.batch;
    if (table->dtype != DType::kInt32 || table->shape.size() != 2 || table->shape[0] != batch) {
        return Refuse(
            "FIA-C57", "block_table", TensorText(table), Concat("int32 (", batch, ", blocks per sequence)"),
            table->dtype == DType::kInt64 ? "Convert it: block_table.to(torch.int32) or .astype(int32)." : "");
    }
    if (!HasLengths(request.actual_seq_kvlen)) {
        return Refuse("FIA-C58", "actual_seq_kvlen", NoLengths(request.actual_seq_kvlen),
                      "one length per batch, with block_table");
    }
    return OkStatus();
}

// The sizes that a request like this one can have, whichever rule refuses the others.
std::string BlockSizes(const Scene& scene) {
    const bool nz = scene.cache == Cache::kNZ;
    if (scene.wide_rope()) {
        return scene.request.sparse_mode == 4 ? "64, 128" : nz ? "128 with an NZ cache" : "16, 128";
    }
    if (scene.packed()) {
        return "128, 512, 1024";
    }
    if (nz) {
        return "128, 512 with an NZ cache";
    }
    if (scene.single_row()) {
        return Concat("a multiple of ", scene.quantised_keys() ? 32 : 16, " with ", DTypeText(*scene.request.key),
                      " keys and Q_S 1");
    }
    return "128, 256, 384, 512";
}

// MLA (FIA-C115, C125), token-packed (C151) and NZ caches (C154) have block sizes of their own.
Status CheckBlockSize(const Scene& scene) {
    const int64_t size = scene.request.block_size;
    const int64_t step = scene.quantised_keys() ? 32 : 16;
    if (size <= 0) {
        return Refuse(scene.prefill_rules() ? "FIA-C59" : "FIA-C60", "block_size",
                      size == 0 ? "none or 0" : std::to_string(size), BlockSizes(scene),
                      "With block_table it says how many tokens a block of the cache holds.");
    }
    if (scene.rope() || scene.packed() || scene.cache == Cache::kNZ) {
        return OkStatus();
    }
    if (scene.single_row()) {
        return size % step == 0 ? OkStatus() : Refuse("FIA-C60", "block_size", std::to_string(size), BlockSizes(scene));
    }
    const bool documented = size % 128 == 0 && size <= 512;
    const bool extended = scene.extended() && size % 16 == 0 && size <= 1024;
    if (!documented && !extended) {
        return Refuse("FIA-C59", "block_size", std::to_string(size), BlockSizes(scene));
    }
    return OkStatus();
}

// A (blocks, block_size, N, D) cache is the three-dimensional one with its last axis split.
std::string TokenMajorHelp(const Scene& scene) {
    const Shape& shape = scene.request.key->shape;
    if (shape.size() != 4 || shape[2] != scene.key_heads || shape[1] != scene.request.block_size) {
        return "";
    }
    return "A cache that lies as (blocks, block_size, N, D) is given as (blocks, block_size, N*D): "
           ".reshape(*shape[:2], -1).";
}

Status ReadCacheForm(Scene& scene) {
    const Shape& shape = scene.request.key->shape;
    switch (shape.size()) {
        case 3:
            scene.cache = Cache::kBBH;
            break;
        case 4:
            scene.cache = Cache::kBNBD;
            break;
        case 5:
            scene.cache = Cache::kNZ;
            break;
        default:
            return Refuse("FIA-C65", "key", Concat("shape ", ShapeText(shape)),
                          "3, 4 or 5 dimensions with block_table");
    }
    if (scene.request.value->shape != shape) {
        return Refuse("FIA-C66", "value", Concat("shape ", ShapeText(scene.request.value->shape)),
                      Concat("the shape of key ", ShapeText(shape)));
    }
    const AxisOrder order = scene.layout->input;
    if (scene.cache == Cache::kBNBD && (order == AxisOrder::kBSH || order == AxisOrder::kBSND)) {
        return Refuse("FIA-C64", "key", Concat("shape ", ShapeText(shape)),
                      Concat("(blocks, block_size, H) with input_layout ", scene.layout->name), TokenMajorHelp(scene));
    }
    return OkStatus();
}

std::string CacheHelp(const Scene& scene, const Shape& wanted) {
    const Shape& shape = scene.request.key->shape;
    if (const std::string help = TokenMajorHelp(scene); !help.empty()) {
        return help;
    }
    const size_t tokens = scene.cache == Cache::kBBH ? 1 : scene.cache == Cache::kBNBD ? 2 : 3;
    if (shape[tokens] != wanted[tokens]) {
        return Concat("This cache has ", shape[tokens], " tokens per block.");
    }
    if (scene.cache == Cache::kBBH && shape[2] <= std::numeric_limits<int64_t>::max() / 8) {
        return FittingKeyHeads(scene, shape[2] * (scene.int4_keys() ? 8 : 1));
    }
    return "";
}

Status CheckCacheShape(const Scene& scene) {
    const Shape& shape = scene.request.key->shape;
    const int64_t size = scene.request.block_size;
    const int64_t dim = scene.head_dim / (scene.int4_keys() ? 8 : 1);
    const int64_t lane = scene.request.key->dtype == DType::kInt8 ? 32 : 16;  // values in the 32 bytes of an NZ row
    Shape wanted = {shape[0], size, scene.key_heads * dim};
    const char* rule = "FIA-C65";
    if (scene.cache == Cache::kBNBD) {
        wanted = {shape[0], scene.key_heads, size, dim};
    } else if (scene.cache == Cache::kNZ) {
        wanted = {shape[0], scene.key_heads, dim / lane, size, lane};
        rule = scene.rope() ? "FIA-C116" : "FIA-C154";
    }
    if (shape != wanted) {
        return Refuse(rule, "key", Concat("shape ", ShapeText(shape)),
                      Concat(ShapeText(wanted), " for block_size ", size, ", ", scene.key_heads,
                             " key/value heads and head_dim ", scene.head_dim),
                      CacheHelp(scene, wanted));
    }
    if (scene.cache == Cache::kBBH && scene.key_heads * scene.head_dim > 65535) {
        return Refuse("FIA-C63", "key", Concat("H ", scene.key_heads * scene.head_dim), "H at most 65535",
                      "Use the (blocks, heads, block_size, head_dim) form of the cache, or fewer key/value heads.");
    }
    return OkStatus();
}

Status CheckCacheTypes(const Scene& scene) {
    const DType key = scene.request.key->dtype;
    if (scene.prefill_rules() && scene.cache != Cache::kNZ && !IsHalfWidth(key)) {
        return Refuse("FIA-C61", "key", NameOf(key), "float16 or bfloat16 with block_table and Q_S > 1");
    }
    if (scene.decode_rules() && scene.int4_keys()) {
        return Refuse("FIA-C62", "key", NameOf(key), "float16, bfloat16 or int8 with block_table");
    }
    const int64_t count = NumElements(scene.request.key->shape);
    if (scene.decode_rules() && count > std::numeric_limits<int32_t>::max()) {
        return Refuse("FIA-C68", "key", Concat(count, " elements"),
                      Concat("at most ", std::numeric_limits<int32_t>::max(),
                             scene.single_row() ? " elements when Q_S is 1" : " elements with head_dim 512"));
    }
    return OkStatus();
}

bool Ascending(LengthsView lengths) {
    return lengths.size() > 1 && std::is_sorted(lengths.begin(), lengths.end()) && lengths[0] < *(lengths.end() - 1);
}

const char* TotalsHelp(LengthsView lengths) {
    return Ascending(lengths) ? "Are these running totals? With block_table each entry is the length of one sequence, "
                                "also in token-packed layouts."
                              : "";
}

int64_t BlocksOf(int64_t length, int64_t size) { return length / size + (length % size != 0 ? 1 : 0); }

// Blocks that all sequences take together, or a number that is not below it and not above `enough`.
int64_t BlocksOfAll(LengthsView lengths, int64_t size, int64_t enough) {
    uint64_t keys = 0;
    uint64_t bits = 0;
    for (const int64_t length : lengths) {
        keys += uint64_t(length);
        bits |= uint64_t(length);
    }
    if (bits >> 32 == 0 && lengths.size() >> 30 == 0) {                          // the sum is one that 64 bits hold
        const int64_t at_most = int64_t(keys) / size + int64_t(lengths.size());  // a last, partial block each
        if (at_most <= enough) {
            return at_most;
        }
    }
    int64_t blocks = 0;
    for (const int64_t length : lengths) {
        if (__builtin_add_overflow(blocks, BlocksOf(length, size), &blocks)) {
            return std::numeric_limits<int64_t>::max();
        }
    }
    return blocks;
}

Status CheckNotNegative(const Scene& scene, LengthsView lengths) {
    for (size_t b = 0; b < lengths.size(); ++b) {
        if (lengths[b] < 0) {
            return Refuse(scene.head_dim == 512 ? "FIA-C141" : "FIA-C135", "actual_seq_kvlen",
                          Concat("entry ", b, " = ", lengths[b]), "0 or more");
        }
    }
    return OkStatus();
}

}  // namespace

Status CheckTableColumns(const Scene& scene, LengthsView lengths) {
    if (AllWithin(lengths, scene.key_length)) {
        return OkStatus();
    }
    for (size_t b = 0; b < lengths.size(); ++b) {
        if (lengths[b] > scene.key_length) {  // what a row of the table has room for
            const int64_t blocks = BlocksOf(lengths[b], scene.request.block_size);
            return Refuse("FIA-C57", "block_table", TensorText(scene.request.block_table),
                          Concat("at least ", blocks, " columns for the ", lengths[b], " keys of sequence ", b),
                          TotalsHelp(lengths));
        }
    }
    return OkStatus();
}

Status CheckPagedCache(Scene& scene) {
    if (!scene.paged()) {
        return OkStatus();
    }
    if (Status status = ReadCacheForm(scene); !status.ok()) {
        return status;
    }
    if (Status status = CheckTable(scene); !status.ok()) {
        return status;
    }
    if (Status status = CheckBlockSize(scene); !status.ok()) {
        return status;
    }
    if (Status status = CheckCacheShape(scene); !status.ok()) {
        return status;
    }
    scene.value_head_dim = scene.head_dim;
    if (__builtin_mul_overflow(scene.request.block_table->shape[1], scene.request.block_size, &scene.key_length)) {
        scene.key_length = std::numeric_limits<int64_t>::max();
    }
    return CheckCacheTypes(scene);
}

Status CheckPagedLengths(Scene& scene) {
    if (!scene.paged()) {
        return OkStatus();
    }
    const Request& request = scene.request;
    const SequenceLengths lengths = KeyLengths(scene);
    const int64_t size = request.block_size;
    if (!AllWithin(lengths, scene.key_length)) {
        if (Status status = CheckNotNegative(scene, lengths); !status.ok()) {
            return status;
        }
        if (Status status = CheckTableColumns(scene, lengths); !status.ok()) {
            return status;
        }
    }
    const int64_t blocks = BlocksOfAll(lengths, size, request.key->shape[0]);
    if (request.key->shape[0] < blocks) {
        return Refuse("FIA-C67", "key", Concat(request.key->shape[0], " blocks"),
                      Concat("at least ", blocks, " blocks for all sequences"), TotalsHelp(lengths));
    }
    return OkStatus();
}

}  // namespace ascend_attention::fia_v2
