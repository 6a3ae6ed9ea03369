// SPDX-License-Identifier: Apache-2.0
// LoadData with LoadData3DParamsV2: a window of the image-to-column matrix of a feature map in L1. To L0A the window
// arrives as it is (ZZ) or transposed, to L0B always transposed (ZN). Repeats (SetLoadDataRepeat) put several windows
// one after the other, along m or along k, as one larger window.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/core.h"
#include "cube/feature_map.h"
#include "cube/fractal.h"
#include "machine/cube_calls.h"
#include "move/regions.h"

namespace ascend_attention::sim {

namespace {

bool IsNop(const Load3dCall& load) {
    return load.l1_height == 0 || load.l1_width == 0 || load.channels == 0 || load.k_extension == 0 ||
           load.m_extension == 0 || load.filter_w == 0 || load.filter_h == 0;
}

// A last plane of narrower pixels: a power of two of elements, four or more (eight of 4 bits).
bool ChannelsFit(std::uint32_t channels, DType dtype) {
    const std::uint64_t group = GroupElements(dtype);
    const std::uint64_t rest = channels % group;
    const std::uint64_t least = dtype == DType::kInt4 ? 8 : 4;
    return rest == 0 || (rest >= least && (rest & (rest - 1)) == 0);
}

void RequireRanges(Access& access, const Load3dCall& load) {
    const auto group = static_cast<std::uint32_t>(GroupElements(load.target.dtype));
    const bool to_left = load.target.space == Space::kL0A;
    const DType dtype = load.target.dtype;
    access.RequireSpace(load.source, "src", Space::kL1);
    access.Require(to_left || load.target.space == Space::kL0B, "memory of dst", static_cast<int>(load.target.space),
                   "L0A, L0B");
    access.Require(dtype == DType::kFloat16 || dtype == DType::kBfloat16 || ElementBytes(dtype) == 4 ||
                       (to_left && !load.transpose && ElementBytes(dtype) == 1),
                   "dtype", static_cast<int>(dtype),
                   "half, bfloat16_t, 32-bit types; 8-bit types and int4b_t to L0A without transposition");
    access.Require(load.source.dtype == dtype, "dtype of src", static_cast<int>(load.source.dtype), "the dtype of dst");
    access.Require(load.l1_height <= 32767, "l1H", load.l1_height, "0..32767");
    access.Require(load.l1_width <= 32767, "l1W", load.l1_width, "0..32767");
    access.Require(load.channels <= 65535 && ChannelsFit(load.channels, dtype), "channelSize", load.channels,
                   "0..65535: whole groups of 32 bytes, then 0, 4, 8 or 16 elements (8, 16 or 32 of int4b_t) less than "
                   "a group");
    access.Require(load.k_extension <= 65535, "kExtension", load.k_extension, "0..65535");
    access.Require(load.m_extension <= 65535, "mExtension", load.m_extension, "0..65535");
    access.Require(load.k_start <= 65535 && load.k_start % group == 0, "kStartPt", load.k_start,
                   "0..65535, a multiple of 32 bytes");
    access.Require(load.m_start <= 32767, "mStartPt", load.m_start, "0..32767");
    access.Require(load.stride_w >= 1 && load.stride_w <= 63, "strideW", load.stride_w, "1..63");
    access.Require(load.stride_h >= 1 && load.stride_h <= 63, "strideH", load.stride_h, "1..63");
    access.Require(load.filter_w <= 511, "filterW", load.filter_w, "0..255, plus 256 with filterSizeW");
    access.Require(load.filter_h <= 511, "filterH", load.filter_h, "0..255, plus 256 with filterSizeH");
    access.Require(load.dilation_w >= 1 && load.dilation_w <= 255, "dilationFilterW", load.dilation_w, "1..255");
    access.Require(load.dilation_h >= 1 && load.dilation_h <= 255, "dilationFilterH", load.dilation_h, "1..255");
    access.Require(!load.small_k, "enSmallK", 1, "false on this architecture");
    access.RequireAligned(load.target, "dst", kFractalBytes);
    access.RequireAligned(load.source, "src", kBlockBytes);
}

// Where element `lane` of unit (row, group) of the window goes, in bytes.
class Placement {
public:
    Placement(const Load3dCall& load, std::uint64_t rows, std::uint64_t groups)
        : transposed_(load.transpose || load.target.space == Space::kL0B),
          to_left_(load.target.space == Space::kL0A),
          element_(ElementBytes(load.target.dtype)),
          bands_(CeilDivide(rows, kFractalRows)),
          groups_(groups) {}

