// Sums along columns, in two steps: blocks sum some rows each, then the blocks' sums are added in order.

// What is summed, as the launching code numbers it.
#define TERM_VALUE 0
#define TERM_SQUARE 1
#define TERM_PRODUCT 2
#define TERM_DERIVATIVE 3

__device__ inline double term_of(Mat a, Mat b, i32 r, i32 c, i32 term) {
    float y = at(a, r, c);
    if (term == TERM_VALUE) return y;
    if (term == TERM_SQUARE) return (double)y * y;
    if (term == TERM_PRODUCT) return (double)y * (double)at(b, r, c);
    return derivative_of(y, term - TERM_DERIVATIVE);
}

// Block (x, y) sums the rows from y * height on, for blockDim.x columns; partials is gridDim.y x cols.
KERNEL column_partials(double* partials, Mat a, Mat b, i32 term, i32 height) {
    __shared__ double shared[BLOCK];
    i32 c = blockIdx.x * blockDim.x + threadIdx.x;
    i32 top = blockIdx.y * height;
    i32 bottom = top + height < a.rows ? top + height : a.rows;
    double sum = 0.0;
    if (c < a.cols) {
        for (i32 r = top + threadIdx.y; r < bottom; r += blockDim.y) sum += term_of(a, b, r, c, term);
    }
    sum = sum_along_y(shared, sum);
    if (c < a.cols && threadIdx.y == 0) partials[(i64)blockIdx.y * a.cols + c] = sum;
}

// Element c of the sum of `count` rows of partials.
__device__ inline double column_of(const double* partials, i32 cols, i32 count, i32 c) {
    double sum = 0.0;
    for (i32 k = 0; k < count; k++) sum += partials[(i64)k * cols + c];
    return sum;
}

// row = alpha * (sum of partials) + beta * row.
KERNEL finish_columns(Mat row, float alpha, const double* partials, i32 count, float beta) {
    FOR_EACH(row, r, c) {
        float scaled = alpha * (float)column_of(partials, row.cols, count, c);
        at(row, r, c) = beta == 0.0f ? scaled : scaled + beta * at(row, r, c);
    }
}

// sums[c] += sum of partials; one row of threads.
KERNEL accumulate_columns(double* sums, const double* partials, i32 cols, i32 count) {
    for (i32 c = blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += gridDim.x * blockDim.x) {
        sums[c] += column_of(partials, cols, count, c);
    }
}
