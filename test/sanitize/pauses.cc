// Makes threads wait for a random moment before a lock of the addon, and after it, so that other threads come in
// between where they rarely do. The linker puts these functions around the addon's locks and no others; a grant
// of a slot lies between two of them. FASTCP_PAUSES=N pauses at one place of N, FASTCP_SEED at other places.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

extern "C" {
int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex);
}

namespace {

uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

uint64_t first_state() {
  static std::atomic<uint64_t> threads{0};
  return (number_of("FASTCP_SEED", 1) + 1) * 0x9e3779b97f4a7c15 + threads++ * 0xd1342543de82ef95;
}

void pause_sometimes() {
  thread_local uint64_t state = first_state();
  state = state * 6364136223846793005 + 1442695040888963407;
  const uint64_t number = state >> 40;
  static const uint64_t one_in = number_of("FASTCP_PAUSES", 0);
  constexpr uint64_t kMost = 2000;  // microseconds
  if (one_in == 0 || number % one_in != 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(number / one_in % kMost));
}

}  // namespace

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  pause_sometimes();
  return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  const int error = __real_pthread_mutex_unlock(mutex);
  pause_sometimes();
  return error;
}
