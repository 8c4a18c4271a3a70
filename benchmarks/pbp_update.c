/* The SEP update of probabilistic backpropagation in C, for benchmarks/pbp_update.py. Arithmetic and layout are those
 * of the numba kernel (see methods/ep/_pbp/hidden.py): hidden units in vectors of eight, the cavity as the state
 * between rows.
 * Vectors are GCC's vector extension; the compiler splits them where registers are narrower. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double v8 __attribute__((vector_size(64), aligned(8)));
typedef int64_t i8 __attribute__((vector_size(64), aligned(8)));

static inline v8 splat(double x) { return (v8){x, x, x, x, x, x, x, x}; }
static inline v8 load(const double *p) { v8 v; memcpy(&v, p, 64); return v; }
static inline void store(double *p, v8 v) { memcpy(p, &v, 64); }
static inline v8 select8(i8 m, v8 a, v8 b) { return (v8)((m & (i8)a) | (~m & (i8)b)); }
static inline double total(v8 v) { return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7])); }
static inline v8 sqrt8(v8 v) { v8 r; for (int i = 0; i < 8; i++) r[i] = __builtin_sqrt(v[i]); return r; }
static inline v8 fabs8(v8 v) { return (v8)((i8)v & 0x7fffffffffffffffLL); }

static inline v8 exp8(v8 x) {
    const double shift = 6755399441055744.0; /* 1.5 * 2^52 */
    v8 s = x * 1.4426950408889634 + shift;
    v8 k = s - shift;
    v8 r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    v8 p = r * (1.0 / 479001600) + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800; p = p * r + 1.0 / 362880; p = p * r + 1.0 / 40320; p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720; p = p * r + 1.0 / 120; p = p * r + 1.0 / 24; p = p * r + 1.0 / 6; p = p * r + 0.5;
    p = p * r + 1.0; p = p * r + 1.0;
    return p * (v8)(((i8)s << 52) + (1023LL << 52));
}

