"""Vectors of eight float64 numbers inside numba kernels.

The loops over weights write four arrays and read six. LLVM's loop vectoriser rejects that many possible overlaps. An
explicit LLVM vector type keeps hidden units in the lanes and accumulators in registers. On a machine without 512-bit
registers LLVM splits it into halves or quarters. Products and sums carry the flag ``contract`` (fused multiply-add) and
no other: NaN and infinity behave as in IEEE 754.
"""

from __future__ import annotations

import operator

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

#: numbers in a vector.
WIDTH = 8

_F64 = ir.DoubleType()
_I64 = ir.IntType(64)
_VEC = ir.VectorType(_F64, WIDTH)
_IVEC = ir.VectorType(_I64, WIDTH)
_BITS = ir.VectorType(ir.IntType(1), WIDTH)


class Lanes(types.Type):
    """numba type of eight float64."""

    def __init__(self):
        super().__init__(name="lanes")


class Mask(types.Type):
    """numba type of eight truth values."""

    def __init__(self):
        super().__init__(name="lanes_mask")


LANES, MASK = Lanes(), Mask()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, fe_type):
        super().__init__(manager, fe_type, _VEC)


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager, fe_type):
        super().__init__(manager, fe_type, _BITS)


def _splat(builder, x, kind):
    undefined = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(undefined, x, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, undefined, zeros)


def _pointer(context, builder, array_type, array, index, kind):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


@intrinsic
def splat(typingctx, x):
    """All lanes equal to x."""

    def codegen(context, builder, sig, args):
        return _splat(builder, args[0], _VEC)

    return LANES(types.float64), codegen


_STORED = {
    types.float64: (_F64, 8),
    types.float32: (ir.FloatType(), 4),
    types.int8: (ir.IntType(8), 1),
}


def _stored(array):
    if not isinstance(array, types.Array) or array.ndim != 1 or array.dtype not in _STORED:
        return None
    kind, align = _STORED[array.dtype]
    return ir.VectorType(kind, WIDTH), align


@intrinsic
def load(typingctx, array, index):
    """Lanes array[index : index + 8] of a contiguous float64, float32 or int8 array (no bounds check)."""
    stored = _stored(array)
    if stored is None or not isinstance(index, types.Integer):
        return None
    kind, align = stored

    def codegen(context, builder, sig, args):
        v = builder.load(_pointer(context, builder, sig.args[0], args[0], args[1], kind), align=align)
        if kind == _VEC:
            return v
        return builder.fpext(v, _VEC) if isinstance(kind.element, ir.FloatType) else builder.sitofp(v, _VEC)

    return LANES(array, types.int64), codegen


@intrinsic
def store(typingctx, array, index, value):
    """array[index : index + 8] = value, rounded to the array's type (int8: towards zero, in range assumed)."""
    stored = _stored(array)
    if stored is None or not isinstance(index, types.Integer):
        return None
    kind, align = stored

    def codegen(context, builder, sig, args):
        v = args[2]
        if kind != _VEC:
            v = builder.fptrunc(v, kind) if isinstance(kind.element, ir.FloatType) else builder.fptosi(v, kind)
        builder.store(v, _pointer(context, builder, sig.args[0], args[0], args[1], kind), align=align)
        return context.get_dummy_value()

    return types.void(array, types.int64, LANES), codegen


@intrinsic
def load_first(typingctx, array, index, count):
    """Lanes array[index : index + count], the others zero; memory beyond ``count`` is not touched."""
    if not isinstance(array, types.Array) or array.dtype != types.float64:
        return None

    def codegen(context, builder, sig, args):
        pointer = _pointer(context, builder, sig.args[0], args[0], args[1], _VEC)
        lane = ir.Constant(_IVEC, list(range(WIDTH)))
        mask = builder.icmp_signed("<", lane, _splat(builder, args[2], _IVEC))
        fn_type = ir.FunctionType(_VEC, [_VEC.as_pointer(), ir.IntType(32), _BITS, _VEC])
        fn = cgutils.get_or_insert_function(builder.module, fn_type, f"llvm.masked.load.v{WIDTH}f64.p0")
        return builder.call(fn, [pointer, ir.Constant(ir.IntType(32), 8), mask, ir.Constant(_VEC, [0.0] * WIDTH)])

    return LANES(array, types.int64, types.int64), codegen


def _binary(instruction: str):
    @intrinsic
    def op(typingctx, a, b):
        def codegen(context, builder, sig, args):
            return getattr(builder, instruction)(args[0], args[1], flags=("contract",))

        return LANES(LANES, LANES), codegen

    return op


