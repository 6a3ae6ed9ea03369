// SPDX-License-Identifier: Apache-2.0
// BSA 2: shapes, lengths and the map of blocks; BSA 3: the scales of float8 inputs.
#include <algorithm>

#include "block_sparse_attention_v2/arguments.h"
#include "block_sparse_attention_v2/check.h"
#include "common/head_counts.h"
#include "common/tensor_rules.h"

namespace ascend_attention::bsa_v2 {
namespace {

// Blocks of `unit` that cover `length`, for any positive 64-bit unit.
int64_t Blocks(int64_t length, int64_t unit) { return length / unit + (length % unit != 0); }

Status CheckPackedLengths(const char* argument, const Lengths& lengths, int64_t tokens, const char* of,
                          int64_t* longest) {
    int64_t sum = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
        const int64_t length = lengths[i];
        if (length < 0 || length > tokens) {
            return Refuse("BSA-C28", argument, Concat("entry ", i, " = ", length),
                          Concat("0 to T of ", of, " (", tokens, ")"));
        }
        if (__builtin_add_overflow(sum, length, &sum)) {
            break;  // above every T
        }
        *longest = std::max(*longest, length);
    }
    if (sum != tokens) {
        const bool ends = std::is_sorted(lengths.begin(), lengths.end()) && lengths.back() == tokens;
        return Refuse(
            "BSA-C28", argument, Concat("lengths that add up to ", sum), Concat("T of ", of, " (", tokens, ")"),
            ends ? "These look like cumulative lengths; this operator takes the length of each sequence." : "");
    }
    return OkStatus();
}

Status CheckBatchLengths(const char* argument, const Lengths& lengths, int64_t batch, int64_t whole) {
    if (int64_t(lengths.size()) != batch) {
        return Refuse("BSA-C29", argument, Concat(lengths.size(), " entries"), Concat("one per batch (", batch, ")"));
    }
    for (size_t i = 0; i < lengths.size(); ++i) {
        if (lengths[i] < 0 || lengths[i] > whole) {
            return Refuse("BSA-C29", argument, Concat("entry ", i, " = ", lengths[i]), Concat("0 to S (", whole, ")"));
        }
    }
    return OkStatus();
}

}  // namespace

Status CheckShapes(Scene& scene) {
    const Request& request = scene.request;
    const AxisOrder order = scene.layout->input;
    const NamedTensor rows[] = {{"query", &request.query}, {"key", &request.key}, {"value", &request.value}};
    MemoryCheck memory(kBlockSparseAttentionV2, "BSA-A5", "BSA-A5", {scene.layout});
    VisitArguments(request, memory);
    if (!memory.status().ok()) {
        return memory.status();
    }
    for (const NamedTensor& row : rows) {
        Status status =
            CheckRank(kBlockSparseAttentionV2, "BSA-C15", row, RankOf(order), "input layout", scene.layout->name);
        if (!status.ok()) {
            return status;
        }
    }
    const Axes query = ReadAxes(order, request.query->shape);
    const Axes key = ReadAxes(order, request.key->shape);
    const Axes value = ReadAxes(order, request.value->shape);
    const std::string key_shape = ShapeText(request.key->shape);
    if ((query.width != 64 && query.width != 128) || key.width != query.width || value.width != query.width) {
        const bool query_fits = query.width == 64 || query.width == 128;
        return Refuse("BSA-C16",
                      !query_fits                ? "query"
                      : key.width != query.width ? "key"
                                                 : "value",
                      Concat("head_dim ", query.width, ", key ", key.width, ", value ", value.width),
                      "64 or 128, the same for query, key and value");
    }
    const int64_t heads = request.num_key_value_heads;
    if (heads < 1 || key.heads != heads || value.heads != heads) {
        return Refuse("BSA-C17", "num_key_value_heads", std::to_string(heads),
                      Concat("the N axis of key (", key.heads, ", shape ", key_shape, ") and value (", value.heads,
                             "), at least 1"),
                      OtherOrder(order, "key", request.key->shape, heads));
    }
    if (query.heads < heads || query.heads % heads != 0) {
        return Refuse("BSA-C18", "num_key_value_heads", std::to_string(heads),
                      Concat("a divisor of the heads of query (", query.heads, ")"));
    }
    if (key.length != value.length || key.batch != value.batch || query.batch != key.batch) {
        return Refuse("BSA-C19", key.batch != query.batch ? "key" : "value",
                      Concat("key ", key_shape, ", value ", ShapeText(request.value->shape)),
                      Concat("the same sizes, and the batch of query ", ShapeText(request.query->shape)));
    }
    scene.batch = query.batch;
    scene.query_heads = query.heads;
    scene.key_heads = heads;
    scene.head_dim = query.width;
    scene.query_length = scene.query_longest = query.length;
    scene.key_length = scene.key_longest = key.length;
    return OkStatus();
}

