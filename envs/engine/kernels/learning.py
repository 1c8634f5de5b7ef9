"""Kernels of the learners: the sum tree of prioritised replay, RMSProp, and the hyperbolic tangent."""

import numpy as np

from .compiled import kernel

_FLAT = 9.011
"""From here on, tanh is 1 in single precision."""

_P0, _P1, _P2 = 0.999999998705189, 0.13680335775102165, 0.0038688552195995
_P3, _P4, _P5 = 2.801811922369792e-05, 3.061072341644238e-08, -1.2222583414936438e-11
_Q1, _Q2, _Q3, _Q4 = 0.4701366784853783, 0.02724776848024593, 0.0003939561737684948, 1.2881123152250828e-06


@kernel
def set_leaves(nodes, width, slots, values):
    """Set leaves of a sum tree, float64 [2 · width], its root at 1; if a slot occurs twice, the last value counts."""
    for i in range(len(slots)):
        node = width + slots[i]
        nodes[node] = values[i]
        node >>= 1
        while node:
            nodes[node] = nodes[2 * node] + nodes[2 * node + 1]
            node >>= 1


@kernel
def find_leaves(nodes, width, masses, found):
    """Find for each mass m the slot with Σ values before it ≤ m < Σ values up to it."""
    for i in range(len(masses)):
        mass = masses[i]
        node = 1
        while node < width:
            left = nodes[2 * node]
            # Through rounding, some mass can remain although the right child is 0.
            if mass < left or nodes[2 * node + 1] == 0.0:
                node = 2 * node
            else:
                mass -= left
                node = 2 * node + 1
        found[i] = node - width


@kernel
def rmsprop(theta, v, g, rate, decay, rest, epsilon):
    """v ← d·v + (1 − d)·g²;  θ ← θ − lr·g/√(v + ε), in single precision; rest: 1 − d."""
    rate, decay, rest, epsilon = np.float32(rate), np.float32(decay), np.float32(rest), np.float32(epsilon)
    for i in range(len(theta)):
        v[i] = decay * v[i] + rest * (g[i] * g[i])
        theta[i] -= rate * g[i] / np.sqrt(v[i] + epsilon)


@kernel
def tanh(x, out):
    """tanh x within 0.6 units in the last place of float32: x·P(x²)/Q(x²), a minimax fit in double precision."""
    for i in range(len(x)):
        given = np.float64(x[i])
        bounded = _FLAT if given > _FLAT else given
        a = -_FLAT if bounded < -_FLAT else bounded
        y = a * a
        p = _P0 + y * (_P1 + y * (_P2 + y * (_P3 + y * (_P4 + y * _P5))))
        q = 1.0 + y * (_Q1 + y * (_Q2 + y * (_Q3 + y * _Q4)))
        out[i] = a * p / q
