// Kernels with and without races, to see that the detector tells them apart.

static void faulty_neighbour(double* out, i32 barriers) {
    __shared__ double shared[BLOCK];
    shared[threadIdx.x] = threadIdx.x;
    if (barriers > 0) __syncthreads();
    double next = shared[(threadIdx.x + 1) % blockDim.x];
    if (barriers > 1) __syncthreads();
    shared[threadIdx.x] = next;
    out[blockIdx.x * blockDim.x + threadIdx.x] = next;
}

static void faulty_total(double* out, i32 all_blocks) {
    __shared__ double shared[BLOCK];
    shared[threadIdx.x] = 1.0;
    double sum = sum_along_x(shared, shared[threadIdx.x]);
    if (threadIdx.x == 0) out[all_blocks ? 0 : blockIdx.x] += sum;
}

static void faulty_unwritten(double* out, i32 from) {
    __shared__ double shared[BLOCK];
    if (threadIdx.x < 4) shared[threadIdx.x] = 1.0;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = shared[from];
}

// The races of faulty kernel number `which`, 0 to 2, with this argument, on two blocks of eight threads.
extern "C" int twin_races(int which, int argument) {
    static const Kernel FAULTY[] = {
        entry<faulty_neighbour>("faulty_neighbour", true),
        entry<faulty_total>("faulty_total", true),
        entry<faulty_unwritten>("faulty_unwritten", true),
    };
    double out[16] = {};
    double* to = out;
    i32 number = argument;
    void* args[] = {&to, &number};
    const unsigned int grid[] = {2, 1}, block[] = {8, 1};
    races_count(1);
    run_kernel(FAULTY[which], grid, block, args, 0);
    int found = races_found();
    races_count(0);
    return found;
}