Status CheckLengths(Scene& scene) {
    const Request& request = scene.request;
    const bool queries = HasLengths(request.actual_seq_lengths);
    const bool keys = HasLengths(request.actual_seq_lengths_kv);
    if (scene.packed() && !(queries && keys)) {
        return Refuse("BSA-C26", queries ? "actual_seq_lengths_kv" : "actual_seq_lengths",
                      NoLengths(queries ? request.actual_seq_lengths_kv : request.actual_seq_lengths),
                      "the length of each sequence with input layout TND");
    }
    if (queries != keys) {
        return Refuse("BSA-C27", queries ? "actual_seq_lengths_kv" : "actual_seq_lengths",
                      NoLengths(queries ? request.actual_seq_lengths_kv : request.actual_seq_lengths),
                      "both lists of lengths, or neither");
    }
    if (!queries) {
        return OkStatus();
    }
    const Lengths& query_lengths = *request.actual_seq_lengths;
    const Lengths& key_lengths = *request.actual_seq_lengths_kv;
    if (!scene.packed()) {
        Status status = CheckBatchLengths("actual_seq_lengths", query_lengths, scene.batch, scene.query_length);
        return status.ok() ? CheckBatchLengths("actual_seq_lengths_kv", key_lengths, scene.batch, scene.key_length)
                           : status;
    }
    if (query_lengths.size() != key_lengths.size()) {
        return Refuse("BSA-C28", "actual_seq_lengths_kv", Concat(key_lengths.size(), " entries"),
                      Concat("one per entry of actual_seq_lengths (", query_lengths.size(), ")"));
    }
    scene.batch = int64_t(query_lengths.size());
    scene.query_longest = scene.key_longest = 0;
    Status status =
        CheckPackedLengths("actual_seq_lengths", query_lengths, scene.query_length, "query", &scene.query_longest);
    return status.ok()
               ? CheckPackedLengths("actual_seq_lengths_kv", key_lengths, scene.key_length, "key", &scene.key_longest)
               : status;
}

// Which axes of a map with four do not fit, and what each should count.
std::string MapHelp(const Scene& scene, const TensorView& map, const Shape& wanted) {
    if (map.shape == wanted) {
        return map.dtype == DType::kBool ? "Convert the bool map to int8; True means computed here." : "";
    }
    const std::string counts[] = {
        "sequences", "heads of query, also where key has fewer",
        Concat("blocks of ", scene.block_x, " query rows over ", scene.query_longest, " of them"),
        Concat("blocks of ", scene.block_y, " keys over ", scene.key_longest, " of them")};
    std::string help;
    for (size_t axis = 0; axis < wanted.size(); ++axis) {
        if (map.shape[axis] != wanted[axis]) {
            help += Concat(help.empty() ? "Axis " : "; axis ", axis, " has ", map.shape[axis], ", should be ",
                           wanted[axis], ": ", counts[axis]);
        }
    }
    help += ". Lengths are rounded up to whole blocks";
    help += scene.packed() ? ", and those of the longest sequence count" : "";
    return help + (scene.request.block_shape ? "." : "; block_shape was not given, so it is [128, 128].");
}

Status CheckBlockMap(Scene& scene) {
    const Request& request = scene.request;
    if (request.block_shape && scene.block_y % 128 != 0) {
        return Refuse("BSA-C22", "block_shape", Concat("[", scene.block_x, ", ", scene.block_y, "]"),
                      "the second a multiple of 128");
    }
    const OptionalTensor& map = request.block_sparse_mask;
    if (!map) {
        return Refuse("BSA-C20", "block_sparse_mask", "none", "a map of blocks, int8, with 1 for each block to compute",
                      "Ones everywhere make the attention dense.");
    }
    const Shape wanted = {scene.batch, scene.query_heads, Blocks(scene.query_longest, scene.block_x),
                          Blocks(scene.key_longest, scene.block_y)};
    if (map->dtype != DType::kInt8 || map->shape != wanted) {
        return Refuse("BSA-C21", "block_sparse_mask", TensorText(map),
                      Concat("int8 ", ShapeText(wanted), " = (batch, heads of query, ceil(", scene.query_longest, " / ",
                             scene.block_x, "), ceil(", scene.key_longest, " / ", scene.block_y, "))"),
                      MapHelp(scene, *map, wanted));
    }
    return OkStatus();
}

Status CheckScales(Scene& scene) {
    const Request& request = scene.request;
    const int64_t keys = Blocks(scene.key_longest, scene.block_y);
    const struct {
        const char* name;
        const OptionalTensor& scale;
        Shape wanted;
    } rows[] = {
        {"q_dequant_scale",
         request.q_dequant_scale,
         {scene.batch, scene.query_heads, Blocks(scene.query_longest, 128), 1}},
        {"k_dequant_scale", request.k_dequant_scale, {scene.batch, scene.key_heads, keys, 1}},
        {"v_dequant_scale", request.v_dequant_scale, {scene.batch, scene.key_heads, keys, 1}},
    };
    if (scene.fp8() && !request.block_shape) {
        return Refuse("BSA-C38", "block_shape", "none", "[128, 256] or [128, 512] with float8_e4m3fn");
    }
    if (scene.fp8() && (scene.block_x != 128 || (scene.block_y != 256 && scene.block_y != 512))) {
        return Refuse("BSA-C39", "block_shape", Concat("[", scene.block_x, ", ", scene.block_y, "]"),
                      "[128, 256] or [128, 512] with float8_e4m3fn",
                      "A block of the map has one scale: 128 rows of query, 256 or 512 of key and value.");
    }
    for (const auto& row : rows) {
        if (!scene.fp8()) {
            if (row.scale) {
                return Refuse("BSA-C37", row.name, TensorText(row.scale),
                              Concat("none with ", DTypeText(*request.query), " inputs"));
            }
            continue;
        }
        if (!row.scale || row.scale->dtype != DType::kFloat32) {
            return Refuse("BSA-C36", row.name, TensorText(row.scale),
                          Concat("float32 ", ShapeText(row.wanted), " with float8_e4m3fn inputs"));
        }
        if (row.scale->shape != row.wanted) {
            return Refuse("BSA-C40", row.name, Concat("shape ", ShapeText(row.scale->shape)), ShapeText(row.wanted));
        }
    }
    return OkStatus();
}

}  // namespace ascend_attention::bsa_v2
