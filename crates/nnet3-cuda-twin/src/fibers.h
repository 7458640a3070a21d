// The threads of a block that work together: one stack each, switched at barriers.
#include <setjmp.h>
#include <ucontext.h>

enum State { READY, AT_WARP, WAITING, DONE };

struct Fiber {
    ucontext_t entry;
    jmp_buf place;
    bool entered;
    State state;
    Dim thread;
    void (*work)(void**);
    void** args;
    char* stack;
    // What threads of a warp give each other. They take turns with two places: who gives the next value has got this one.
    double given[2];
    int turn;
};

static const size_t STACK = 128 * 1024;

static const unsigned int MOST_THREADS = 1024, WARP = 32;

struct Team {
    Fiber fibers[MOST_THREADS];
    // Of all fibers, one after the other; pages that nobody uses cost nothing.
    char* stacks;
    jmp_buf scheduler;
    Fiber* current;
};

// Goes on with another thread of the block; comes back when all have come to a barrier.
UNSEEN static void leave(State state) {
    races_pause();
    Fiber* fiber = now.team->current;
    fiber->state = state;
    if (_setjmp(fiber->place) == 0) _longjmp(now.team->scheduler, 1);
}

UNSEEN static void fiber_main() {
    for (;;) {
        Fiber* fiber = now.team->current;
        fiber->work(fiber->args);
        leave(DONE);
    }
}

UNSEEN static void prepare(Fiber* fiber) {
    fiber->stack = now.team->stacks + (fiber - now.team->fibers) * STACK;
    getcontext(&fiber->entry);
    fiber->entry.uc_stack.ss_sp = fiber->stack;
    fiber->entry.uc_stack.ss_size = STACK;
    fiber->entry.uc_link = nullptr;
    makecontext(&fiber->entry, fiber_main, 0);
}

UNSEEN static void resume(Fiber* fiber) {
    now.team->current = fiber;
    threadIdx = fiber->thread;
    if (_setjmp(now.team->scheduler) != 0) return;
    races_thread(blockIdx.y * gridDim.x + blockIdx.x, fiber - now.team->fibers);
    if (fiber->entered) _longjmp(fiber->place, 1);
    fiber->entered = true;
    setcontext(&fiber->entry);
    abort();
}

UNSEEN static void wait_for_all() {
    if (now.team == nullptr || now.team->current == nullptr) {
        fprintf(stderr, "twin: kernel %s has a barrier but no shared memory\n", now.kernel);
        abort();
    }
    leave(WAITING);
}

UNSEEN static double exchange(double value, int bits) {
    if (now.team == nullptr || now.team->current == nullptr) {
        fprintf(stderr, "twin: kernel %s exchanges values but has no shared memory\n", now.kernel);
        abort();
    }
    Fiber* fiber = now.team->current;
    int turn = fiber->turn;
    fiber->turn = 1 - turn;
    fiber->given[turn] = value;
    leave(AT_WARP);
    return now.team->fibers[(fiber - now.team->fibers) ^ bits].given[turn];
}

static void make_team() {
    if (now.team != nullptr) return;
    now.team = (Team*)calloc(1, sizeof(Team));
    now.team->stacks = (char*)malloc(MOST_THREADS * STACK);
}

// The threads of a warp up to the next barrier. Returns how many have ended.
static unsigned int run_warp(unsigned int warp, unsigned int count, int backwards) {
    unsigned int first = warp * WARP, size = count - first < WARP ? count - first : WARP;
    for (;;) {
        unsigned int done = 0, exchanging = 0;
        for (unsigned int k = 0; k < size; k++) {
            Fiber* fiber = &now.team->fibers[first + (backwards ? size - 1 - k : k)];
            resume(fiber);
            done += fiber->state == DONE;
            exchanging += fiber->state == AT_WARP;
        }
        if (exchanging == 0) return done;
        if (exchanging != WARP) {
            fprintf(stderr, "twin: kernel %s: %u of the %u threads of a warp exchange values\n", now.kernel, exchanging, WARP);
            abort();
        }
    }
}

// All threads of one block. If some end while others wait at a barrier, a GPU might hang: a defect.
static void run_together(void (*work)(void**), void** args, int backwards) {
    unsigned int count = blockDim.x * blockDim.y;
    for (unsigned int k = 0; k < count; k++) {
        Fiber* fiber = &now.team->fibers[k];
        if (fiber->stack == nullptr) prepare(fiber);
        fiber->state = READY;
        fiber->thread = Dim{k % blockDim.x, k / blockDim.x, 0};
        fiber->work = work;
        fiber->args = args;
        fiber->turn = 0;
    }
    unsigned int warps = (count + WARP - 1) / WARP;
    for (;;) {
        unsigned int done = 0;
        races_interval();
        for (unsigned int k = 0; k < warps; k++) done += run_warp(backwards ? warps - 1 - k : k, count, backwards);
        if (done == count) break;
        if (done != 0) {
            fprintf(stderr, "twin: kernel %s: %u of %u threads ended before a barrier\n", now.kernel, done, count);
            abort();
        }
    }
    now.team->current = nullptr;
}