    bool transposed() const { return transposed_; }
    std::uint64_t bands() const { return bands_; }
    std::uint64_t groups() const { return groups_; }
    std::uint64_t element() const { return element_; }
    std::uint64_t per_group() const { return kBlockBytes / element_; }

    std::uint64_t Unit(std::uint64_t row, std::uint64_t group) const {
        return (row / kFractalRows * groups_ + group) * kFractalBytes + row % kFractalRows * kBlockBytes;
    }
    // The transposed matrix has the k of the window as rows and its m along 32-byte groups.
    std::uint64_t Element(std::uint64_t row, std::uint64_t group, std::uint64_t lane) const {
        const std::uint64_t per_group = kBlockBytes / element_;
        const std::uint64_t line = group * per_group + lane;
        const std::uint64_t lines = CeilDivide(groups_ * per_group, kFractalRows);  // bands of 16
        const std::uint64_t across = row / per_group;
        const std::uint64_t across_count = bands_ * kFractalRows / per_group;
        const std::uint64_t fractal =
            to_left_ ? line / kFractalRows * across_count + across : across * lines + line / kFractalRows;
        return fractal * kFractalBytes + line % kFractalRows * kBlockBytes + row % per_group * element_;
    }
    // What is written. Of 32-bit types an odd last group fills half a fractal; the other half keeps what it held.
    struct Regions {
        Region whole;
        Region half;
    };
    Regions Written() const {
        if (!transposed_) {
            return {Region{0, bands_ * groups_ * kFractalBytes}, {}};
        }
        const std::uint64_t lines = groups_ * per_group();
        const std::uint64_t bands = lines / kFractalRows;
        const std::uint64_t across = bands_ * kFractalRows / per_group();
        if (lines % kFractalRows == 0) {
            return {Region{0, bands * across * kFractalBytes}, {}};
        }
        const std::uint64_t rest = lines % kFractalRows * kBlockBytes;
        if (to_left_) {
            return {Region{0, bands * across * kFractalBytes},
                    Region{bands * across * kFractalBytes, rest, across, kFractalBytes}};
        }
        return {Region{}, Region{0, bands * kFractalBytes + rest, across, (bands + 1) * kFractalBytes}};
    }

private:
    bool transposed_;
    bool to_left_;
    std::uint64_t element_;
    std::uint64_t bands_;
    std::uint64_t groups_;
};

// Sixteen rows of a group for each band, as they lie in L1. Per host thread: an instruction runs to its end.
std::vector<std::byte>& ThreadColumn() {
    thread_local std::vector<std::byte> column;
    return column;
}

// The feature map in L1. With a boundary, addresses beyond it start again at the beginning of L1.
class Source {
public:
    Source(Access& access, const Load3dCall& load, std::uint32_t boundary)
        : access_(access), operand_(load.source), boundary_(boundary) {
        if (boundary_ != 0) {
            start_ = operand_.address;
            operand_ = Operand{Space::kL1, operand_.dtype, 0, 0, 0};
        }
    }

    const Operand& operand() const { return operand_; }

