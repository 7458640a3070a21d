// Normalisation of columns together with the steps around it: rectification before, masks and a bypass after it.
// `moments` has a row of means and a row of scales, as finish_moments sets them.

#define MEANS 0
#define SCALES 2

__device__ inline float rectified(float x) { return x < 0.0f ? 0.0f : x; }

// Sums of the elements of a, rectified, of their squares, and of the numbers of those above 0: gridDim.y x cols of each. Blocks and
// threads take the rows that they take in column_partials, in the same order.
KERNEL rectified_partials(double* partials, Mat a, i32 height) {
    __shared__ double shared[BLOCK];
    i32 c = blockIdx.x * blockDim.x + threadIdx.x;
    i32 top = blockIdx.y * height;
    i32 bottom = top + height < a.rows ? top + height : a.rows;
    double sum = 0.0, square = 0.0, above = 0.0;
    if (c < a.cols) {
        for (i32 r = top + 2 * threadIdx.y; r < bottom; r += 2 * blockDim.y) {
            const bool two = r + 1 < bottom;
            const float x = rectified(at(a, r, c)), y = two ? rectified(at(a, r + 1, c)) : 0.0f;
            sum += x;
            sum += y;
            square += two ? fmaf(x, x, y * y) : x * x;
            above += (x > 0.0f ? 1.0 : 0.0) + (y > 0.0f ? 1.0 : 0.0);
        }
    }
    sum = sum_along_y(shared, sum);
    square = sum_along_y(shared, square);
    above = sum_along_y(shared, above);
    if (c < a.cols && threadIdx.y == 0) {
        const i64 kind = (i64)gridDim.y * a.cols, place = (i64)blockIdx.y * a.cols + c;
        partials[place] = sum;
        partials[kind + place] = square;
        partials[2 * kind + place] = above;
    }
}

// values = (src - mean) * scale, of rectified elements of src if `rectifies`; dst = factor * other + values, or values times
// their row's mask. `rows` has the row of other for each row, -1 for zeros; without it the rows are the same. Without values or
// without other these have no rows. GROUP rows are read before one is written.
KERNEL normalized_sum(Mat dst, Mat values, Mat src, i32 rectifies, Mat moments, Mat masks, const i32* mask_of, float factor, Mat other,
                      const i32* rows) {
    const i32 across = gridDim.x * blockDim.x, down = gridDim.y * blockDim.y;
    for (i32 top = blockIdx.y * blockDim.y + threadIdx.y; top < dst.rows; top += GROUP * down) {
        for (i32 c = blockIdx.x * blockDim.x + threadIdx.x; c < dst.cols; c += across) {
            const float m = at(moments, MEANS, c), s = at(moments, SCALES, c);
            float x[GROUP], y[GROUP], mask[GROUP];
            _Pragma("unroll") for (i32 k = 0; k < GROUP; k++) {
                const i32 r = top + k * down;
                const bool inside = r < dst.rows;
                const i32 from = !inside || other.rows == 0 ? -1 : rows ? rows[r] : r;
                x[k] = inside ? at(src, r, c) : 0.0f;
                y[k] = from >= 0 ? factor * at(other, from, c) : 0.0f;
                mask[k] = inside && mask_of ? at(masks, mask_of[r], c) : 1.0f;
            }
            _Pragma("unroll") for (i32 k = 0; k < GROUP; k++) {
                const i32 r = top + k * down;
                if (r >= dst.rows) break;
                const float value = ((rectifies ? rectified(x[k]) : x[k]) - m) * s;
                if (values.rows != 0) put(values, r, c, value);
                put(dst, r, c, y[k] + value * mask[k]);
            }
        }
    }
}

