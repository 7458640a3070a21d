// Updates of low-rank estimates of Fisher matrices (see `src/low_rank.rs`), so that the host need not know them. The state is d (n
// numbers), e (n) and rho, all in double precision.

// Flags, a row of four: the update's numbers are finite, orthogonality is to be looked at, a correction is to be made, rows
// are to be made anew.
#define FINITE 0
#define SUSPECT 1
#define CORRECT 2
#define RESTART 3

__device__ inline bool is_finite(double x) { return x - x == 0.0; }

// What one update is of. lk: L above K, n x n each. a: n x (n + 1).
struct Due {
    Mat a, flags, lk;
    double *state, *scratch;
    const double* energy;
    i32 rows, dim;
    double eta, alpha;
};

// Notes an update that low_rank_update is to make.
KERNEL low_rank_due(double* list, i32 place, Mat a, Mat flags, Mat lk, double* state, double* scratch, const double* energy,
                    i32 rows, i32 dim, double eta, double alpha) {
    if (blockIdx.x + threadIdx.x == 0) {
        ((Due*)list)[place] = Due{a, flags, lk, state, scratch, energy, rows, dim, eta, alpha};
    }
}

// Threads that rotate a pair of rows, and how many elements of a row each of them keeps in registers meanwhile.
#define TEAM 16
#define KEPT 5

// The sum over a team, given to all of it. All threads of a warp must come here.
__device__ inline double sum_of_team(double x) {
    for (i32 k = TEAM / 2; k > 0; k /= 2) x += __shfl_xor_sync(0xffffffffu, x, k);
    return x;
}

// The pairs of round `round` of a tournament among m players, m even: each plays in each round.
__device__ inline void pair_of(i32 k, i32 round, i32 m, i32* first, i32* second) {
    i32 a = k == 0 ? m - 1 : (round + k) % (m - 1);
    i32 b = (round + m - 1 - k) % (m - 1);
    *first = a < b ? a : b;
    *second = a < b ? b : a;
}

// Cosine and sine of the rotation that makes two rows orthogonal, of which squared norms and product are known.
__device__ inline void rotation(double a, double b, double product, double* c, double* s) {
    double difference = b - a, twice = 2.0 * product;
    double square = difference * difference + twice * twice;
    *c = 1.0;
    *s = 0.0;
    if (!(square > 0.0)) return;
    double inverse = rsqrt(square);
    double both = 0.5 + 0.5 * fabs(difference) * inverse;
    double root = rsqrt(both);
    *c = both * root;
    *s = (difference < 0.0 ? -product : product) * inverse * root;
}

// Rotates all pairs of a round, rows of g, each by a team. Squared norms are in `before`, and in `after` when it is done. True if a pair was
// far from orthogonal.
__device__ inline bool play(double* g, i32 n, i32 round, const double* before, double* after) {
    const i32 m = n + (n & 1), half = m / 2, lane = threadIdx.x % TEAM, teams = blockDim.x / TEAM;
    bool far = false;
    // Both teams of a warp come to each sum, even if one has no pair.
    for (i32 k = threadIdx.x / TEAM; k / 2 * 2 < half; k += teams) {
        i32 p = 0, q = n;
        if (k < half) pair_of(k, round, m, &p, &q);
        const bool plays = q < n;
        double *a = g + p * n, *b = g + (plays ? q : p) * n;
        double kept_a[KEPT], kept_b[KEPT], product = 0.0;
        _Pragma("unroll") for (i32 e = 0; e < KEPT; e++) {
            const i32 i = lane + e * TEAM;
            kept_a[e] = plays && i < n ? a[i] : 0.0;
            kept_b[e] = plays && i < n ? b[i] : 0.0;
            product += kept_a[e] * kept_b[e];
        }
        for (i32 i = lane + KEPT * TEAM; plays && i < n; i += TEAM) product += a[i] * b[i];
        product = sum_of_team(product);
        if (plays) {
            double c, s, norm_a = before[p], norm_b = before[q];
            rotation(norm_a, norm_b, product, &c, &s);
            far = far || product * product > 1e-14 * norm_a * norm_b;
            _Pragma("unroll") for (i32 e = 0; e < KEPT; e++) {
                const i32 i = lane + e * TEAM;
                if (i >= n) continue;
                a[i] = c * kept_a[e] - s * kept_b[e];
                b[i] = s * kept_a[e] + c * kept_b[e];
            }
            for (i32 i = lane + KEPT * TEAM; i < n; i += TEAM) {
                double x = a[i], y = b[i];
                a[i] = c * x - s * y;
                b[i] = s * x + c * y;
            }
            if (lane == 0) {
                double moved = s / c * product;
                after[p] = norm_a - moved;
                after[q] = norm_b + moved;
            }
        } else if (k < half && lane == 0) {
            after[p] = before[p];
        }
    }
    return far;
}