    // Calls visit(done, offset of the operand, count) for each stretch of `bytes` at `offset` of the map that lies in
    // one piece.
    template <typename Visit>
    void ForEachStretch(std::uint64_t offset, std::uint64_t bytes, Visit visit) const {
        for (std::uint64_t done = 0; done < bytes;) {
            std::uint64_t at = start_ + offset + done;
            std::uint64_t count = bytes - done;
            if (boundary_ != 0) {
                at %= boundary_;
                count = std::min(count, boundary_ - at);
            }
            visit(done, at, count);
            done += count;
        }
    }
    // Declares the read and calls visit(done, count, data).
    template <typename Visit>
    void Read(std::uint64_t offset, std::uint64_t bytes, Visit visit) const {
        ForEachStretch(offset, bytes, [&](std::uint64_t done, std::uint64_t at, std::uint64_t count) {
            visit(done, count, access_.ReadsToCarry(operand_, "src", Region{at, count}) + at);
        });
    }

private:
    Access& access_;
    Operand operand_;
    std::uint64_t boundary_;
    std::uint64_t start_ = 0;
};

// One window on its way from L1 to L0A or L0B.
class Window {
public:
    Window(Access& access, const Load3dCall& load, FeatureMap& map, const Placement& placement, std::byte* result)
        : access_(access),
          load_(load),
          map_(map),
          placement_(placement),
          source_(access, load, access.core().state.load_repeat.boundary),
          column_(ThreadColumn()),
          result_(result) {
        column_.resize(std::max<std::size_t>(column_.size(), placement.bands() * kFractalBytes));
    }

    // `group` of the matrix becomes group `to` of the window.
    void Move(std::uint64_t group, std::uint64_t to) {
        const FeatureMap::Group what = map_.Describe(group);
        const std::byte* column = Gather(what);
        Scatter(column, to);
        if (access_.ChecksInitialisation()) {
            Carry(what, to);
        }
    }

    // Lanes of the result's fractals that no row reaches hold nothing.
    void UndefineRest() {
        const std::uint64_t rows = map_.chosen();
        const std::uint64_t all_rows = placement_.bands() * kFractalRows;
        const std::uint64_t lines = placement_.groups() * placement_.per_group();
        if (!placement_.transposed()) {
            for (std::uint64_t group = 0; group < placement_.groups(); ++group) {
                for (std::uint64_t row = rows; row < all_rows; ++row) {
                    Undefine(placement_.Unit(row, group), kBlockBytes);
                }
            }
            return;
        }
        for (std::uint64_t row = rows; row < all_rows; ++row) {
            for (std::uint64_t line = 0; line < lines; ++line) {
                Undefine(placement_.Element(row, 0, line), placement_.element());
            }
        }
    }

private:
    void Undefine(std::uint64_t at, std::uint64_t bytes) {
        Poison(result_ + at, bytes);
        access_.Undefines(load_.target, Region{at, bytes});
    }

    // The group's rows back to back: in L1 itself when they lie there like that.
    const std::byte* Gather(const FeatureMap::Group& what) {
        const std::uint64_t rows = map_.chosen();
        const std::byte* direct = nullptr;
        if (what.pieces > 1 || rows % kFractalRows != 0) {
            Poison(column_.data(), RoundUp(rows, kFractalRows) * kBlockBytes);
        }
        for (std::uint64_t piece = 0; piece < what.pieces && what.first_point + piece < map_.points(); ++piece) {
            for (const PixelRun& run : map_.Runs(what.first_point + piece)) {
                std::byte* to = column_.data() + run.row * kBlockBytes + piece * what.pixel_bytes;
                if (!run.inside) {
                    Pad(to, run.count, what.pixel_bytes);
                    continue;
                }
                const bool alone = what.pieces == 1 && run.count == rows && rows % kFractalRows == 0;
                source_.Read(what.plane_offset + run.pixel * what.pixel_bytes, run.count * what.pixel_bytes,
                             [&](std::uint64_t done, std::uint64_t count, const std::byte* data) {
                                 if (alone && count == rows * kBlockBytes) {
                                     direct = data;
                                 } else {
                                     Place(to, done, data, count, what.pixel_bytes);
                                 }
                             });
            }
        }
        return direct != nullptr ? direct : column_.data();
    }

    // Pixels lie back to back in L1 and 32 bytes apart in the column.
    static void Place(std::byte* to, std::uint64_t done, const std::byte* data, std::uint64_t bytes,
                      std::uint64_t pixel_bytes) {
        if (pixel_bytes == kBlockBytes) {
            std::memcpy(to + done, data, bytes);
            return;
        }
        for (std::uint64_t i = 0; i < bytes;) {
            const std::uint64_t at = done + i;
            const std::uint64_t count = std::min(pixel_bytes - at % pixel_bytes, bytes - i);
            std::memcpy(to + at / pixel_bytes * kBlockBytes + at % pixel_bytes, data + i, count);
            i += count;
        }
    }

