"""Compiled steps of EP and of its stochastic, clipped and private variants on a mixture of Gaussians.

The natural parameters of J components in D dimensions are ``h`` (J, D), precision times mean, and ``L`` (J, D, D),
precision. The state is theta = prior + data part.

The site of a row x follows from the cavity of each component, with precision P and natural mean h. Let s2 be the noise
variance, r the probability that this component generated the row, and q = 1 - r. With

    S = P^-1,   G = S (S + s2 I)^-1,   g = G (x - P^-1 h),

the tilted covariance is S - r G S + r q g g'. Its inverse has a closed form, because all matrices except g g' are
functions of P:

    A = I + s2 P,   g = A^-1 (x - P^-1 h),   B = q I + s2 P,   u = B^-1 (P x - h),
    (S - r G S)^-1 = P + r P B^-1,   r P B^-1 = (r / s2) (I - q B^-1).

Sherman & Morrison's formula for r q g g', with a = r / (1 + r q g'u), then gives the site

    f_L = r P B^-1 - a q u u',   f_h = r B^-1 h + a (1 - q u'P^-1 h) u.

It is (x / s2, I / s2) for r = 1, and 0 for r = 0. Nothing is divided by r or q.

All kernels are in this one file because numba keys its cache on disk by the file of a function.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

#: what a step does with the site f_n. SEP: no clipping. ALGORITHM_3: h and L of f_n are clipped as one vector.
#: RELEASED: the authors' code, which clips h and L separately.
SEP, ALGORITHM_3, RELEASED = range(3)
#: entries of ``counts``: skipped steps, clipped f_n, f_n that were not finite and were taken as 0, precisions with a
#: raised eigenvalue, clipped f.
COUNTS = ("skipped", "clipped_sites", "zeroed_sites", "floored", "clipped_factors")
_SKIPPED, _CLIPPED, _ZEROED, _FLOORED, _FACTORS = range(5)

_compiled = njit(cache=True, error_model="numpy", nogil=True)


@_compiled
def _factor(a, lower, pivots, inverse):
    """Factor a = K diag(pivots) K', K unit lower triangular, from its lower half; False if a pivot is <= 0 or NaN."""
    d = a.shape[0]
    for j in range(d):
        pivot = a[j, j]
        for k in range(j):
            pivot -= lower[j, k] * lower[j, k] * pivots[k]
        if not pivot > 0.0:
            return False
        pivots[j] = pivot
        inverse[j] = 1.0 / pivot
        for i in range(j + 1, d):
            s = a[i, j]
            for k in range(j):
                s -= lower[i, k] * lower[j, k] * pivots[k]
            lower[i, j] = s * inverse[j]
    return True


@_compiled
def _solve(lower, inverse, b, out):
    """out = (K diag K')^-1 b."""
    d = b.shape[0]
    for i in range(d):
        s = b[i]
        for k in range(i):
            s -= lower[i, k] * out[k]
        out[i] = s
    for i in range(d):
        out[i] *= inverse[i]
    for i in range(d - 1, -1, -1):
        s = out[i]
        for k in range(i + 1, d):
            s -= lower[k, i] * out[k]
        out[i] = s


@_compiled
def _invert(lower, inverse, work, out):
    """out = (K diag K')^-1, the full symmetric matrix; work: (D, D)."""
    d = lower.shape[0]
    for j in range(d):
        work[j, j] = 1.0
        for i in range(j + 1, d):
            s = -lower[i, j]
            for k in range(j + 1, i):
                s -= lower[i, k] * work[k, j]
            work[i, j] = s
    for i in range(d):
        for j in range(i + 1):
            s = 0.0
            for k in range(i, d):
                s += work[k, i] * work[k, j] * inverse[k]
            out[i, j] = s
            out[j, i] = s