// Squared norms of the rows of g, a team each.
__device__ inline void row_norms(const double* g, i32 n, double* norms) {
    const i32 lane = threadIdx.x % TEAM;
    for (i32 k = threadIdx.x / TEAM; k / 2 * 2 < n; k += blockDim.x / TEAM) {
        double sum = 0.0;
        for (i32 i = lane; k < n && i < n; i += TEAM) sum += g[k * n + i] * g[k * n + i];
        sum = sum_of_team(sum);
        if (k < n && lane == 0) norms[k] = sum;
    }
    __syncthreads();
}

// The upper triangle of z becomes R with R^T R = z, what is below it zero. False if there is none. `pivots` has n places.
__device__ inline bool triangular_root(double* z, i32 n, double* pivots) {
    const i32 lane = threadIdx.x % TEAM, team = threadIdx.x / TEAM, teams = blockDim.x / TEAM;
    for (i32 k = 0; k < n; k++) {
        double pivot = z[k * n + k];
        if (!(pivot > 1e-15)) return false;
        if (threadIdx.x == 0) pivots[k] = pivot;
        double inverse = 1.0 / pivot;
        for (i32 i = k + 1 + team; i < n; i += teams) {
            double factor = z[k * n + i] * inverse;
            for (i32 j = i + lane; j < n; j += TEAM) z[i * n + j] -= factor * z[k * n + j];
        }
        __syncthreads();
    }
    for (i32 at = threadIdx.x; at < n * n; at += blockDim.x) {
        i32 i = at / n, j = at % n;
        z[at] = j < i ? 0.0 : z[at] / sqrt(pivots[i]);
    }
    __syncthreads();
    return true;
}

// Rotations of rows of g that become orthogonal (Hestenes): of a root R^T of z = R R^T what comes out are the eigenvectors of z,
// times the roots of the eigenvalues. Squared norms are in `norms`, which has 2 n places.
__device__ inline void orthogonalise(double* shared, double* g, i32 n, double* norms) {
    const i32 rounds = n + (n & 1) - 1;
    for (i32 sweep = 0; sweep < 40; sweep++) {
        row_norms(g, n, norms);
        bool far = false;
        for (i32 round = 0; round < rounds; round++) {
            const i32 from = round % 2 * n;
            far = play(g, n, round, norms + from, norms + (n - from)) || far;
            __syncthreads();
        }
        // Those that were nearly orthogonal are so to the last digit after one rotation more.
        if (sum_along_x(shared, far ? 1.0 : 0.0) == 0.0) break;
    }
    row_norms(g, n, norms);
}

// The moment that an update looks at, divided by `trace`, plus a multiple of the identity. Returns how many of the thread's elements
// are not finite.
__device__ inline double second_moment(const Due& due, const double* inverse, double trace, double shift, double* z) {
    const i32 n = due.a.rows;
    const double *d = due.state, rho = due.state[2 * n], weight = due.eta / due.rows, keep = 1.0 - due.eta;
    double bad = 0.0;
    for (i32 k = threadIdx.x; k < n * n; k += blockDim.x) {
        i32 i = k / n, j = k % n;
        double own_l = 0.5 * ((double)at(due.lk, i, j) + (double)at(due.lk, j, i));
        double own_k = 0.5 * ((double)at(due.lk, n + i, j) + (double)at(due.lk, n + j, i));
        double x = weight * weight * inverse[i] * own_k * inverse[j];
        x += weight * keep * inverse[i] * own_l * inverse[j] * (d[i] + d[j] + 2.0 * rho);
        if (i == j) x += keep * keep * (d[i] + rho) * (d[i] + rho);
        z[k] = x / trace + (i == j ? shift : 0.0);
        if (!is_finite(x)) bad += 1.0;
    }
    __syncthreads();
    return bad;
}

