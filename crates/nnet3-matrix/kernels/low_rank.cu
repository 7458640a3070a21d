// Updates of a low-rank estimate of a Fisher matrix (see `src/low_rank.rs`), so that the host need not know it. Each kernel is one
// block of up to LARGE_BLOCK x 1 threads. The state is d (n numbers), e (n) and rho, all in double precision.

#define WARP 32

// Flags, a row of four: the update's numbers are finite, orthogonality is to be looked at, a correction is to be made, rows
// are to be made anew.
#define FINITE 0
#define SUSPECT 1
#define CORRECT 2
#define RESTART 3

__device__ inline bool is_finite(double x) { return x - x == 0.0; }

// The pairs of round `round` of a tournament among m players, m even: each plays in each round.
__device__ inline void pair_of(i32 k, i32 round, i32 m, i32* first, i32* second) {
    i32 a = k == 0 ? m - 1 : (round + k) % (m - 1);
    i32 b = (round + m - 1 - k) % (m - 1);
    *first = a < b ? a : b;
    *second = a < b ? b : a;
}

// Rotates two numbers.
__device__ inline void rotate(double* x, double* y, double c, double s) {
    double a = *x, b = *y;
    *x = c * a - s * b;
    *y = s * a + c * b;
}

// Jacobi rotations of pairs that have no row in common, all at once: z becomes diagonal, v z_before v^T. A warp takes one pair of
// rows after the other, its threads along the rows; then one row after the other, its threads each a pair of columns.
__device__ inline void diagonalise(double* shared, double* z, double* v, double* rotations, i32 n) {
    const i32 m = n + (n & 1), half = m / 2;
    const i32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    for (i32 sweep = 0; sweep < 40; sweep++) {
        double all = 0.0, off = 0.0;
        for (i32 i = warp; i < n; i += warps) {
            for (i32 j = lane; j < n; j += WARP) {
                double square = z[i * n + j] * z[i * n + j];
                all += square;
                if (i != j) off += square;
            }
        }
        all = sum_along_x(shared, all);
        off = sum_along_x(shared, off);
        if (off <= 1e-28 * all) break;
        for (i32 round = 0; round < m - 1; round++) {
            for (i32 k = threadIdx.x; k < half; k += blockDim.x) {
                i32 p, q;
                pair_of(k, round, m, &p, &q);
                double c = 1.0, s = 0.0;
                double beside = q < n ? z[p * n + q] : 0.0;
                if (beside != 0.0) {
                    double ratio = (z[q * n + q] - z[p * n + p]) / (2.0 * beside);
                    double t = (ratio >= 0.0 ? 1.0 : -1.0) / (fabs(ratio) + sqrt(ratio * ratio + 1.0));
                    c = 1.0 / sqrt(t * t + 1.0);
                    s = t * c;
                }
                rotations[2 * k] = c;
                rotations[2 * k + 1] = s;
            }
            __syncthreads();
            for (i32 k = warp; k < half; k += warps) {
                i32 p, q;
                pair_of(k, round, m, &p, &q);
                if (q >= n) continue;
                const double c = rotations[2 * k], s = rotations[2 * k + 1];
                for (i32 i = lane; i < n; i += WARP) {
                    rotate(&z[p * n + i], &z[q * n + i], c, s);
                    rotate(&v[p * n + i], &v[q * n + i], c, s);
                }
            }
            __syncthreads();
            for (i32 k = lane; k < half; k += WARP) {
                i32 p, q;
                pair_of(k, round, m, &p, &q);
                if (q >= n) continue;
                const double c = rotations[2 * k], s = rotations[2 * k + 1];
                for (i32 i = warp; i < n; i += warps) rotate(&z[i * n + p], &z[i * n + q], c, s);
            }
            __syncthreads();
        }
    }
}

