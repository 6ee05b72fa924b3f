// SPDX-License-Identifier: MIT
#include <dnnl.hpp>

#include <cstring>
#include <memory>

#include "layer.hpp"

namespace bench {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

struct Data {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    memory src, weights, dst;
    dnnl::convolution_forward conv;
};

template <class T>
memory filled(Data& d, const memory::desc& desc, const std::vector<T>& values) {
    memory m(desc, d.engine);
    std::memcpy(m.get_data_handle(), values.data(), values.size() * sizeof(T));
    return m;
}

// `from` in the layout that the primitive wants.
memory reordered(Data& d, memory from, const memory::desc& desc) {
    if (from.get_desc() == desc)
        return from;
    memory to(desc, d.engine);
    dnnl::reorder(from, to).execute(d.stream, from, to);
    d.stream.wait();
    return to;
}

template <class In, class Out>
Runner make(const Layer& layer, Type in, Type out) {
    const board::Conv& c = layer.conv;
    const memory::dim w = c.w, h = c.h, ow = c.ow, oh = c.oh, channels = c.c, kernels = c.out_channels(), kw = c.kw,
                      kh = c.kh, top = c.pad_top, left = c.pad_left;
    const memory::dims src{1, channels, h, w}, dst{1, kernels, oh, ow};
    const memory::dims weights =
        c.depthwise ? memory::dims{channels, 1, 1, kh, kw} : memory::dims{kernels, channels, kh, kw};
    auto d = std::make_shared<Data>();
    const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                               memory::desc(src, in, Tag::any), memory::desc(weights, in, Tag::any),
                                               memory::desc(dst, out, Tag::any), {1, 1}, {top, left},
                                               {oh + kh - 1 - h - top, ow + kw - 1 - w - left});
    const dnnl::convolution_forward::primitive_desc primitive(desc, d->engine);
    d->conv = dnnl::convolution_forward(primitive);
    const auto x = channels_last<In>(layer.features.data(), c.c, std::size_t{c.w} * c.h);
    d->src = reordered(*d, filled(*d, memory::desc(src, in, Tag::nhwc), x), primitive.src_desc());
    const std::vector<In> plain(layer.weights.begin(), layer.weights.end());
    d->weights = reordered(*d, filled(*d, memory::desc(weights, in, c.depthwise ? Tag::goihw : Tag::oihw), plain),
                           primitive.weights_desc());
    d->dst = memory(primitive.dst_desc(), d->engine);
    const memory::desc result(dst, out, Tag::nhwc);
    return {[d] {
                d->conv.execute(d->stream,
                                {{DNNL_ARG_SRC, d->src}, {DNNL_ARG_WEIGHTS, d->weights}, {DNNL_ARG_DST, d->dst}});
                d->stream.wait();
            },
            [d, result] {
                memory m = reordered(*d, d->dst, result);
                const auto* values = static_cast<const Out*>(m.get_data_handle());
                return std::vector<float>(values, values + result.get_size() / sizeof(Out));
            }};
}

} // namespace

Runner onednn(const Layer& layer) {
    return layer.conv.fp16 ? make<float, float>(layer, Type::f32, Type::f32)
                           : make<std::int8_t, std::int32_t>(layer, Type::s8, Type::s32);
}

} // namespace bench