@_compiled
def _sites(x, h, precision, s2, f_h, f_L, means, gains, forces, weights, lower, work, inverse_b, vectors):
    """Write the sites of row x (D,) into f_h and f_L; False (both undefined) if a cavity is not positive definite."""
    # cavity: h (J, D), precision (J, D, D). Scratch: means, gains, forces (J, D); weights (J,); lower, work,
    # inverse_b (D, D); vectors (4, D).
    components, d = h.shape
    pivots, inverse, pivots_a, inverse_a = vectors[0], vectors[1], vectors[2], vectors[3]
    top = 0
    for c in range(components):
        p = precision[c]
        if not _factor(p, lower, pivots, inverse):
            return False
        _solve(lower, inverse, h[c], means[c])
        for i in range(d):
            for j in range(i):
                work[i, j] = s2 * p[i, j]
            work[i, i] = 1.0 + s2 * p[i, i]
        if not _factor(work, lower, pivots_a, inverse_a):
            return False
        for i in range(d):
            gains[c, i] = x[i] - means[c, i]
        _solve(lower, inverse_a, gains[c], gains[c])
        square = 0.0
        log_det = 0.0
        for i in range(d):
            force = -h[c, i]
            for j in range(d):
                force += p[i, j] * x[j]
            forces[c, i] = force
            square += force * gains[c, i]
            log_det += math.log(pivots_a[i] * inverse[i])
        weights[c] = -0.5 * (log_det + square)
        if weights[c] > weights[top]:
            top = c
    # 1 - r loses digits by subtraction only where r is near 1; that is the top component, whose 1 - r is the rest.
    highest, rest = weights[top], 0.0
    for c in range(components):
        weights[c] = math.exp(weights[c] - highest)
        if c != top:
            rest += weights[c]
    for c in range(components):
        r = weights[c] / (1.0 + rest)
        q = rest / (1.0 + rest) if c == top else 1.0 - r
        if r == 0.0:
            f_h[c] = 0.0
            f_L[c] = 0.0
            continue
        p = precision[c]
        for i in range(d):
            for j in range(i):
                work[i, j] = s2 * p[i, j]
            work[i, i] = q + s2 * p[i, i]
        if not _factor(work, lower, pivots, inverse):
            return False
        _invert(lower, inverse, work, inverse_b)
        u, bh = pivots, inverse
        gu, mu = 0.0, 0.0
        for i in range(d):
            su, sh = 0.0, 0.0
            for j in range(d):
                su += inverse_b[i, j] * forces[c, j]
                sh += inverse_b[i, j] * h[c, j]
            u[i] = su
            bh[i] = sh
            gu += su * gains[c, i]
            mu += su * means[c, i]
        a = r / (1.0 + r * q * gu)
        along = a * (1.0 - q * mu)
        rank_one = a * q
        scale = r / s2
        across = scale * q
        for i in range(d):
            f_h[c, i] = r * bh[i] + along * u[i]
            for j in range(d):
                f_L[c, i, j] = -across * inverse_b[i, j] - rank_one * (u[i] * u[j])
            f_L[c, i, i] += scale
    return True


@_compiled
def _square(a):
    """Sum of squares of a contiguous array."""
    flat = a.ravel()
    n = flat.size
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += flat[i] * flat[i]
        s1 += flat[i + 1] * flat[i + 1]
        s2 += flat[i + 2] * flat[i + 2]
        s3 += flat[i + 3] * flat[i + 3]
    for i in range(whole, n):
        s0 += flat[i] * flat[i]
    return (s0 + s1) + (s2 + s3)


@_compiled
def _eigen(a, vectors):
    """Jacobi's method: the symmetric a becomes diagonal (its eigenvalues), the columns of vectors its eigenvectors."""
    d = a.shape[0]
    for i in range(d):
        for j in range(d):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(60):
        off, diagonal = 0.0, 0.0
        for i in range(d):
            diagonal += a[i, i] * a[i, i]
            for j in range(i):
                off += a[i, j] * a[i, j]
        if not off > 1e-32 * diagonal:  # also ends for a NaN, which the caller finds
            return
        for p in range(d - 1):
            for q in range(p + 1, d):
                if a[p, q] == 0.0:
                    continue
                ratio = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                t = 1.0 / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
                if ratio < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(d):
                    one, two = a[k, p], a[k, q]
                    a[k, p] = c * one - s * two
                    a[k, q] = s * one + c * two
                for k in range(d):
                    one, two = a[p, k], a[q, k]
                    a[p, k] = c * one - s * two
                    a[q, k] = s * one + c * two
                a[p, q] = a[q, p] = 0.0
                for k in range(d):
                    one, two = vectors[k, p], vectors[k, q]
                    vectors[k, p] = c * one - s * two
                    vectors[k, q] = s * one + c * two


