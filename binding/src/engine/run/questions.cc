#include "engine/run/questions.h"

#include <cstring>

#include "engine/base/report.h"

namespace fastcp {

using platform::Listed;

size_t Question::size() const {
  size_t result = sizeof(*this) + records.size() + kinds.size();
  for (const Extra& extra : extras) result += sizeof(extra) + extra.name.size();
  return result;
}

bool Questions::add(Question question) {
  const size_t size = question.size();
  tasks_.question_begins();
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(question));
  bytes_ += size;
  return waiting_.size() == 1;
}

bool Questions::any_waiting() {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

std::string Questions::take(size_t limit, bool extras_go) {
  std::string result;
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty() && result.size() < limit) {
    Question question = std::move(waiting_.back());
    waiting_.pop_back();
    pose_locked(std::move(question), extras_go, result);
  }
  return result;
}

std::string Questions::take_entry() {
  std::string result;
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return result;
  Question& all = waiting_.back();
  const char* record = all.records.data() + all.posed;
  const Listed entry = platform::parse_listing(record);
  Question one{all.directory.again(), all.scope, std::string(record, entry.size),
               all.kinds.substr(all.posed_kinds++, 1)};
  bytes_ += one.size();
  all.posed += entry.size;
  if (all.posed == all.records.size()) {
    bytes_ -= all.size();
    waiting_.pop_back();  // `one` has a use of the directory, so this was not the last
  } else {
    tasks_.question_begins();
  }
  pose_locked(std::move(one), false, result);
  return result;
}

void Questions::pose_locked(Question question, bool extras_go, std::string& out) {
  std::string names;
  for (size_t at = 0; at < question.records.size();) {
    const Listed entry = platform::parse_listing(question.records.data() + at);
    at += entry.size;
    names.append(entry.name, std::strlen(entry.name) + 1);
  }
  std::string kinds = question.kinds;
  for (const Extra& extra : question.extras) {
    if (extras_go) break;
    names.append(extra.name.c_str(), extra.name.size() + 1);
    kinds += static_cast<char>(static_cast<uint8_t>(extra.kind) | kExtraBit);
  }
  append_number(out, ++last_id_);
  append_number(out, question.scope);
  append_number(out, static_cast<uint32_t>(kinds.size()));
  append_number(out, static_cast<uint32_t>(names.size()));
  out += kinds;
  out += names;
  asked_.emplace(last_id_, std::move(question));
}

bool Questions::remove(uint32_t id, Question& out) {
  const std::lock_guard lock(mutex_);
  const auto found = asked_.find(id);
  if (found == asked_.end()) return false;
  out = std::move(found->second);
  asked_.erase(found);
  bytes_ -= out.size();
  return true;
}

void Questions::clear() {
  // Destroyed after the lock is released, because the end of a directory's last use takes other
  // locks.
  std::vector<Question> waiting;
  std::unordered_map<uint32_t, Question> asked;
  const std::lock_guard lock(mutex_);
  waiting.swap(waiting_);
  asked.swap(asked_);
  bytes_ = 0;
  for (size_t left = waiting.size() + asked.size(); left > 0; left--) tasks_.question_ends();
}

}  // namespace fastcp