// lk: L above K, n x n each. a: n x (n + 1).
LARGE_KERNEL low_rank_update(Mat a, Mat flags, double* state, double* scratch, Mat lk, const double* energy, i32 rows, i32 dim,
                       double eta, double alpha) {
    __shared__ double shared[LARGE_BLOCK];
    i32 n = a.rows, tid = threadIdx.x;
    double *d = state, *e = state + n, rho = state[2 * n];
    double *z = scratch, *v = z + n * n, *inverse = v + n * n, *root = inverse + n, *order = root + n, *rotations = order + n;
    double weight = eta / rows, keep = 1.0 - eta;

    double sum_d = 0.0;
    for (i32 i = 0; i < n; i++) sum_d += d[i];
    double beta = rho * (1.0 + alpha) + alpha / dim * sum_d;
    for (i32 i = tid; i < n; i += blockDim.x) inverse[i] = 1.0 / sqrt(1.0 / (beta / d[i] + 1.0));
    __syncthreads();
    double bad = 0.0;
    for (i32 k = tid; k < n * n; k += blockDim.x) {
        i32 i = k / n, j = k % n;
        double own_l = 0.5 * ((double)at(lk, i, j) + (double)at(lk, j, i));
        double own_k = 0.5 * ((double)at(lk, n + i, j) + (double)at(lk, n + j, i));
        double x = weight * weight * inverse[i] * own_k * inverse[j];
        x += weight * keep * inverse[i] * own_l * inverse[j] * (d[i] + d[j] + 2.0 * rho);
        if (i == j) x += keep * keep * (d[i] + rho) * (d[i] + rho);
        z[k] = x;
        v[k] = i == j ? 1.0 : 0.0;
        if (!is_finite(x)) bad += 1.0;
    }
    bool finite = sum_along_x(shared, bad) == 0.0;
    if (finite) diagonalise(shared, z, v, rotations, n);

    // By decreasing size. Places that numbers which cannot be compared leave free.
    for (i32 i = tid; i < n; i += blockDim.x) root[i] = 0.0, order[i] = i;
    __syncthreads();
    for (i32 i = tid; i < n; i += blockDim.x) {
        double x = z[i * n + i];
        i32 place = 0;
        for (i32 j = 0; j < n; j++) {
            double y = z[j * n + j];
            place += y > x || (y == x && j < i);
        }
        if (finite) root[place] = x, order[place] = i;
    }
    __syncthreads();
    double floor = rho * keep * rho * keep;
    bool suspect = root[0] > 1e6 * root[n - 1] || root[n - 1] < floor;
    double largest = sqrt(root[0] < floor ? floor : root[0]), sum_roots = 0.0;
    for (i32 i = 0; i < n; i++) sum_roots += sqrt(root[i] < floor ? floor : root[i]);
    double trace = weight * energy[0] + keep * (dim * rho + sum_d);
    double next_rho = (trace - sum_roots) / (dim - n);
    double least = 5e-4 * largest < 1e-10 ? 1e-10 : 5e-4 * largest;
    double sum_next = 0.0;
    for (i32 i = 0; i < n; i++) {
        double x = sqrt(root[i] < floor ? floor : root[i]) - next_rho;
        sum_next += x < least ? least : x;
    }
    double rho_there = next_rho < least ? least : next_rho;
    double next_beta = rho_there * (1.0 + alpha) + alpha / dim * sum_next;

    bad = is_finite(rho_there) ? 0.0 : 1.0;
    for (i32 k = tid; k < n * (n + 1); k += blockDim.x) {
        i32 i = k / (n + 1), j = k % (n + 1);
        double size = sqrt(root[i] < floor ? floor : root[i]);
        double next_d = size - next_rho < least ? least : size - next_rho;
        double next_e = 1.0 / (next_beta / next_d + 1.0);
        double x = keep / weight * (d[i] + rho);
        if (j < n) x = finite ? weight * sqrt(next_e) / size * v[(i32)order[i] * n + j] * inverse[j] : 0.0;
        float rounded = (float)x;
        if (!is_finite(rounded)) bad += 1.0;
        at(a, i, j) = rounded;
    }
    finite = sum_along_x(shared, bad) == 0.0 && finite;
    for (i32 i = tid; i < n && finite; i += blockDim.x) {
        double size = sqrt(root[i] < floor ? floor : root[i]);
        d[i] = size - next_rho < least ? least : size - next_rho;
        e[i] = 1.0 / (next_beta / d[i] + 1.0);
    }
    if (tid == 0) {
        if (finite) state[2 * n] = rho_there;
        at(flags, 0, FINITE) = finite ? 1.0f : 0.0f;
        at(flags, 0, SUSPECT) = finite && suspect ? 1.0f : 0.0f;
    }
}

// The lower triangle of p becomes its Cholesky factor. False if there is none.
__device__ inline bool factorise(double* p, i32 n) {
    for (i32 j = 0; j < n; j++) {
        for (i32 i = j + threadIdx.x; i < n; i += blockDim.x) {
            double rest = p[i * n + j];
            for (i32 k = 0; k < j; k++) rest -= p[i * n + k] * p[j * n + k];
            p[i * n + j] = rest;
        }
        __syncthreads();
        double pivot = p[j * n + j];
        __syncthreads();
        if (!(pivot > 0.0) || !is_finite(pivot)) return false;
        double root = sqrt(pivot);
        for (i32 i = j + threadIdx.x; i < n; i += blockDim.x) p[i * n + j] = i == j ? root : p[i * n + j] / root;
        __syncthreads();
    }
    return true;
}

