// One bug of each kind, for scripts/sanitize.mjs to be sure that it would find others. The linker puts work()
// around Engine::work(), so they are made where the engine works: on threads of libuv's pool, in a copy.

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace {

/** Not seen through by a compiler that would rather leave the bug out. */
volatile int one = 1;
int* volatile kept = nullptr;
int shared = 0;
std::atomic<int> working{0};
std::atomic<int> patience{10'000};  // ms that all of them wait together until two have met

void plant(std::string_view bug) {
  if (bug == "heap-buffer-overflow") {
    kept = new int[4];
    kept[3 + one] = one;
    delete[] kept;
  } else if (bug == "heap-use-after-free") {
    kept = new int[4];
    delete[] kept;
    one = kept[one];
  } else if (bug == "signed-integer-overflow") {
    one = INT_MAX + one;
  } else if (bug == "leak") {
    kept = new int[4];
    kept = nullptr;
  } else if (bug == "data-race") {
    // At the same time as somebody else, who must not be told: one after the other it is none.
    working.fetch_add(1, std::memory_order_relaxed);
    while (working.load(std::memory_order_relaxed) < 2 &&
           patience.fetch_sub(1, std::memory_order_relaxed) > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    patience.store(0, std::memory_order_relaxed);
    shared += one;
    working.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace

void really_work(void* engine, void* host) asm("__real__ZN6fastcp6Engine4workERNS_4HostE");
void work(void* engine, void* host) asm("__wrap__ZN6fastcp6Engine4workERNS_4HostE");

void work(void* engine, void* host) {
  const char* bug = std::getenv("FASTCP_PLANTED");
  plant(bug != nullptr ? bug : "");
  really_work(engine, host);
}