@_compiled
def _lift(a, floor, work, vectors, lower, pivots, inverse):
    """Raise eigenvalues <= 0 of the symmetric a to ``floor``; True if there was one. work, vectors, lower: (D, D)."""
    if _factor(a, lower, pivots, inverse):
        return False
    d = a.shape[0]
    for i in range(d):
        for j in range(d):
            work[i, j] = a[i, j]
    _eigen(work, vectors)
    low = False
    for k in range(d):
        if not work[k, k] > 0.0:
            low = True
    if not low:
        return False
    for i in range(d):
        for j in range(i + 1):
            s = 0.0
            for k in range(d):
                value = work[k, k] if not work[k, k] <= 0.0 else floor
                s += vectors[i, k] * value * vectors[j, k]
            a[i, j] = s
            a[j, i] = s
    return True


@_compiled
def _settle(prior_L, h, L, f_h, f_L, share, factor_bound, floor, rule, lift, counts, scratch, pivots, inverse):
    """Post-processing of a released data part: its eigenvalues if ``lift``, then f. See :func:`settle`."""
    components, d = h.shape
    work, vectors, lower, whole = scratch[0], scratch[1], scratch[2], scratch[3]
    if lift:
        for c in range(components):
            if rule == ALGORITHM_3:
                for i in range(d):
                    for j in range(d):
                        whole[i, j] = prior_L[c, i, j] + L[c, i, j]
                if _lift(whole, floor, work, vectors, lower, pivots, inverse):
                    for i in range(d):
                        for j in range(d):
                            L[c, i, j] = whole[i, j] - prior_L[c, i, j]
                    counts[_FLOORED] += 1.0
            elif _lift(L[c], floor, work, vectors, lower, pivots, inverse):
                counts[_FLOORED] += 1.0
    scale_h, scale_L = share, share
    if factor_bound < np.inf:
        norm_h, norm_L = math.sqrt(_square(h)) * share, math.sqrt(_square(L)) * share
        if rule == ALGORITHM_3:
            norm = math.hypot(norm_h, norm_L)
            if norm > factor_bound:
                counts[_FACTORS] += 1.0
                shrink = factor_bound / norm
                h *= shrink
                L *= shrink
        else:
            if norm_h > factor_bound or norm_L > factor_bound:
                counts[_FACTORS] += 1.0
            if norm_h > factor_bound:
                scale_h *= factor_bound / norm_h
            if norm_L > factor_bound:
                scale_L *= factor_bound / norm_L
    for c in range(components):
        for i in range(d):
            f_h[c, i] = scale_h * h[c, i]
            for j in range(d):
                f_L[c, i, j] = scale_L * L[c, i, j]


@_compiled
def settle(prior_L, h, L, f_h, f_L, share, factor_bound, floor, rule, counts):
    """Post-process one released data part (h, L), in place: what :func:`noisy_steps` does after the noise.

    Arguments are as in :func:`noisy_steps`. f_h and f_L are overwritten.

    - SEP: f = share x data part.
    - ALGORITHM_3: eigenvalues <= 0 of prior + data part are raised to ``floor``. Then f = share x data part is clipped
      to ``factor_bound`` (h and L as one vector), and the data part becomes f / share.
    - RELEASED: eigenvalues <= 0 of the data part are raised to ``floor``. Then f = share x data part, with h and L
      clipped separately. The data part stays.
    """
    d = h.shape[1]
    _settle(
        prior_L, h, L, f_h, f_L, share, factor_bound, floor, rule, True, counts, np.empty((4, d, d)), np.empty(d),
        np.empty(d),
    )  # fmt: skip