// Makes the updates that are noted in the list, a block each. A block has `places` numbers of memory, or its scratch memory.
LARGE_KERNEL low_rank_update(const double* list, i32 places) {
    __shared__ double shared[LARGE_BLOCK];
    BLOCK_MEMORY(memory);
    const Due& due = ((const Due*)list)[blockIdx.x];
    const Mat a = due.a;
    const i32 n = a.rows, tid = threadIdx.x;
    double *d = due.state, *e = d + n, rho = d[2 * n];
    double *z = n * n + 6 * n <= places ? memory : due.scratch, *norms = z + n * n, *inverse = norms + 2 * n;
    double *root = inverse + n, *order = root + n, *size = order + n;
    const double weight = due.eta / due.rows, keep = 1.0 - due.eta, alpha = due.alpha;
    const i32 dim = due.dim;

    double sum_d = 0.0;
    for (i32 i = 0; i < n; i++) sum_d += d[i];
    double beta = rho * (1.0 + alpha) + alpha / dim * sum_d;
    for (i32 i = tid; i < n; i += blockDim.x) inverse[i] = 1.0 / sqrt(1.0 / (beta / d[i] + 1.0));
    __syncthreads();
    bool finite = sum_along_x(shared, second_moment(due, inverse, 1.0, 0.0, z)) == 0.0;
    double part = 0.0;
    for (i32 i = tid; i < n; i += blockDim.x) part += z[i * n + i];
    const double trace = sum_along_x(shared, part);
    finite = finite && trace > 0.0;
    // Roundings of products can make small eigenvalues negative. To add the same number to all leaves eigenvectors as they are.
    double shift = 0.0;
    bool rooted = false;
    while (finite && !rooted && shift < 10.0) {
        second_moment(due, inverse, trace, shift, z);
        rooted = triangular_root(z, n, norms);
        if (!rooted) shift = shift == 0.0 ? 1e-7 : 10.0 * shift;
        __syncthreads();
    }
    finite = rooted;
    if (finite) orthogonalise(shared, z, n, norms);

    // By decreasing eigenvalue.
    for (i32 i = tid; i < n; i += blockDim.x) root[i] = 0.0, order[i] = i;
    __syncthreads();
    for (i32 i = tid; i < n && finite; i += blockDim.x) {
        double x = norms[i];
        i32 place = 0;
        for (i32 j = 0; j < n; j++) place += norms[j] > x || (norms[j] == x && j < i);
        root[place] = (x - shift) * trace, order[place] = i;
    }
    __syncthreads();
    const double floor = rho * keep * rho * keep;
    const bool suspect = root[0] > 1e6 * root[n - 1] || root[n - 1] < floor;
    for (i32 i = tid; i < n; i += blockDim.x) size[i] = sqrt(root[i] < floor ? floor : root[i]);
    __syncthreads();
    double sum_sizes = 0.0;
    for (i32 i = 0; i < n; i++) sum_sizes += size[i];
    const double total = weight * due.energy[0] + keep * (dim * rho + sum_d);
    const double next_rho = (total - sum_sizes) / (dim - n);
    const double least = 5e-4 * size[0] < 1e-10 ? 1e-10 : 5e-4 * size[0];
    double sum_next = 0.0;
    for (i32 i = 0; i < n; i++) sum_next += size[i] - next_rho < least ? least : size[i] - next_rho;
    const double rho_there = next_rho < least ? least : next_rho;
    const double next_beta = rho_there * (1.0 + alpha) + alpha / dim * sum_next;

    double bad = is_finite(rho_there) ? 0.0 : 1.0;
    for (i32 k = tid; k < n * (n + 1); k += blockDim.x) {
        i32 i = k / (n + 1), j = k % (n + 1), from = (i32)order[i];
        double next_d = size[i] - next_rho < least ? least : size[i] - next_rho;
        double next_e = 1.0 / (next_beta / next_d + 1.0);
        double x = keep / weight * (d[i] + rho);
        if (j < n) x = finite ? weight * sqrt(next_e / norms[from]) / size[i] * z[from * n + j] * inverse[j] : 0.0;
        float rounded = (float)x;
        if (!is_finite(rounded)) bad += 1.0;
        put(a, i, j, rounded);
    }
    finite = sum_along_x(shared, bad) == 0.0 && finite;
    for (i32 i = tid; i < n && finite; i += blockDim.x) {
        d[i] = size[i] - next_rho < least ? least : size[i] - next_rho;
        e[i] = 1.0 / (next_beta / d[i] + 1.0);
    }
    if (tid == 0) {
        if (finite) d[2 * n] = rho_there;
        put(due.flags, 0, FINITE, finite ? 1.0f : 0.0f);
        put(due.flags, 0, SUSPECT, finite && suspect ? 1.0f : 0.0f);
    }
}

