// Softmax and its logarithm, row by row, and their derivatives: blockDim.x threads share a row, blockDim.y rows share a
// block. The logarithm for rows up to NARROW wide is as exact as float allows, with terms added in their order, as on the CPU:
// some networks amplify a last digit.

#define NARROW 64
// The largest float; twice that is infinity.
#define LARGEST 3.402823466e38f

// A thread for each row.
KERNEL narrow_log_softmax(Mat dst, Mat src) {
    for (i32 r = blockIdx.x * blockDim.x + threadIdx.x; r < src.rows; r += gridDim.x * blockDim.x) {
        float max = -LARGEST - LARGEST;
        for (i32 c = 0; c < src.cols; c++) max = fmaxf(max, at(src, r, c));
        float sum = 0.0f;
        for (i32 c = 0; c < src.cols; c++) sum += (float)exp((double)(at(src, r, c) - max));
        float shift = (float)log((double)sum);
        for (i32 c = 0; c < src.cols; c++) put(dst, r, c, (at(src, r, c) - max) - shift);
    }
}

KERNEL softmax(Mat dst, Mat src, i32 take_log) {
    __shared__ double shared[BLOCK];
    __shared__ float shared_max[BLOCK];
    for (i32 top = blockIdx.x * blockDim.y; top < src.rows; top += gridDim.x * blockDim.y) {
        i32 r = top + threadIdx.y;
        bool inside = r < src.rows;
        float max = -LARGEST - LARGEST;
        if (inside) {
            for (i32 c = threadIdx.x; c < src.cols; c += blockDim.x) max = fmaxf(max, at(src, r, c));
        }
        max = max_along_x(shared_max, max);
        double sum = 0.0;
        if (inside) {
            for (i32 c = threadIdx.x; c < src.cols; c += blockDim.x) sum += expf(at(src, r, c) - max);
        }
        sum = sum_along_x(shared, sum);
        if (!inside) continue;
        float shift = (float)log(sum);
        float total = (float)sum;
        for (i32 c = threadIdx.x; c < src.cols; c += blockDim.x) {
            float x = at(src, r, c) - max;
            put(dst, r, c, take_log ? x - shift : expf(x) / total);
        }
    }
}

// dst = y (e - sum of y e), or with take_log e - exp(y) * (sum of e).
KERNEL softmax_backward(Mat dst, Mat out_value, Mat out_deriv, i32 take_log) {
    __shared__ double shared[BLOCK];
    for (i32 top = blockIdx.x * blockDim.y; top < dst.rows; top += gridDim.x * blockDim.y) {
        i32 r = top + threadIdx.y;
        bool inside = r < dst.rows;
        double partial = 0.0;
        if (inside) {
            for (i32 c = threadIdx.x; c < dst.cols; c += blockDim.x) {
                double e = at(out_deriv, r, c);
                partial += take_log ? e : e * (double)at(out_value, r, c);
            }
        }
        float sum = (float)sum_along_x(shared, partial);
        if (!inside) continue;
        for (i32 c = threadIdx.x; c < dst.cols; c += blockDim.x) {
            float y = at(out_value, r, c);
            float e = at(out_deriv, r, c);
            put(dst, r, c, take_log ? e - (dst.cols <= NARROW ? (float)exp((double)y) : expf(y)) * sum : y * (e - sum));
        }
    }
}
