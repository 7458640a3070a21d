// Single numbers and sums in double precision that later kernels read, so that the host need not.

// sums[0] += alpha * (sum of `count` numbers), by one block of BLOCK x 1 threads.
KERNEL add_total(double* sums, const double* totals, i32 count, double alpha) {
    __shared__ double shared[BLOCK];
    double sum = 0.0;
    for (i32 k = threadIdx.x; k < count; k += blockDim.x) sum += totals[k];
    sum = sum_along_x(shared, sum);
    if (threadIdx.x == 0) sums[0] += alpha * sum;
}

// sums[c] += alpha * row[c].
KERNEL add_row_to_sums(double* sums, Mat row, double alpha) {
    FOR_EACH(row, r, c) sums[c] += alpha * (double)at(row, r, c);
}

// One row of threads in these four.
KERNEL scale_sums(double* sums, i32 count, double factor) {
    for (i32 k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) {
        sums[k] = factor == 0.0 ? 0.0 : sums[k] * factor;
    }
}

KERNEL add_sums(double* sums, const double* more, i32 count, double alpha) {
    for (i32 k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) {
        sums[k] += alpha * more[k];
    }
}

KERNEL scale_sums_by(double* sums, i32 count, float times, Mat element) {
    float factor = times * at(element, 0, 0);
    for (i32 k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) {
        sums[k] = factor == 0.0f ? 0.0 : sums[k] * (double)factor;
    }
}

KERNEL add_sums_by(double* sums, const double* more, i32 count, float times, Mat element) {
    float alpha = times * at(element, 0, 0);
    if (alpha == 0.0f) return;
    for (i32 k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) {
        sums[k] += (double)alpha * more[k];
    }
}

// What a change of this norm is multiplied by.
__device__ inline double limited(double norm, double limit) {
    return limit != 0.0 && norm > limit ? limit / norm : 1.0;
}

// Factors for `count` changes with these squared norms, and last whether they are finite; by one thread, in the host's order.
KERNEL limit_norms(Mat factors, const double* squares, const double* limits, i32 count, double scale) {
    if (threadIdx.x != 0) return;
    double size = fabs(scale), total = 0.0;
    for (i32 k = 0; k < count; k++) {
        double factor = limited(sqrt(squares[k]) * size, limits[k]);
        total += factor * factor * squares[k];
    }
    double norm = sqrt(total) * size;
    bool finite = norm - norm == 0.0;
    double all = limited(norm, limits[count]);
    for (i32 k = 0; k < count; k++) {
        double factor = limited(sqrt(squares[k]) * size, limits[k]);
        put(factors, 0, k, finite ? (float)(factor * all * scale) : 0.0f);
    }
    put(factors, 0, count, finite ? 1.0f : 0.0f);
}

// 1 if the average of `blocks` sums `stride` apart, divided by `count`, is at most `low`, -1 if it is above `high`.
__device__ inline float compared(const double* sums, i32 blocks, i32 stride, double count, double low, double high) {
    double sum = 0.0;
    for (i32 k = 0; k < blocks; k++) sum += sums[(i64)k * stride];
    double average = sum / blocks / count;
    return average <= low ? 1.0f : average > high ? -1.0f : 0.0f;
}

KERNEL compare_averages(Mat dst, const double* sums, i32 blocks, double count, double low, double high) {
    FOR_EACH(dst, r, c) put(dst, r, c, compared(sums + c, blocks, dst.cols, count, low, high));
}

// The count is a sum, too: itself if it is above 0, or `one_more`, rounded.
KERNEL compare_averages_by_sum(Mat dst, const double* sums, i32 blocks, const double* rows, i32 one_more, double low,
                               double high) {
    double count = one_more ? (double)(float)(1.0 + rows[0]) : rows[0];
    bool any = one_more || count > 0.0;
    FOR_EACH(dst, r, c) put(dst, r, c, any ? compared(sums + c, blocks, dst.cols, count, low, high) : 0.0f);
}

// dst = a sum divided by `count`, and whether that is above `most`; by one thread.
KERNEL proportion_above(Mat dst, const double* sum, float count, float most) {
    float proportion = (float)sum[0] / count;
    put(dst, 0, 0, proportion);
    put(dst, 0, 1, proportion > most ? 1.0f : 0.0f);
}

// By one thread.
KERNEL ratio_of_sums(Mat dst, float times, Mat element, const double* above, const double* below, float otherwise) {
    double factor = (double)times * (double)at(element, 0, 0);
    bool none = factor == 0.0 || below[0] == 0.0;
    put(dst, 0, 0, none ? otherwise : (float)(factor * above[0] / below[0]));
}

// What a step towards orthogonal rows keeps of a matrix and what it takes away; by one thread.
KERNEL orthogonal_step(Mat factors, const double* squares, i32 dim) {
    double square = squares[0], products = squares[1];
    double keep = 1.0, take = 0.0;
    double ratio = products * dim / (square * square);
    if (!(square < 1e-15) && ratio > 0.9) {
        double speed = ratio > 1.1 ? 0.25 : ratio > 1.02 ? 0.5 : 1.0;
        double length = products / square;
        double coefficient = 4.0 * (0.125 * speed) / length;
        keep = 1.0 + coefficient * length;
        take = -coefficient;
    }
    put(factors, 0, 0, (float)keep);
    put(factors, 0, 1, (float)take);
}

// By one thread.
KERNEL root_of_ratio(Mat dst, const double* sums) {
    put(dst, 0, 0, sums[0] == 0.0 ? 1.0f : (float)sqrt(sums[0] / sums[1]));
}

KERNEL scale_by(Mat dst, float times, Mat element) {
    float factor = times * at(element, 0, 0);
    FILL(dst, r, c, factor == 0.0f ? 0.0f : at(dst, r, c) * factor)
}

KERNEL add_by(Mat dst, float times, Mat element, Mat src) {
    float alpha = times * at(element, 0, 0);
    if (alpha == 0.0f) return;
    FILL(dst, r, c, at(dst, r, c) + alpha * at(src, r, c))
}
