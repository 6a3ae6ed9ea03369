// SPDX-License-Identifier: Apache-2.0
// LoadData with LoadData3DParamsV2: a window of the image-to-column matrix of a feature map in L1 (NC1HWC0). Row m of
// that matrix is an output position, a group of 32 bytes along k is one channel group at one filter point, that is one
// 32-byte unit of L1. To L0A the window arrives as it is (ZZ) or transposed, to L0B always transposed (ZN).
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/core.h"
#include "cube/fractal.h"
#include "machine/cube_calls.h"
#include "move/regions.h"

namespace ascend_attention::sim {

namespace {

bool IsNop(const Load3dCall& load) {
    return load.l1_height == 0 || load.l1_width == 0 || load.channels == 0 || load.k_extension == 0 ||
           load.m_extension == 0 || load.filter_w == 0 || load.filter_h == 0;
}

void RequireRanges(Access& access, const Load3dCall& load, std::uint32_t group) {
    const bool to_left = load.target.space == Space::kL0A;
    const DType dtype = load.target.dtype;
    access.RequireSpace(load.source, "src", Space::kL1);
    access.Require(to_left || load.target.space == Space::kL0B, "memory of dst", static_cast<int>(load.target.space),
                   "L0A, L0B");
    access.Require(
        dtype == DType::kFloat16 || dtype == DType::kBfloat16 || ElementBytes(dtype) == 4 ||
            (to_left && !load.transpose && ElementBytes(dtype) == 1 && dtype != DType::kInt4),
        "dtype", static_cast<int>(dtype),
        "half, bfloat16_t, 32-bit types; 8-bit types to L0A without transposition (int4b_t is not modelled)");
    access.Require(load.source.dtype == dtype, "dtype of src", static_cast<int>(load.source.dtype), "the dtype of dst");
    access.Require(load.l1_height <= 32767, "l1H", load.l1_height, "0..32767");
    access.Require(load.l1_width <= 32767, "l1W", load.l1_width, "0..32767");
    access.Require(load.channels <= 65535 && load.channels % group == 0, "channelSize", load.channels,
                   "0..65535 in whole groups of 32 bytes (smaller groups are not modelled)");
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

// Sixteen rows of one group: where each unit lies in L1, or that it is padding.
struct Band {
    std::uint64_t rows = 0;
    bool inside[kFractalRows] = {};
    std::uint64_t offset[kFractalRows] = {};
};

// The image-to-column matrix in units of 32 bytes.
class Columns {
public:
    Columns(const Load3dCall& load, const FeatureMatrixState& image, std::uint32_t group) : load_(load), image_(image) {
        const std::uint64_t kernel_h = (load.filter_h - 1ULL) * load.dilation_h + 1;
        const std::uint64_t kernel_w = (load.filter_w - 1ULL) * load.dilation_w + 1;
        const std::uint64_t padded_h = std::uint64_t{image.height} + image.pad[2] + image.pad[3];
        const std::uint64_t padded_w = std::uint64_t{image.width} + image.pad[0] + image.pad[1];
        out_h_ = padded_h < kernel_h ? 0 : (padded_h - kernel_h) / load.stride_h + 1;
        out_w_ = padded_w < kernel_w ? 0 : (padded_w - kernel_w) / load.stride_w + 1;
        groups_ = std::uint64_t{load.channels} / group * load.filter_h * load.filter_w;
    }

    std::uint64_t rows() const { return out_h_ * out_w_; }
    std::uint64_t groups() const { return groups_; }

    // Where the filter's first point lies for an output position, in the padded image.
    struct Position {
        std::uint64_t h;
        std::uint64_t w;
    };
    std::vector<Position> Positions(std::uint64_t first, std::uint64_t count) const {
        std::vector<Position> positions(count);
        std::uint64_t h = first / out_w_;
        std::uint64_t w = first % out_w_;
        for (Position& position : positions) {
            position = {h * load_.stride_h, w * load_.stride_w};
            if (++w == out_w_) {
                w = 0;
                ++h;
            }
        }
        return positions;
    }

    // Byte offsets in L1 of `group`'s units at these positions; a unit in the padding is not `inside`.
    void Find(std::uint64_t group, const Position* positions, Band* band) const {
        const std::uint64_t points = std::uint64_t{load_.filter_h} * load_.filter_w;
        const std::uint64_t point = group % points;
        const std::uint64_t add_h = point / load_.filter_w * load_.dilation_h;
        const std::uint64_t add_w = point % load_.filter_w * load_.dilation_w;
        const std::uint64_t plane = group / points * image_.height;
        for (std::uint64_t i = 0; i < band->rows; ++i) {
            // Left of or above the image the differences wrap around and are too large.
            const std::uint64_t h = positions[i].h + add_h - image_.pad[2];
            const std::uint64_t w = positions[i].w + add_w - image_.pad[0];
            band->inside[i] = h < image_.height && w < image_.width;
            band->offset[i] = ((plane + h) * image_.width + w) * kBlockBytes;
        }
    }

private:
    const Load3dCall& load_;
    const FeatureMatrixState& image_;
    std::uint64_t out_h_ = 0;
    std::uint64_t out_w_ = 0;
    std::uint64_t groups_ = 0;
};

// Where element `lane` of unit (row, group) of the window goes, in bytes.
class Placement {
public:
    Placement(const Load3dCall& load, std::uint64_t rows, std::uint64_t groups, std::uint32_t element_bytes)
        : transposed_(load.transpose || load.target.space == Space::kL0B),
          to_left_(load.target.space == Space::kL0A),
          element_(element_bytes),
          bands_(CeilDivide(rows, kFractalRows)),
          groups_(groups) {}

    bool transposed() const { return transposed_; }

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
    std::uint64_t Bytes() const {
        if (!transposed_) {
            return bands_ * groups_ * kFractalBytes;
        }
        const std::uint64_t per_group = kBlockBytes / element_;
        return CeilDivide(groups_ * per_group, kFractalRows) * (bands_ * kFractalRows / per_group) * kFractalBytes;
    }

private:
    bool transposed_;
    bool to_left_;
    std::uint64_t element_;
    std::uint64_t bands_;
    std::uint64_t groups_;
};

struct Window {
    std::uint64_t first_group;
    std::uint64_t groups;
    std::uint64_t first_row;
    std::uint64_t rows;
};

// Declares the reads of a band, neighbouring units as one, and gathers its units.
void Gather(Access& access, const Load3dCall& load, const Band& band, std::byte* fractal) {
    for (std::uint64_t first = 0; first < band.rows;) {
        std::uint64_t last = first + 1;
        while (band.inside[first] && last < band.rows && band.inside[last] &&
               band.offset[last] == band.offset[last - 1] + kBlockBytes) {
            ++last;
        }
        if (band.inside[first]) {
            const std::uint64_t bytes = (last - first) * kBlockBytes;
            const std::byte* data = access.ReadsToCarry(load.source, "src", Region{band.offset[first], bytes});
            std::memcpy(fractal + first * kBlockBytes, data + band.offset[first], bytes);
        }
        first = last;
    }
}

bool SourceDefined(const Access& access, const Load3dCall& load, const Band& band) {
    bool defined = true;
    for (std::uint64_t row = 0; row < band.rows; ++row) {
        defined = defined && (!band.inside[row] || access.AllDefined(load.source, band.offset[row], kBlockBytes));
    }
    return defined;
}

void Scatter(Access& access, const Load3dCall& load, const Placement& placement, const Band& band,
             std::uint64_t first_row, std::uint64_t group, const std::byte* fractal, std::byte* result) {
    const std::uint64_t element = ElementBytes(load.target.dtype);
    const bool turns = placement.transposed();
    const bool checks = access.ChecksInitialisation();
    // Whole pieces of the result: rows as they are, or a full fractal turned.
    if ((!turns || (element == 2 && band.rows == kFractalRows)) && SourceDefined(access, load, band)) {
        const std::uint64_t to = turns ? placement.Element(first_row, group, 0) : placement.Unit(first_row, group);
        if (turns) {
            TransposeFractal16(result + to, fractal);
        } else {
            std::memcpy(result + to, fractal, band.rows * kBlockBytes);
        }
        if (checks) {
            access.Writes(load.target, "dst", Region{to, band.rows * kBlockBytes});
        }
        return;
    }
    const std::uint64_t pieces = turns ? kBlockBytes / element : 1;
    const std::uint64_t bytes = kBlockBytes / pieces;
    for (std::uint64_t row = 0; row < band.rows; ++row) {
        for (std::uint64_t piece = 0; piece < pieces; ++piece) {
            const std::uint64_t to =
                turns ? placement.Element(first_row + row, group, piece) : placement.Unit(first_row + row, group);
            std::memcpy(result + to, fractal + row * kBlockBytes + piece * bytes, bytes);
            if (checks) {
                access.Writes(load.target, "dst", Region{to, bytes});
            }
            if (checks && band.inside[row]) {
                access.Carries(load.target, to, load.source, band.offset[row] + piece * bytes, bytes);
            }
        }
    }
}

void MoveWindow(Access& access, const Load3dCall& load, const Columns& columns, const Placement& placement,
                const Window& window, std::byte* result) {
    const std::vector<Columns::Position> positions = columns.Positions(window.first_row, window.rows);
    const std::uint32_t element_bytes = ElementBytes(load.target.dtype);
    std::byte fractal[kFractalBytes];
    for (std::uint64_t group = 0; group < window.groups; ++group) {
        for (std::uint64_t row = 0; row < window.rows; row += kFractalRows) {
            Band band;
            band.rows = std::min(kFractalRows, window.rows - row);
            columns.Find(window.first_group + group, &positions[row], &band);
            if (std::find(band.inside, band.inside + band.rows, false) != band.inside + band.rows) {
                FillPattern(fractal, kFractalBytes, access.core().state.load_padding_value, element_bytes);
            }
            Gather(access, load, band, fractal);
            Scatter(access, load, placement, band, row, group, fractal, result);
        }
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
    const std::uint32_t element_bytes = ElementBytes(load.target.dtype);
    const std::uint32_t group_elements = static_cast<std::uint32_t>(kBlockBytes) / element_bytes;
    RequireRanges(access, load, group_elements);
    if (IsNop(load)) {
        return;
    }
    const Columns columns(load, image, group_elements);
    const std::uint64_t first_group = load.k_start / group_elements;
    const std::uint64_t groups = CeilDivide(load.k_extension, group_elements);
    access.Require(first_group + groups <= columns.groups(), "kStartPt + kExtension",
                   static_cast<std::int64_t>(load.k_start) + load.k_extension,
                   "at most channelSize * filterH * filterW");
    access.Require(load.m_start < columns.rows(), "mStartPt", load.m_start, "below the number of output positions");
    const std::uint64_t rows = std::min<std::uint64_t>(load.m_extension, columns.rows() - load.m_start);

    const Placement placement(load, load.m_extension, groups, element_bytes);
    std::byte* result = access.Writes(load.target, "dst", Region{0, placement.Bytes()});
    // Lines that no element reaches hold nothing afterwards.
    Poison(result, placement.Bytes());
    access.Undefines(load.target, Region{0, placement.Bytes()});

    MoveWindow(access, load, columns, placement, {first_group, groups, load.m_start, rows}, result);
}

void SetFeatureMatrix(bool right, std::uint32_t height, std::uint32_t width, const std::uint8_t pad[4],
                      const Site& site) {
    Core& core = CurrentCore();
    const Call call{"SetFmatrix", Pipe::kScalar, site};
    Access access(core, call);
    access.Require(height <= 32767, "l1H", height, "0..32767");
    access.Require(width <= 32767, "l1W", width, "0..32767");
    core.state.feature_matrix[right ? 1 : 0] =
        FeatureMatrixState{true, height, width, {pad[0], pad[1], pad[2], pad[3]}};
}

void SetLoadBoundary(std::uint32_t boundary, const Site& site) {
    const Call call{"SetLoadDataBoundary", Pipe::kScalar, site};
    Access access(CurrentCore(), call);
    access.Require(boundary == 0, "boundaryValue", boundary, "0 (addresses that wrap around in L1 are not modelled)");
}

void SetLoadRepeat(std::uint32_t repeat_times, const Site& site) {
    const Call call{"SetLoadDataRepeat", Pipe::kScalar, site};
    Access access(CurrentCore(), call);
    access.Require(repeat_times == 1, "repeatTime", repeat_times, "1 (repeated windows are not modelled)");
}

void SetLoadPaddingValue(std::uint64_t bits, const Site& site) {
    Core& core = CurrentCore();
    const Call call{"SetLoadDataPaddingValue", Pipe::kScalar, site};
    Access access(core, call);
    core.state.load_padding_value = bits;
}

}  // namespace ascend_attention::sim
