// The threads of a block that work together: one stack each, switched at barriers.
#include <setjmp.h>
#include <ucontext.h>

enum State { READY, WAITING, DONE };

struct Fiber {
    ucontext_t entry;
    jmp_buf place;
    bool entered;
    State state;
    Dim thread;
    void (*work)(void**);
    void** args;
    char* stack;
};

static const size_t STACK = 128 * 1024;

static const unsigned int MOST_THREADS = 1024;

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

static void make_team() {
    if (now.team != nullptr) return;
    now.team = (Team*)calloc(1, sizeof(Team));
    now.team->stacks = (char*)malloc(MOST_THREADS * STACK);
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
    }
    for (;;) {
        unsigned int done = 0;
        races_interval();
        for (unsigned int k = 0; k < count; k++) {
            Fiber* fiber = &now.team->fibers[backwards ? count - 1 - k : k];
            resume(fiber);
            done += fiber->state == DONE;
        }
        if (done == count) break;
        if (done != 0) {
            fprintf(stderr, "twin: kernel %s: %u of %u threads ended before a barrier\n", now.kernel, done, count);
            abort();
        }
    }
    now.team->current = nullptr;
}