def _comparison(symbol: str):
    @intrinsic
    def op(typingctx, a, b):
        def codegen(context, builder, sig, args):
            return builder.fcmp_ordered(symbol, args[0], args[1])

        return MASK(LANES, LANES), codegen

    return op


def _overload_operator(symbol, implementation, kind):
    def choose(a, b):
        if isinstance(a, kind) and isinstance(b, kind):
            return lambda a, b: implementation(a, b)
        if kind is Lanes and isinstance(a, Lanes) and isinstance(b, types.Float):
            return lambda a, b: implementation(a, splat(b))
        if kind is Lanes and isinstance(a, types.Float) and isinstance(b, Lanes):
            return lambda a, b: implementation(splat(a), b)
        return None

    overload(symbol)(choose)


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _overload_operator(_symbol, _binary(_instruction), Lanes)
for _symbol, _code in ((operator.gt, ">"), (operator.lt, "<"), (operator.ge, ">="), (operator.eq, "==")):
    _overload_operator(_symbol, _comparison(_code), Lanes)


@intrinsic
def both(typingctx, a, b):
    """Logical and of a and b, lane by lane."""

    def codegen(context, builder, sig, args):
        return builder.and_(args[0], args[1])

    return MASK(MASK, MASK), codegen


@intrinsic
def select(typingctx, mask, a, b):
    """a where mask is true, else b."""

    def codegen(context, builder, sig, args):
        return builder.select(args[0], args[1], args[2])

    return LANES(MASK, LANES, LANES), codegen


def _unary(name: str):
    @intrinsic
    def op(typingctx, a):
        def codegen(context, builder, sig, args):
            fn = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(_VEC, [_VEC]), f"llvm.{name}.v{WIDTH}f64"
            )
            return builder.call(fn, [args[0]])

        return LANES(LANES), codegen

    return op


sqrt, fabs, rint = _unary("sqrt"), _unary("fabs"), _unary("rint")


@intrinsic
def total(typingctx, a):
    """Sum of the lanes, pairwise."""

    def codegen(context, builder, sig, args):
        v, width = args[0], WIDTH
        while width > 1:
            width //= 2
            undefined = ir.Constant(v.type, ir.Undefined)
            kind = ir.VectorType(ir.IntType(32), width)
            low = builder.shuffle_vector(v, undefined, ir.Constant(kind, list(range(width))))
            high = builder.shuffle_vector(v, undefined, ir.Constant(kind, list(range(width, 2 * width))))
            v = builder.fadd(low, high)
        return builder.extract_element(v, ir.Constant(ir.IntType(32), 0))

    return types.float64(LANES), codegen


@intrinsic
def largest(typingctx, a, b):
    """Lane-wise maximum; b where a is NaN."""

    def codegen(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered(">", args[0], args[1]), args[0], args[1])

    return LANES(LANES, LANES), codegen


@intrinsic
def _two_to(typingctx, shifted):
    """2**k from k + 1.5 * 2**52, by moving k into the exponent's bits; -1022 <= k <= 1023."""

    def codegen(context, builder, sig, args):
        bits = builder.bitcast(args[0], _IVEC)
        bits = builder.shl(bits, ir.Constant(_IVEC, [52] * WIDTH))
        return builder.bitcast(builder.add(bits, ir.Constant(_IVEC, [1023 << 52] * WIDTH)), _VEC)

    return LANES(LANES), codegen


_LOG2_E = float(1 / np.log(2.0))
_LN2_HIGH = 6.93147180369123816490e-01  # 33 leading bits of log 2, so that k * _LN2_HIGH is exact
_LN2_LOW = 1.90821492927058770002e-10
_SHIFT = 1.5 * 2.0**52


@njit(error_model="numpy", forceinline=True)
def exp(x):
    """e**x lane by lane for |x| <= 700: 2**k times the Taylor polynomial of degree 12 on |r| <= log(2)/2."""
    shifted = x * _LOG2_E + _SHIFT
    k = shifted - _SHIFT
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = r * (1 / 479001600) + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * _two_to(shifted)


@njit(error_model="numpy", forceinline=True)
def sigmoid(x):
    """1 / (1 + e**-x) lane by lane; the relative error is below 1e-15 for |x| <= 700, and NaN stays."""
    opposite = x * -1.0
    opposite = select(opposite > splat(700.0), splat(700.0), opposite)
    opposite = select(opposite < splat(-700.0), splat(-700.0), opposite)
    return splat(1.0) / (exp(opposite) + 1.0)