    void Pad(std::byte* to, std::uint64_t rows, std::uint64_t bytes) const {
        for (std::uint64_t row = 0; row < rows; ++row) {
            FillPattern(to + row * kBlockBytes, bytes, access_.core().state.load_padding_value,
                        static_cast<std::uint32_t>(placement_.element()));
        }
    }

    void Scatter(const std::byte* column, std::uint64_t group) {
        for (std::uint64_t row = 0; row < map_.chosen(); row += kFractalRows) {
            const std::byte* from = column + row * kBlockBytes;
            if (!placement_.transposed()) {
                const std::uint64_t rows = std::min(kFractalRows, map_.chosen() - row);
                std::memcpy(result_ + placement_.Unit(row, group), from, rows * kBlockBytes);
            } else if (placement_.element() == 2) {
                TransposeFractal16(result_ + placement_.Element(row, group, 0), from);
            } else {
                Turn8x8(result_ + placement_.Element(row, group, 0), from);
                Turn8x8(result_ + placement_.Element(row + 8, group, 0), from + 8 * kBlockBytes);
            }
        }
    }

    static void Turn8x8(std::byte* to, const std::byte* from) {
        std::uint32_t source[64];
        std::uint32_t target[64];
        std::memcpy(source, from, sizeof source);
        for (int row = 0; row < 8; ++row) {
            for (int column = 0; column < 8; ++column) {
                target[column * 8 + row] = source[row * 8 + column];
            }
        }
        std::memcpy(to, target, sizeof target);
    }

    // Undefined bytes of L1 are undefined in the result; so are pieces that do not exist.
    void Carry(const FeatureMap::Group& what, std::uint64_t group) {
        for (std::uint64_t piece = 0; piece < what.pieces; ++piece) {
            if (what.first_point + piece >= map_.points()) {
                for (std::uint64_t row = 0; row < map_.chosen(); ++row) {
                    ForEachPart(row, group, piece * what.pixel_bytes, what.pixel_bytes,
                                [&](std::uint64_t to, std::uint64_t, std::uint64_t bytes) { Undefine(to, bytes); });
                }
                continue;
            }
            for (const PixelRun& run : map_.Runs(what.first_point + piece)) {
                if (run.inside) {
                    CarryRun(what, run, group, piece);
                }
            }
        }
    }

    void CarryRun(const FeatureMap::Group& what, const PixelRun& run, std::uint64_t group, std::uint64_t piece) {
        source_.ForEachStretch(what.plane_offset + run.pixel * what.pixel_bytes, run.count * what.pixel_bytes,
                               [&](std::uint64_t done, std::uint64_t at, std::uint64_t count) {
                                   if (access_.AllDefined(source_.operand(), at, count)) {
                                       return;
                                   }
                                   for (std::uint64_t i = 0; i < count; i += what.pixel_bytes) {
                                       const std::uint64_t row = run.row + (done + i) / what.pixel_bytes;
                                       ForEachPart(row, group, piece * what.pixel_bytes, what.pixel_bytes,
                                                   [&](std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
                                                       access_.Carries(load_.target, to, source_.operand(),
                                                                       at + i + from, bytes);
                                                   });
                                   }
                               });
    }

    // Where bytes [first, first + bytes) of a row of a group go: visit(offset in the result, offset from `first`,
    // bytes).
    template <typename Visit>
    void ForEachPart(std::uint64_t row, std::uint64_t group, std::uint64_t first, std::uint64_t bytes, Visit visit) {
        if (!placement_.transposed()) {
            visit(placement_.Unit(row, group) + first, 0, bytes);
            return;
        }
        const std::uint64_t element = placement_.element();
        for (std::uint64_t at = 0; at < bytes; at += element) {
            visit(placement_.Element(row, group, (first + at) / element), at, element);
        }
    }