// c: what W is to be multiplied by so that its rows are orthogonal with squared norms e, minus the identity. products: W W^T.
LARGE_KERNEL low_rank_correction(Mat c, Mat flags, const double* state, double* scratch, Mat products, i32 careful) {
    __shared__ double shared[LARGE_BLOCK];
    i32 n = c.rows, tid = threadIdx.x;
    const double* e = state + n;
    double *p = scratch, *inverse = p + n * n;
    bool asked = at(flags, 0, SUSPECT) != 0.0f || (careful && at(flags, 0, FINITE) != 0.0f);
    double off = 0.0;
    for (i32 k = tid; k < n * n; k += blockDim.x) {
        i32 i = k / n, j = k % n;
        p[k] = (double)(i < j ? at(products, j, i) : at(products, i, j)) / sqrt(e[i] * e[j]);
        if (!(fabs(p[k] - (i == j ? 1.0 : 0.0)) <= 1e-3)) off += 1.0;
    }
    bool needed = sum_along_x(shared, off) > 0.0 && asked;
    bool good = needed && factorise(p, n);
    double large = 0.0;
    for (i32 j = tid; j < n && good; j += blockDim.x) {
        for (i32 i = 0; i < n; i++) {
            double x = i == j ? 1.0 / p[j * n + j] : 0.0;
            if (i > j) {
                for (i32 k = j; k < i; k++) x -= p[i * n + k] * inverse[k * n + j];
                x /= p[i * n + i];
            }
            inverse[i * n + j] = x;
            if (!(x < 100.0)) large += 1.0;
        }
    }
    good = sum_along_x(shared, large) == 0.0 && good;
    for (i32 k = tid; k < n * n; k += blockDim.x) {
        i32 i = k / n, j = k % n;
        double x = good ? inverse[k] * sqrt(e[i] / e[j]) - (i == j ? 1.0 : 0.0) : 0.0;
        at(c, i, j) = (float)x;
    }
    if (tid == 0) {
        at(flags, 0, CORRECT) = good ? 1.0f : 0.0f;
        at(flags, 0, RESTART) = needed && !good ? 1.0f : 0.0f;
    }
}

// Sum of products of two rows, over the block.
__device__ inline double row_product(double* shared, Mat w, i32 i, i32 j) {
    double sum = 0.0;
    for (i32 c = threadIdx.x; c < w.cols; c += blockDim.x) sum += (double)at(w, i, c) * (double)at(w, j, c);
    return sum_along_x(shared, sum);
}

// Gram-Schmidt on the rows of W, which get squared norms e, if the flag says so; rows that are of no use become others.
LARGE_KERNEL low_rank_restart(Mat w, Mat flags, const double* state) {
    __shared__ double shared[LARGE_BLOCK];
    if (at(flags, 0, RESTART) == 0.0f) return;
    const double* e = state + w.rows;
    for (i32 i = 0; i < w.rows; i++) {
        for (i32 attempt = 0; attempt < 100; attempt++) {
            double start = row_product(shared, w, i, i);
            if (!(is_finite(start) && start > 0.0) || attempt == 50) {
                for (i32 c = threadIdx.x; c < w.cols; c += blockDim.x) {
                    u32 bits = ((u32)c * 2654435761u) ^ ((u32)(i * 100 + attempt) * 2246822519u);
                    bits = (bits ^ (bits >> 15)) * 3266489917u;
                    at(w, i, c) = (float)(bits >> 8) / 8388608.0f - 1.0f;
                }
                __syncthreads();
                continue;
            }
            for (i32 j = 0; j < i; j++) {
                double overlap = row_product(shared, w, i, j) / e[j];
                for (i32 c = threadIdx.x; c < w.cols; c += blockDim.x) at(w, i, c) -= (float)(overlap * at(w, j, c));
                __syncthreads();
            }
            double end = row_product(shared, w, i, i);
            if (end > 0.01 * start) {
                double factor = sqrt(e[i] / end);
                for (i32 c = threadIdx.x; c < w.cols; c += blockDim.x) at(w, i, c) = (float)(factor * at(w, i, c));
                __syncthreads();
                break;
            }
        }
    }
}