@_compiled
def noisy_steps(
    x, order, prior_h, prior_L, h, L, f_h, f_L, share, s2, k, bound, factor_bound, floor, rule, settled, noise, counts
):
    """Visit the rows ``order`` once, in order; each step moves the data part (h, L) and then the factor f, in place:

        cavity = prior + data part - f;   data part <- data part + k (clip(f_n) - f) + noise;   then :func:`settle`.

    Parameters
    ----------
    x : (N, D) rows.
    order : (steps,) row numbers.
    prior_h, prior_L, h, L, f_h, f_L : naturals (J, D) and (J, D, D) of the prior, the data part and the factor f.
    share : 1 / N.
    s2 : noise variance of a component, data units squared.
    k : coefficient of the step (algorithm 3 and the authors' code: gamma / N; Li et al. 2015: damping).
    bound : C of f_n.
    factor_bound : C of f after a step, or inf.
    floor : replaces an eigenvalue <= 0 of a precision.
    rule : SEP (f_n is not clipped), ALGORITHM_3 or RELEASED, see there and :func:`settle`. Under RELEASED a step that
        would leave a precision of the data part not positive definite is skipped: no move, no noise.
    settled : False stops before the noise and before :func:`settle` (for a release that is made elsewhere).
    noise : (steps, J D + J D (D + 1) / 2), or (0, 0) for none. Each number has its own standard deviation: first h
        (component by component), then the upper triangle of L (component by component, row by row), mirrored.
    counts : (5,), see ``COUNTS``; added to.

    Sensitivity. Neighbours differ in one row. The noised vector of one step is (h, upper triangle of L). The step's
    release is the data part before the noise, which is theta minus the public prior.

    Claim: given the data part and f before the step, replacing the row that the step reads moves

    - the release by at most 2 k C = 2 gamma C / N under ALGORITHM_3;
    - h and L by at most 2 gamma C / N each under RELEASED, if neither of the two steps is skipped. The skipping itself
      is covered by no guarantee.

    Proof.

    1. The release is D + k (c(f_n) - f). D and f are functions of earlier releases and the public prior, because
       ``settle`` reads nothing else. So two rows give releases that differ by k (c(f_n) - c(f_n')).
    2. Under ALGORITHM_3, c multiplies h and L of f_n by min(1, C / norm), with the norm over all numbers of h and of
       the full matrices L. Under RELEASED, c multiplies h and L each by its own such factor. A site whose norm is not
       finite, or whose cavity is not positive definite, counts as 0. So c(f_n) (its h, its L) has norm at most C for
       every row, whatever its values, and the difference of two is at most 2 C.
    3. The norm of (h, upper triangle of L) counts each off-diagonal number once instead of twice, so it is at most that
       of (h, full L).
    4. A step that reads another row is the same function of earlier releases on both data sets: the replaced row
       reaches it only through these. A row is read once per epoch.
    """
    components, d = h.shape
    noisy = noise.shape[0] > 0
    site_h, site_L = np.empty((components, d)), np.empty((components, d, d))
    cavity_h, cavity_L = np.empty((components, d)), np.empty((components, d, d))
    means, gains, forces = np.empty((components, d)), np.empty((components, d)), np.empty((components, d))
    weights, vectors, scratch = np.empty(components), np.empty((4, d)), np.empty((4, d, d))
    lower, work, inverse_b = scratch[0], scratch[1], scratch[2]
    pivots, inverse = vectors[0], vectors[1]
    for t in range(order.shape[0]):
        for c in range(components):
            for i in range(d):
                cavity_h[c, i] = prior_h[c, i] + (h[c, i] - f_h[c, i])
                for j in range(d):
                    cavity_L[c, i, j] = prior_L[c, i, j] + (L[c, i, j] - f_L[c, i, j])
        fine = _sites(
            x[order[t]], cavity_h, cavity_L, s2, site_h, site_L, means, gains, forces, weights, lower, work, inverse_b,
            vectors,
        )  # fmt: skip
        k_h, k_L = k, k
        square_h, square_L = _square(site_h), _square(site_L)
        if not (fine and square_h + square_L < np.inf):
            site_h[:] = 0.0
            site_L[:] = 0.0
            counts[_ZEROED] += 1.0
        elif rule == ALGORITHM_3:
            norm = math.sqrt(square_h + square_L)
            if norm > bound:
                k_h = k_L = k * (bound / norm)
                counts[_CLIPPED] += 1.0
        elif rule == RELEASED:
            norm_h, norm_L = math.sqrt(square_h), math.sqrt(square_L)
            if norm_h > bound:
                k_h = k * (bound / norm_h)
            if norm_L > bound:
                k_L = k * (bound / norm_L)
            if norm_h > bound or norm_L > bound:
                counts[_CLIPPED] += 1.0
        # The new precision is formed in place of the site's, so that a skipped step leaves the state as it was.
        proper = True
        for c in range(components):
            for i in range(d):
                for j in range(d):
                    site_L[c, i, j] = L[c, i, j] + (k_L * site_L[c, i, j] - k * f_L[c, i, j])
            if rule == RELEASED and proper:
                proper = _factor(site_L[c], lower, pivots, inverse)
        if not proper:
            counts[_SKIPPED] += 1.0
            continue
        for c in range(components):
            for i in range(d):
                h[c, i] += k_h * site_h[c, i] - k * f_h[c, i]
                for j in range(d):
                    L[c, i, j] = site_L[c, i, j]
        if noisy:
            p = components * d
            for c in range(components):
                for i in range(d):
                    h[c, i] += noise[t, c * d + i]
                    L[c, i, i] += noise[t, p]
                    for j in range(i + 1, d):
                        p += 1
                        L[c, i, j] += noise[t, p]
                        L[c, j, i] = L[c, i, j]
                    p += 1
        if settled:
            _settle(
                prior_L, h, L, f_h, f_L, share, factor_bound, floor, rule, rule == ALGORITHM_3 or noisy, counts,
                scratch, pivots, inverse,
            )  # fmt: skip


