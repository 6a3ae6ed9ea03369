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
        return Refuse("FIA-C133", "actual_seq_qlen", "None",
                      Concat("one entry per sequence with input_layout ", scene.layout->name));
    }
    const int64_t batch = scene.packed() ? int64_t(request.actual_seq_qlen->size()) : scene.batch;
    if (table->dtype != DType::kInt32 || table->shape.size() != 2 || table->shape[0] != batch) {
        return Refuse("FIA-C57", "block_table", TensorText(table), Concat("int32 (", batch, ", blocks per sequence)"));
    }
    if (!HasLengths(request.actual_seq_kvlen)) {
        return Refuse("FIA-C58", "actual_seq_kvlen", "None", "one length per batch, with block_table");
    }
    return OkStatus();
}

// MLA (FIA-C115, C125), token-packed (C151) and NZ caches (C154) have block sizes of their own.
Status CheckBlockSize(const Scene& scene) {
    const int64_t size = scene.request.block_size;
    const int64_t step = scene.quantised_keys() ? 32 : 16;
    if (size <= 0) {
        return Refuse(scene.prefill_rules() ? "FIA-C59" : "FIA-C60", "block_size", std::to_string(size),
                      "at least 16 with block_table");
    }
    if (scene.rope() || scene.packed() || scene.cache == Cache::kNZ) {
        return OkStatus();
    }
    if (scene.single_row()) {
        return size % step == 0
                   ? OkStatus()
                   : Refuse("FIA-C60", "block_size", std::to_string(size),
                            Concat("a multiple of ", step, " with ", DTypeText(*scene.request.key), " keys"));
    }
    const bool documented = size % 128 == 0 && size <= 512;
    const bool extended = scene.extended() && size % 16 == 0 && size <= 1024;
    if (!documented && !extended) {
        return Refuse("FIA-C59", "block_size", std::to_string(size), "128, 256, 384, 512");
    }
    return OkStatus();
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
                      Concat("(blocks, block_size, H) with input_layout ", scene.layout->name));
    }
    return OkStatus();
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
                             " key/value heads and head_dim ", scene.head_dim));
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
    if (scene.single_row() && scene.int4_keys()) {
        return Refuse("FIA-C62", "key", NameOf(key), "float16, bfloat16 or int8 with block_table");
    }
    const int64_t count = NumElements(scene.request.key->shape);
    if (scene.single_row() && count > std::numeric_limits<int32_t>::max()) {
        return Refuse("FIA-C68", "key", Concat(count, " elements"),
                      Concat("at most ", std::numeric_limits<int32_t>::max(), " elements when Q_S is 1"));
    }
    return OkStatus();
}

}  // namespace

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
    scene.key_head_dim = scene.head_dim;
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
    // With paged keys the lengths of token-packed calls are plain, too.
    const std::vector<int64_t> lengths = scene.packed() ? *request.actual_seq_kvlen : KeyLengths(scene);
    int64_t columns = 0;
    int64_t blocks = 0;
    for (const int64_t length : lengths) {
        const int64_t used = length / request.block_size + (length % request.block_size != 0 ? 1 : 0);
        columns = std::max(columns, used);
        blocks += used;
    }
    if (request.block_table->shape[1] < columns) {
        return Refuse("FIA-C57", "block_table", TensorText(request.block_table),
                      Concat("at least ", columns, " columns for the longest sequence"));
    }
    if (request.key->shape[0] < blocks) {
        return Refuse("FIA-C67", "key", Concat(request.key->shape[0], " blocks"),
                      Concat("at least ", blocks, " blocks for all sequences"));
    }
    return OkStatus();
}

}  // namespace ascend_attention::fia_v2
