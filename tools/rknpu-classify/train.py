#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trains the digit classifier of rknpu-classify and writes what it needs.

  train.py digits.csv.gz OUT

digits.csv.gz is scikit-learn's copy of the test set of the UCI "Optical Recognition of Handwritten Digits"
(sklearn/datasets/data/digits.csv.gz in Debian's python3-sklearn). OUT gets network_data.cpp, the network in integers,
and images/, all pictures of the data set. Three of four pictures are trained with; every fourth is kept for the test.

The layers are those of network.hpp. Each is trained in float, then its weights are quantised for each output channel
symmetrically, its results by the largest one of the training set.
"""
import gzip
import math
import os
import sys

import numpy as np

EPOCHS = 40
BATCH = 64
SIDE = 8


def read_digits(path):
    with gzip.open(path, "rt", encoding="ascii") as lines:
        rows = np.array([[int(float(v)) for v in line.split(",")] for line in lines])
    return rows[:, :-1].reshape(-1, SIDE, SIDE), rows[:, -1]


def to_bytes(images):
    """0..16 to grey levels 0..255."""
    return (images * 255 + 8) // 16


class Conv:
    """kernel x kernel, same size, in groups. Maps are [n][y][x][channel], weights [tap y][tap x][in / groups][out]."""

    def __init__(self, rng, kernel, channels_in, channels_out, groups=1, relu=True):
        self.kernel, self.groups, self.relu = kernel, groups, relu
        each = channels_in // groups
        self.w = rng.normal(0, math.sqrt(2 / (kernel * kernel * each)), (kernel, kernel, each, channels_out))
        self.b = np.zeros(channels_out)

    def parts(self):
        for ky in range(self.kernel):
            for kx in range(self.kernel):
                for g in range(self.groups):
                    each, outs = self.w.shape[2], self.w.shape[3] // self.groups
                    yield ky, kx, slice(g * each, (g + 1) * each), slice(g * outs, (g + 1) * outs)

    def forward(self, x):
        n, h, w, _ = x.shape
        edge = self.kernel // 2
        self.x = np.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
        y = np.zeros((n, h, w, self.w.shape[3])) + self.b
        if self.w.shape[2] == 1 and self.groups == self.w.shape[3]:
            for ky in range(self.kernel):
                for kx in range(self.kernel):
                    y += self.x[:, ky:ky + h, kx:kx + w] * self.w[ky, kx, 0]
        else:
            for ky, kx, i, o in self.parts():
                y[..., o] += self.x[:, ky:ky + h, kx:kx + w, i] @ self.w[ky, kx][:, o]
        self.on = y > 0
        return y * self.on if self.relu else y

    def backward(self, dy):
        if self.relu:
            dy = dy * self.on
        n, h, w, _ = dy.shape
        self.dw, dx = np.zeros_like(self.w), np.zeros_like(self.x)
        self.db = dy.sum((0, 1, 2))
        if self.w.shape[2] == 1 and self.groups == self.w.shape[3]:
            for ky in range(self.kernel):
                for kx in range(self.kernel):
                    self.dw[ky, kx, 0] = (self.x[:, ky:ky + h, kx:kx + w] * dy).sum((0, 1, 2))
                    dx[:, ky:ky + h, kx:kx + w] += dy * self.w[ky, kx, 0]
        else:
            for ky, kx, i, o in self.parts():
                taps = self.x[:, ky:ky + h, kx:kx + w, i].reshape(n * h * w, -1)
                d = dy[..., o].reshape(n * h * w, -1)
                self.dw[ky, kx][:, o] = taps.T @ d
                dx[:, ky:ky + h, kx:kx + w, i] += (d @ self.w[ky, kx][:, o].T).reshape(n, h, w, -1)
        edge = self.kernel // 2
        return dx[:, edge:edge + h, edge:edge + w] if edge else dx


class Network:
    NAMES = ("first", "depthwise", "pointwise", "grouped", "last")

    def __init__(self, rng):
        self.first = Conv(rng, 3, 1, 16)
        self.depthwise = Conv(rng, 3, 16, 16, groups=16)
        self.pointwise = Conv(rng, 1, 16, 32)
        self.grouped = Conv(rng, 3, 32, 32, groups=2)
        self.last = Conv(rng, 1, 32, 10, relu=False)

    def layers(self):
        return [getattr(self, name) for name in self.NAMES]

    def forward(self, x):
        """Results of all layers, by name. x: [n][y][x][1], 0 to 1."""
        out = {"first": self.first.forward(x)}
        out["depthwise"] = self.depthwise.forward(out["first"])
        wide = out["pointwise"] = self.pointwise.forward(out["depthwise"])
        n, h, w, c = wide.shape
        windows = wide.reshape(n, h // 2, 2, w // 2, 2, c)
        pooled = out["pooled"] = windows.max((2, 4))
        self.was_largest = windows == pooled[:, :, None, :, None]
        out["grouped"] = self.grouped.forward(pooled)
        out["sum"] = pooled + out["grouped"]
        out["average"] = out["sum"].mean((1, 2), keepdims=True)
        out["last"] = self.last.forward(out["average"])
        return out

    def backward(self, d):
        d = self.last.backward(d)
        d = np.broadcast_to(d / 16, (d.shape[0], 4, 4, 32))
        d = d + self.grouped.backward(d)
        d = self.was_largest * d[:, :, None, :, None]
        d = self.pointwise.backward(d.reshape(d.shape[0], SIDE, SIDE, 32))
        self.first.backward(self.depthwise.backward(d))


def train(images, labels):
    rng = np.random.default_rng(1)
    net, moments, step = Network(rng), {}, 0
    for epoch in range(EPOCHS):
        rate = 0.004 * 0.5 * (1 + math.cos(math.pi * epoch / EPOCHS))
        order = rng.permutation(len(images))
        for at in range(0, len(order), BATCH):
            chosen = order[at:at + BATCH]
            logits = net.forward(images[chosen])["last"][:, 0, 0]
            p = np.exp(logits - logits.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            p[np.arange(len(chosen)), labels[chosen]] -= 1
            net.backward((p / len(chosen))[:, None, None])
            step += 1
            for layer in net.layers():
                for name in ("w", "b"):
                    g = getattr(layer, "d" + name)
                    m, v = moments.get((layer, name), (0, 0))
                    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                    moments[layer, name] = m, v
                    change = rate * (m / (1 - 0.9 ** step)) / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-8)
                    setattr(layer, name, getattr(layer, name) - change)
        print(f"epoch {epoch + 1}: {accuracy(net, images, labels):.4f}", flush=True)
    return net


def accuracy(net, images, labels):
    return (net.forward(images)["last"][:, 0, 0].argmax(1) == labels).mean()


def factor(scale):
    """multiplier * 2^-shift of 15 bits, the nearest to scale."""
    fraction, exponent = math.frexp(scale)
    multiplier = round(fraction * 32768)
    if multiplier == 32768:
        multiplier, exponent = 16384, exponent + 1
    return multiplier, 15 - exponent


def quantise(layer, scale_in, scale_out):
    """Integers of a layer: weights [out][in][y][x], bias, multipliers of the channels, multiplier and shift of all."""
    largest = np.abs(layer.w).max((0, 1, 2))
    scales = np.maximum(largest, 1e-6) / 127
    weights = np.round(layer.w / scales).astype(int).transpose(3, 2, 0, 1)
    bias = np.round(layer.b / (scale_in * scales)).astype(int)
    effective = scale_in * scales / scale_out
    multipliers = np.round(16384 * effective / effective.max()).astype(int)
    return weights, bias, multipliers, factor(effective.max())


def array(type_name, name, values):
    text = f"const {type_name} {name}[] = {{\n"
    line = "   "
    for value in values:
        if len(line) + len(f" {value},") > 118:
            text, line = text + line + "\n", "   "
        line += f" {value},"
    return text + line + "\n};\n"


def write_network(net, out, path):
    # Of the sum all terms are 0 or more, so its results are, too.
    scale = {name: out[name].max() / 255 for name in ("first", "depthwise", "pointwise", "grouped", "sum")}
    chain = [("first", 1 / 255, scale["first"]), ("depthwise", scale["first"], scale["depthwise"]),
             ("pointwise", scale["depthwise"], scale["pointwise"]), ("grouped", scale["pointwise"], scale["grouped"]),
             ("last", scale["sum"], 1.0)]
    text = ("// SPDX-License-Identifier: MIT\n//\n// Written by train.py: the trained network in integers. See README.md.\n"
            "#include \"network.hpp\"\n\n// clang-format off\nnamespace classify {\nnamespace {\n\n")
    layers = ""
    for name, scale_in, scale_out in chain:
        weights, bias, multipliers, (multiplier, shift) = quantise(getattr(net, name), scale_in, scale_out)
        text += array("std::int8_t", f"{name}_weights", weights.flatten())
        text += array("std::int32_t", f"{name}_bias", bias)
        text += array("std::uint16_t", f"{name}_multipliers", multipliers) + "\n"
        layers += (f"        .{name} = {{{name}_weights, {name}_bias, {name}_multipliers, "
                   f"{{{multiplier}, {shift}}}}},\n")
    text += "} // namespace\n\nconst Network& network() {\n    static const Network all = {\n" + layers
    for name in ("pointwise", "grouped", "sum"):
        text += f"        .{name}_scale = {np.float32(scale[name])!r}f,\n"
    text += "    };\n    return all;\n}\n\n} // namespace classify\n"
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def write_images(images, labels, folder):
    """A PGM file for each digit, with all its pictures one below the other."""
    os.makedirs(folder, exist_ok=True)
    for digit in range(10):
        pictures = to_bytes(images[labels == digit]).astype(np.uint8)
        with open(os.path.join(folder, f"{digit}.pgm"), "wb") as file:
            file.write(f"P5\n{SIDE} {SIDE * len(pictures)}\n255\n".encode() + pictures.tobytes())


def main():
    images, labels = read_digits(sys.argv[1])
    values = to_bytes(images)[..., None] / 255
    kept = np.arange(len(images)) % 4 == 3
    net = train(values[~kept], labels[~kept])
    print(f"test set: {accuracy(net, values[kept], labels[kept]):.4f}")
    write_network(net, net.forward(values[~kept]), os.path.join(sys.argv[2], "network_data.cpp"))
    write_images(images, labels, os.path.join(sys.argv[2], "images"))


if __name__ == "__main__":
    main()