@_compiled
def ep_steps(x, order, prior_h, prior_L, h, L, sites_h, sites_L, s2, damping, counts):
    """Expectation propagation (Minka 2001) on the rows ``order``, once each, in order; all changes are in place.

        cavity = prior + data part - site_n;   site_n <- (1 - damping) site_n + damping f_n

    The data part moves with the site. A row whose cavity or f_n is not proper is left unchanged and counted.

    Parameters
    ----------
    x, order, prior_h, prior_L, h, L, s2, counts : as in :func:`noisy_steps`; (h, L) is the sum of all sites.
    sites_h, sites_L : (N, J, D) and (N, J, D, D), one site per row.
    damping : in (0, 1].
    """
    components, d = h.shape
    site_h, site_L = np.empty((components, d)), np.empty((components, d, d))
    cavity_h, cavity_L = np.empty((components, d)), np.empty((components, d, d))
    means, gains, forces = np.empty((components, d)), np.empty((components, d)), np.empty((components, d))
    weights, vectors, scratch = np.empty(components), np.empty((4, d)), np.empty((3, d, d))
    for t in range(order.shape[0]):
        row = order[t]
        own_h, own_L = sites_h[row], sites_L[row]
        for c in range(components):
            for i in range(d):
                cavity_h[c, i] = prior_h[c, i] + (h[c, i] - own_h[c, i])
                for j in range(d):
                    cavity_L[c, i, j] = prior_L[c, i, j] + (L[c, i, j] - own_L[c, i, j])
        fine = _sites(
            x[row], cavity_h, cavity_L, s2, site_h, site_L, means, gains, forces, weights, scratch[0], scratch[1],
            scratch[2], vectors,
        )  # fmt: skip
        if not (fine and _square(site_h) + _square(site_L) < np.inf):
            counts[_SKIPPED] += 1.0
            continue
        for c in range(components):
            for i in range(d):
                change = damping * (site_h[c, i] - own_h[c, i])
                own_h[c, i] += change
                h[c, i] += change
                for j in range(d):
                    change = damping * (site_L[c, i, j] - own_L[c, i, j])
                    own_L[c, i, j] += change
                    L[c, i, j] += change