/* One epoch of SEP; arguments as in moment_kernel.moment_epoch. h: 12 rows of the padded length of layer 2. */
void sep_epoch(const double *x, const double *y, const int64_t *order, int64_t n, int64_t inputs, double *restrict m1,
               double *restrict v1, double *restrict m2, double *restrict v2, const double *restrict nu1,
               const double *restrict tau1, const double *restrict nu2, const double *restrict tau2, double *gamma,
               double e, double low, double high, int64_t hidden, const double *mills, double *restrict h) {
    const int64_t nb1 = (hidden + 7) / 8, nb2 = (hidden + 8) / 8, w = nb2 * 8, n2 = hidden + 1;
    double *PM = h, *PV = h + w, *Z = h + 2 * w, *ZV = h + 3 * w, *CDF = h + 4 * w, *ZdV = h + 5 * w;
    double *ZVdM = h + 6 * w, *ZVdV = h + 7 * w, *G1 = h + 8 * w, *S1 = h + 9 * w, *MASK = h + 10 * w;
    double *BIAS = h + 11 * w;
    const v8 one = splat(1.0), zero = splat(0.0), keep = splat(1.0 - e), lo = splat(low), hi = splat(high);
    double a = gamma[0], b = gamma[1];

    for (int64_t k = 0; k < nb1; k++) {
        v8 pm = zero, pv = zero;
        for (int64_t j = 0; j < inputs; j++) {
            int64_t i = (k * inputs + j) * 8;
            v8 m = load(m1 + i), v = load(v1 + i), inv = one / (v * load(tau1 + i) + keep);
            v8 mc = (m * keep + v * load(nu1 + i)) * inv, vc = v * inv, xj = splat(x[order[0] * inputs + j]);
            store(m1 + i, mc); store(v1 + i, vc);
            pm += mc * xj; pv += vc * (xj * xj);
        }
        store(PM + k * 8, pm); store(PV + k * 8, pv);
    }
    for (int64_t i = 0; i < w; i += 8) {
        v8 m = load(m2 + i), v = load(v2 + i), inv = one / (v * load(tau2 + i) + keep);
        store(m2 + i, (m * keep + v * load(nu2 + i)) * inv); store(v2 + i, v * inv);
    }
    for (int64_t t = 0; t < n; t++) {
        const int64_t last = t == n - 1;
        const double *xr = x + order[t] * inputs, *xn = x + order[last ? t : t + 1] * inputs;
        const double ac = a - e * (a - gamma[2]), bc = b - e * (b - gamma[3]);
        v8 mean = zero, var = zero;
        for (int64_t i = 0; i < w; i += 8) {
            v8 pv = load(PV + i), sd = sqrt8(pv), isd = one / sd, al = load(PM + i) * isd, size = fabs8(al);
            v8 ex = al * al * 0.5;
            ex = select8(ex < splat(300.0), ex, splat(300.0));
            v8 pdf = exp8(-ex) * 0.3989422804014327, inv = one / (size + 5.0), u = (size - 5.0) * inv;
            v8 p = u * mills[20] + mills[19];
#pragma GCC unroll 20
            for (int q = 18; q >= 0; q--) p = p * u + mills[q];
            v8 ratio = p * inv, upper = pdf * ratio, tail = pdf * (one - size * ratio);
            i8 pos = al > zero;
            v8 cdf = select8(pos, one - upper, upper), com = select8(pos, upper, one - upper);
            v8 zeta = select8(pos, size + tail, tail), sp = cdf - tail * (size + tail);
            sp = select8(sp > zero, sp, zero);
            v8 mask = load(MASK + i), z = sd * zeta * mask + load(BIAS + i), zv = pv * sp * mask;
            store(Z + i, z); store(ZV + i, zv); store(CDF + i, cdf); store(ZdV + i, pdf * isd * 0.5);
            store(ZVdM + i, z * com * 2.0); store(ZVdV + i, cdf - zeta * pdf);
            v8 m = load(m2 + i), v = load(v2 + i);
            mean += z * m; var += zv * (v + m * m) + z * z * v;
        }
        const double variance = total(var) / n2, res = y[order[t]] - total(mean) / sqrt((double)n2);
        const double t0 = variance + bc / (ac - 1.0), t1 = variance + bc / ac, t2 = variance + bc / (ac + 1.0);
        const double r0 = 1 / t0, r1 = 1 / t1, r2 = 1 / t2, dm = res * r0;
        const v8 gm = splat(dm / sqrt((double)n2)), gv = splat(0.5 * (dm * dm - r0) / n2);
        for (int64_t i = 0; i < w; i += 8) {
            v8 m = load(m2 + i), v = load(v2 + i), z = load(Z + i), zv = load(ZV + i), mask = load(MASK + i);
            v8 g2 = gm * z + gv * 2.0 * (m * zv), s2 = g2 * g2 - gv * 2.0 * (zv + z * z);
            v8 dz = (gm * m + gv * 2.0 * (z * v)) * mask, dzv = gv * (v + m * m) * mask;
            v8 g1 = dz * load(CDF + i) + dzv * load(ZVdM + i), dv = dz * load(ZdV + i) + dzv * load(ZVdV + i);
            store(G1 + i, g1); store(S1 + i, g1 * g1 - dv * 2.0);
            v8 nv = v * (one - v * s2), nm = m + v * g2;
            i8 ok = (nv > lo) & (nv < hi) & (nm == nm);
            v8 inv = one / (nv * load(tau2 + i) + keep);
            v8 km = (nm * keep + nv * load(nu2 + i)) * inv, kv = nv * inv;
            if (last) { km = nm; kv = nv; }
            store(m2 + i, select8(ok, km, m)); store(v2 + i, select8(ok, kv, v));
        }
        const double first = sqrt(t0 * r1) * exp(0.5 * res * res * (r0 - r1));
        const double second = sqrt(t1 * r2) * exp(0.5 * res * res * (r1 - r2));
        const double na = 1 / (second / first * (ac + 1) / ac - 1), nb = 1 / (second * (ac + 1) / bc - first * ac / bc);
        if (na >= 1 && nb >= 0 && ac >= 1 && bc >= 0) { a = na; b = nb; }
        for (int64_t k = 0; k < nb1; k++) {
            v8 g1 = load(G1 + k * 8), s1 = load(S1 + k * 8), pm = zero, pv = zero;
            for (int64_t j = 0; j < inputs; j++) {
                int64_t i = (k * inputs + j) * 8;
                v8 xj = splat(xr[j]), xq = splat(xn[j]), m = load(m1 + i), v = load(v1 + i);
                v8 nv = v * (one - v * (s1 * (xj * xj))), nm = m + v * (g1 * xj);
                i8 ok = (nv > lo) & (nv < hi) & (nm == nm);
                v8 inv = one / (nv * load(tau1 + i) + keep);
                v8 km = (nm * keep + nv * load(nu1 + i)) * inv, kv = nv * inv;
                if (last) { km = nm; kv = nv; }
                km = select8(ok, km, m); kv = select8(ok, kv, v);
                store(m1 + i, km); store(v1 + i, kv);
                pm += km * xq; pv += kv * (xq * xq);
            }
            store(PM + k * 8, pm); store(PV + k * 8, pv);
        }
    }
    gamma[0] = a; gamma[1] = b;
}
