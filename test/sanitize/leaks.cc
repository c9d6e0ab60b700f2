// An addon that looks for leaks now: check(). A process that is killed, as the test runner's are, does not do
// so at its end.

#include <node_api.h>
#include <sanitizer/lsan_interface.h>

namespace {

napi_value check(napi_env, napi_callback_info) {
  __lsan_do_recoverable_leak_check();
  return nullptr;
}

napi_value init(napi_env env, napi_value exports) {
  napi_value function = nullptr;
  if (napi_create_function(env, "check", NAPI_AUTO_LENGTH, check, nullptr, &function) == napi_ok) {
    napi_set_named_property(env, exports, "check", function);
  }
  return exports;
}

}  // namespace

NAPI_MODULE(leaks, init)