    Access& access_;
    const Load3dCall& load_;
    FeatureMap& map_;
    const Placement& placement_;
    Source source_;
    std::vector<std::byte>& column_;
    std::byte* result_;
};

void RequireRepeats(Access& access, const Load3dCall& load, const LoadRepeatState& repeat) {
    const std::uint64_t group = GroupElements(load.target.dtype);
    const bool turns = load.transpose || load.target.space == Space::kL0B;
    if (repeat.times == 1) {
        return;
    }
    if (repeat.mode == 0) {
        access.Require(load.m_extension % kFractalRows == 0, "mExtension", load.m_extension,
                       "a multiple of 16 with repeats along m");
    } else {
        access.Require(load.k_extension % group == 0, "kExtension", load.k_extension,
                       "a multiple of 32 bytes with repeats along k");
        access.Require(turns || load.m_extension <= kFractalRows, "mExtension", load.m_extension,
                       "1..16 with repeats along k without transposition (the documents leave the order of more open)");
    }
}

}  // namespace

void Execute(const Load3dCall& given) {
    Core& core = CurrentCore();
    const Call call{"LoadData", Pipe::kMte1, given.site};
    Access access(core, call);
    FeatureMatrixState& image = core.state.feature_matrix[given.right_fmatrix ? 1 : 0];
    if (given.sets_fmatrix) {
        image = FeatureMatrixState{
            true, given.l1_height, given.l1_width, {given.pad[0], given.pad[1], given.pad[2], given.pad[3]}};
    }
    if (given.sets_pad_value) {
        core.state.load_padding_value = given.pad_value;
    }
    access.Require(image.specified, "isSetFMatrix", 0, "true, or a SetFmatrix before");
    Load3dCall load = given;
    load.l1_height = image.height;
    load.l1_width = image.width;
    RequireRanges(access, load);
    const LoadRepeatState& repeat = core.state.load_repeat;
    if (IsNop(load) || repeat.times == 0) {
        return;
    }
    RequireRepeats(access, load, repeat);
    access.Require(repeat.boundary == 0 || load.source.address < repeat.boundary, "address of src",
                   static_cast<std::int64_t>(load.source.address), "below the boundary of SetLoadDataBoundary");
    FeatureMap map(load, image);
    const std::uint64_t per_group = GroupElements(load.target.dtype);
    const std::uint64_t m_repeats = repeat.mode == 0 ? repeat.times : 1;
    const std::uint64_t k_repeats = repeat.mode == 0 ? 1 : repeat.times;
    const std::uint64_t groups = CeilDivide(load.k_extension, per_group);
    const std::uint64_t last_group = load.k_start / per_group + (k_repeats - 1) * repeat.stride + groups;
    access.Require(
        last_group <= map.groups(), "kStartPt + kExtension",
        static_cast<std::int64_t>(load.k_start + (k_repeats - 1) * repeat.stride * per_group + load.k_extension),
        "at most channelSize * filterH * filterW");
    for (std::uint64_t i = 0; i < m_repeats; ++i) {
        const std::uint64_t first = load.m_start + i * repeat.stride * kFractalRows;
        access.Require(first < map.rows(), "mStartPt", static_cast<std::int64_t>(first),
                       "below the number of output positions");
        const std::uint64_t rows = std::min<std::uint64_t>(load.m_extension, map.rows() - first);
        access.Require(rows == load.m_extension || i + 1 == m_repeats, "mExtension", load.m_extension,
                       "within the output positions for all repeats but the last");
        map.ChooseRows(first, rows);
    }
    const Placement placement(load, m_repeats * load.m_extension, k_repeats * groups);
    const Placement::Regions written = placement.Written();
    access.Writes(load.target, "dst", written.whole);
    std::byte* result = access.Writes(load.target, "dst", written.half);
    Window window(access, load, map, placement, result);
    for (std::uint64_t i = 0; i < k_repeats; ++i) {
        for (std::uint64_t group = 0; group < groups; ++group) {
            window.Move(load.k_start / per_group + i * repeat.stride + group, i * groups + group);
        }
    }
    window.UndefineRest();
}

}  // namespace ascend_attention::sim