// With e a derivative, times its row's mask, and y = (rectified input - mean) * scale: sums of e and of e * y, formed as in
// column_partials_and_dots: gridDim.y x cols of the former, then of the latter.
KERNEL normalized_partials(double* partials, Mat deriv, Mat input, Mat moments, Mat masks, const i32* mask_of, i32 height) {
    __shared__ double shared[BLOCK];
    i32 c = blockIdx.x * blockDim.x + threadIdx.x;
    i32 top = blockIdx.y * height;
    i32 bottom = top + height < deriv.rows ? top + height : deriv.rows;
    double sum = 0.0, dot = 0.0;
    if (c < deriv.cols) {
        const float m = at(moments, MEANS, c), s = at(moments, SCALES, c);
        for (i32 r = top + 2 * threadIdx.y; r < bottom; r += 2 * blockDim.y) {
            const bool two = r + 1 < bottom;
            float e = at(deriv, r, c), f = two ? at(deriv, r + 1, c) : 0.0f;
            const float x = at(input, r, c), z = two ? at(input, r + 1, c) : 0.0f;
            if (mask_of) {
                e *= at(masks, mask_of[r], c);
                if (two) f *= at(masks, mask_of[r + 1], c);
            }
            const float y = (rectified(x) - m) * s, w = (rectified(z) - m) * s;
            sum += e;
            if (two) sum += f;
            dot += two ? fmaf(y, e, w * f) : y * e;
        }
    }
    sum = sum_along_y(shared, sum);
    dot = sum_along_y(shared, dot);
    if (c < deriv.cols && threadIdx.y == 0) {
        partials[(i64)blockIdx.y * deriv.cols + c] = sum;
        partials[((i64)gridDim.y + blockIdx.y) * deriv.cols + c] = dot;
    }
}

// Row 0 of sums = per_row * (sum of the former), row 1 = factor * (sum of the latter) * scale.
KERNEL finish_normalized(Mat sums, const double* partials, i32 count, float per_row, float factor, Mat moments) {
    const i32 cols = sums.cols;
    for (i32 c = blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += gridDim.x * blockDim.x) {
        put(sums, 0, c, per_row * (float)column_of(partials, cols, count, c));
        const float through_variance = factor * (float)column_of(partials + (i64)count * cols, cols, count, c);
        put(sums, 1, c, through_variance * at(moments, SCALES, c));
    }
}

// With e and y as above, and row 0, 1 and 2 of sums: d = (e - row 0) * scale + row 1 * y; dst = d where the input is above 0, else 0,
// and `repair` * row 2 more unless repair is 0. copied = factor * deriv, unless it has no rows. Sums of d * d go to partials, if
// there are any, formed as in column_partials. GROUP rows are read before one is written.
KERNEL normalized_deriv(Mat dst, Mat deriv, Mat input, Mat moments, Mat masks, const i32* mask_of, Mat sums, float repair, Mat copied,
                        float factor, double* partials, i32 height) {
    __shared__ double shared[BLOCK];
    const i32 c = blockIdx.x * blockDim.x + threadIdx.x;
    const i32 top = blockIdx.y * height;
    const i32 bottom = top + height < dst.rows ? top + height : dst.rows;
    double squares = 0.0;
    if (c < dst.cols) {
        const float m = at(moments, MEANS, c), s = at(moments, SCALES, c);
        const float mean = at(sums, 0, c), through_variance = at(sums, 1, c);
        const float term = repair != 0.0f ? repair * at(sums, 2, c) : 0.0f;
        for (i32 first = top + 2 * threadIdx.y; first < bottom; first += GROUP * blockDim.y) {
            float e[GROUP], x[GROUP], mask[GROUP];
            _Pragma("unroll") for (i32 k = 0; k < GROUP; k++) {
                const i32 r = first + k % 2 + k / 2 * 2 * blockDim.y;
                const bool inside = r < bottom;
                e[k] = inside ? at(deriv, r, c) : 0.0f;
                x[k] = inside ? at(input, r, c) : 0.0f;
                mask[k] = inside && mask_of ? at(masks, mask_of[r], c) : 1.0f;
            }
            _Pragma("unroll") for (i32 k = 0; k < GROUP; k++) {
                const i32 r = first + k % 2 + k / 2 * 2 * blockDim.y;
                if (r >= bottom) break;
                const float y = (rectified(x[k]) - m) * s;
                const float d = (e[k] * mask[k] - mean) * s + through_variance * y;
                squares += (double)d * d;
                const float passed = d * derivative_of(x[k], RELU);
                put(dst, r, c, repair != 0.0f ? passed + term : passed);
                if (copied.rows != 0) put(copied, r, c, factor * e[k]);
            }
        }
    }
    if (!partials) return;
    squares = sum_along_y(shared, squares);
    if (c < dst.cols && threadIdx.y == 0) partials[(i64)blockIdx.y * dst.cols + c] = squares;
}