// Of the squared norm that energy[0] becomes, `more` included, the share in X - X W^T W. products: W W^T, l: W X^T X W^T. The share is
// at least `least`.
__device__ inline double share_left(double* shared, double* energy, double more, Mat products, Mat l, double least) {
    double change = 0.0;
    for (i32 k = threadIdx.x; k < l.rows * l.cols; k += blockDim.x) {
        const i32 i = k / l.cols, j = k % l.cols;
        change += ((double)at(products, i, j) - (i == j ? 2.0 : 0.0)) * (double)at(l, i, j);
    }
    change = sum_along_x(shared, change);
    const double before = energy[0] + more;
    __syncthreads();
    if (threadIdx.x == 0) energy[0] = before;
    if (before == 0.0) return 1.0;
    const double share = (before + change) / before;
    // NaN stays.
    return share < least ? least : share;
}

// factor: what gives products of the rows of two sides their norms again; by one block of up to LARGE_BLOCK threads.
LARGE_KERNEL low_rank_factor(Mat factor, double* energy, double more, Mat products, Mat l, double least, double* energy_b,
                             double more_b, Mat products_b, Mat l_b, double least_b) {
    __shared__ double shared[LARGE_BLOCK];
    const double share = share_left(shared, energy, more, products, l, least);
    const double share_b = share_left(shared, energy_b, more_b, products_b, l_b, least_b);
    if (threadIdx.x == 0) put(factor, 0, 0, (float)(1.0 / sqrt(share * share_b)));
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

// One block of up to LARGE_BLOCK threads. c: what W is to be multiplied by so that its rows are orthogonal with squared norms e, minus the identity. products: W W^T.
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
        put(c, i, j, (float)x);
    }
    if (tid == 0) {
        put(flags, 0, CORRECT, good ? 1.0f : 0.0f);
        put(flags, 0, RESTART, needed && !good ? 1.0f : 0.0f);
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
                    put(w, i, c, (float)(bits >> 8) / 8388608.0f - 1.0f);
                }
                __syncthreads();
                continue;
            }
            for (i32 j = 0; j < i; j++) {
                double overlap = row_product(shared, w, i, j) / e[j];
                for (i32 c = threadIdx.x; c < w.cols; c += blockDim.x) put(w, i, c, at(w, i, c) - (float)(overlap * at(w, j, c)));
                __syncthreads();
            }
            double end = row_product(shared, w, i, i);
            if (end > 0.01 * start) {
                double factor = sqrt(e[i] / end);
                for (i32 c = threadIdx.x; c < w.cols; c += blockDim.x) put(w, i, c, (float)(factor * at(w, i, c)));
                __syncthreads();
                break;
            }
        }
    }
}
