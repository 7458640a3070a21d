// Sums along columns, in two steps: blocks sum some rows each, then the blocks' sums are added in order.

// What is summed, as the launching code numbers it.
#define TERM_VALUE 0
#define TERM_SQUARE 1
#define TERM_PRODUCT 2
#define TERM_AT_LEAST 3
#define TERM_DERIVATIVE 4

__device__ inline double term_of(Mat a, i32 r, i32 c, i32 term, float least) {
    float y = at(a, r, c);
    if (term == TERM_VALUE) return y;
    if (term == TERM_SQUARE) return (double)y * y;
    if (term == TERM_AT_LEAST) return y >= least ? 1.0 : 0.0;
    return derivative_of(y, term - TERM_DERIVATIVE);
}

// The products in rows r and r + 1, if that is below `bottom`: in float, rounded as on the CPU, because variances of few
// frames depend on the last digit.
__device__ inline double products_of(Mat a, Mat b, i32 r, i32 bottom, i32 c) {
    if (r + 1 == bottom) return at(a, r, c) * at(b, r, c);
    return fmaf(at(a, r, c), at(b, r, c), at(a, r + 1, c) * at(b, r + 1, c));
}

// Block (x, y) sums the rows from y * height on, for blockDim.x columns; partials is gridDim.y x cols. The height is even.
KERNEL column_partials(double* partials, Mat a, Mat b, i32 term, i32 height, float least) {
    __shared__ double shared[BLOCK];
    i32 c = blockIdx.x * blockDim.x + threadIdx.x;
    i32 top = blockIdx.y * height;
    i32 bottom = top + height < a.rows ? top + height : a.rows;
    double sum = 0.0;
    if (c < a.cols && term == TERM_PRODUCT) {
        for (i32 r = top + 2 * threadIdx.y; r < bottom; r += 2 * blockDim.y) sum += products_of(a, b, r, bottom, c);
    } else if (c < a.cols) {
        for (i32 r = top + 2 * threadIdx.y; r < bottom; r += 2 * blockDim.y) {
            sum += term_of(a, r, c, term, least);
            if (r + 1 < bottom) sum += term_of(a, r + 1, c, term, least);
        }
    }
    sum = sum_along_y(shared, sum);
    if (c < a.cols && threadIdx.y == 0) partials[(i64)blockIdx.y * a.cols + c] = sum;
}

// Sums of b, and of the products of a and b, as column_partials forms them, from one reading of each: gridDim.y x cols of the
// former, then of the latter.
KERNEL column_partials_and_dots(double* partials, Mat a, Mat b, i32 height) {
    __shared__ double shared[BLOCK];
    i32 c = blockIdx.x * blockDim.x + threadIdx.x;
    i32 top = blockIdx.y * height;
    i32 bottom = top + height < b.rows ? top + height : b.rows;
    double sum = 0.0, dot = 0.0;
    if (c < b.cols) {
        for (i32 r = top + 2 * threadIdx.y; r < bottom; r += 2 * blockDim.y) {
            sum += at(b, r, c);
            if (r + 1 < bottom) sum += at(b, r + 1, c);
            dot += products_of(a, b, r, bottom, c);
        }
    }
    sum = sum_along_y(shared, sum);
    dot = sum_along_y(shared, dot);
    if (c < b.cols && threadIdx.y == 0) {
        partials[(i64)blockIdx.y * b.cols + c] = sum;
        partials[((i64)gridDim.y + blockIdx.y) * b.cols + c] = dot;
    }
}

// Partials that are on their way at once; they are added one after the other.
#define AHEAD 16

// Element c of the sum of `count` rows of partials.
__device__ inline double column_of(const double* partials, i32 cols, i32 count, i32 c) {
    double sum = 0.0;
    i32 k = 0;
    for (; k + AHEAD <= count; k += AHEAD) {
        double found[AHEAD];
        _Pragma("unroll") for (i32 g = 0; g < AHEAD; g++) found[g] = partials[(i64)(k + g) * cols + c];
        _Pragma("unroll") for (i32 g = 0; g < AHEAD; g++) sum += found[g];
    }
    for (; k < count; k++) sum += partials[(i64)k * cols + c];
    return sum;
}

// row = alpha * (sum of partials) + beta * row.
KERNEL finish_columns(Mat row, float alpha, const double* partials, i32 count, float beta) {
    FOR_EACH(row, r, c) {
        float scaled = alpha * (float)column_of(partials, row.cols, count, c);
        put(row, r, c, beta == 0.0f ? scaled : scaled + beta * at(row, r, c));
    }
}

// sums[c] += sum of partials; one row of threads.
KERNEL accumulate_columns(double* sums, const double* partials, i32 cols, i32 count) {
    for (i32 c = blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += gridDim.x * blockDim.x) {
        sums[c] += column_of(partials, cols, count, c);
    }
}

// The sums of values and of squares from column_partials_and_dots of a matrix with itself: each column's sum, as a row of col, and
// all squares, added to total[0]. By one block of up to LARGE_BLOCK threads.
LARGE_KERNEL finish_columns_and_total(Mat col, double* total, const double* partials, i32 count) {
    __shared__ double shared[LARGE_BLOCK];
    const i32 cols = col.rows;
    double squares = 0.0;
    for (i32 c = threadIdx.x; c < cols; c += blockDim.x) {
        put(col, c, 0, (float)column_of(partials, cols, count, c));
        squares += column_of(partials + (i64)count * cols, cols, count, c);
    }
    squares = sum_along_x(shared, squares);
    if (threadIdx.x == 0) total[0] += squares;
}

// row = beta * row + alpha * each row of src in turn, as the CPU sums a few rows.
KERNEL sum_few_rows(Mat row, float alpha, Mat src, float beta) {
    FOR_EACH(row, r, c) {
        float sum = beta == 0.0f ? 0.0f : beta * at(row, r, c);
        for (i32 i = 0; i < src.rows; i++) sum = fmaf(alpha, at(src, i, c), sum);
        put(row, r, c, sum);
    }
}

// The sums of values and of squares from column_partials_and_dots of a matrix with itself: each column's mean, mean square, and
// scale for a normalisation, rounded step by step as on the host.
KERNEL finish_moments(Mat moments, const double* partials, i32 count, float per_row, float factor, float least) {
    const i32 cols = moments.cols;
    for (i32 c = blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += gridDim.x * blockDim.x) {
        const float mean = per_row * (float)column_of(partials, cols, count, c);
        const float square = per_row * (float)column_of(partials + (i64)count * cols, cols, count, c);
        float variance = factor * square + -factor * mean * mean;
        variance = (variance < 0.0f ? 0.0f : variance) + least;
        put(moments, 0, c, mean);
        put(moments, 1, c, square);
        put(moments, 2, c, (float)(1.0 / sqrt((double)variance)));
    }
}
