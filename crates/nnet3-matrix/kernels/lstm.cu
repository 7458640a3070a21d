// The nonlinear part of an LSTM cell with peepholes. `input` has parts i, f, g, o and the previous c, then optionally
// three dropout factors a row, for i, f, o; `params` has the peephole weights of i, f, o in its rows.

struct Cell {
    float i, f, g, o, h;
    // The new cell and the previous one.
    float c, previous;
    float keep_i, keep_f, keep_o;
};

__device__ inline Cell cell_at(Mat input, Mat params, i32 r, i32 k) {
    i32 cells = params.cols;
    bool masked = input.cols > 5 * cells;
    Cell v;
    v.keep_i = masked ? at(input, r, 5 * cells) : 1.0f;
    v.keep_f = masked ? at(input, r, 5 * cells + 1) : 1.0f;
    v.keep_o = masked ? at(input, r, 5 * cells + 2) : 1.0f;
    v.previous = at(input, r, 4 * cells + k);
    v.i = sigmoid_of(at(input, r, k) + at(params, 0, k) * v.previous);
    v.f = sigmoid_of(at(input, r, cells + k) + at(params, 1, k) * v.previous);
    v.g = tanhf(at(input, r, 2 * cells + k));
    v.c = v.f * v.keep_f * v.previous + v.i * v.keep_i * v.g;
    v.o = sigmoid_of(at(input, r, 3 * cells + k) + at(params, 2, k) * v.c);
    v.h = tanhf(v.c);
    return v;
}

KERNEL lstm_cell(Mat output, Mat input, Mat params) {
    // Only for its shape: rows of the input, a column for each cell.
    Mat half = output;
    half.cols = params.cols;
    FOR_EACH(half, r, k) {
        Cell v = cell_at(input, params, r, k);
        put(output, r, k, v.c);
        put(output, r, params.cols + k, v.o * v.keep_o * v.h);
    }
}

// Sums that the backward pass forms over rows: of three peephole weights' derivatives, of the five nonlinearities' values
// and of their derivatives.
#define SUMS 13

// Block (x, y) takes the rows from y * height on, for blockDim.x cells. `in_deriv` may be empty; partials is
// SUMS x gridDim.y x cells.
KERNEL lstm_cell_backward(Mat input, Mat params, Mat out_deriv, Mat self_repair, Mat in_deriv, double* partials,
                          i32 height) {
    __shared__ double shared[BLOCK];
    i32 cells = params.cols;
    i32 k = blockIdx.x * blockDim.x + threadIdx.x;
    i32 top = blockIdx.y * height;
    i32 bottom = top + height < input.rows ? top + height : input.rows;
    double sums[SUMS];
    for (i32 s = 0; s < SUMS; s++) sums[s] = 0.0;
    if (k < cells) {
        float w_i = at(params, 0, k), w_f = at(params, 1, k), w_o = at(params, 2, k);
        float repair_i = at(self_repair, 0, k), repair_f = at(self_repair, 1, k), repair_g = at(self_repair, 2, k);
        float repair_o = at(self_repair, 3, k), repair_h = at(self_repair, 4, k);
        for (i32 r = top + threadIdx.y; r < bottom; r += blockDim.y) {
            Cell v = cell_at(input, params, r, k);
            float c_deriv = at(out_deriv, r, k), m_deriv = at(out_deriv, r, cells + k);
            float dh = v.o * v.keep_o * m_deriv;
            float d_o = v.o * (1.0f - v.o) * (v.keep_o * v.h * m_deriv) - (2.0f * v.o - 1.0f) * repair_o;
            float dc = (1.0f - v.h * v.h) * dh + c_deriv + w_o * d_o - v.h * repair_h;
            float d_f = v.f * (1.0f - v.f) * (dc * v.keep_f * v.previous) - (2.0f * v.f - 1.0f) * repair_f;
            float d_i = v.i * (1.0f - v.i) * (dc * v.keep_i * v.g) - (2.0f * v.i - 1.0f) * repair_i;
            if (in_deriv.rows > 0) {
                put(in_deriv, r, k, d_i);
                put(in_deriv, r, cells + k, d_f);
                put(in_deriv, r, 2 * cells + k, (1.0f - v.g * v.g) * (v.i * v.keep_i * dc) - v.g * repair_g);
                put(in_deriv, r, 3 * cells + k, d_o);
                put(in_deriv, r, 4 * cells + k, w_i * d_i + w_f * d_f + v.f * v.keep_f * dc);
            }
            sums[0] += v.previous * d_i;
            sums[1] += v.previous * d_f;
            sums[2] += v.c * d_o;
            sums[3] += v.i;
            sums[4] += v.f;
            sums[5] += v.g;
            sums[6] += v.o;
            sums[7] += v.h;
            sums[8] += v.i * (1.0f - v.i);
            sums[9] += v.f * (1.0f - v.f);
            sums[10] += 1.0f - v.g * v.g;
            sums[11] += v.o * (1.0f - v.o);
            sums[12] += 1.0f - v.h * v.h;
        }
    }
    for (i32 s = 0; s < SUMS; s++) {
        double sum = sum_along_y(shared, sums[s]);
        if (k < cells && threadIdx.y == 0) partials[((i64)s * gridDim.y + blockIdx.y) * cells + k] = sum;
    }
}
