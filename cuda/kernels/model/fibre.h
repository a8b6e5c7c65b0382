// The scheduler behind model.h.
#pragma once
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>

#include <ucontext.h>
#include <vector>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#include "model.h"

namespace model {

struct Gate { // a barrier or a warp vote
  uint32_t waiting = 0, generation = 0;
  bool any = false, result = false;
};

struct Store {
  void *to;
  uint32_t words[4];
};

struct Block {
  std::map<uint32_t, std::vector<Store>> pending; // by warp
  std::vector<uint64_t> shared;
  std::map<uint32_t, Gate> gates; // barriers by id, votes by 1000 + warp
};

struct Fibre {
  ucontext_t context; // for the first entry; jumps after it need no system call
  jmp_buf jump;
  bool entered = false;
  Index index;
  std::shared_ptr<Block> block;
  std::function<void()> body;
  std::vector<char> stack;
};

inline Fibre *current;
inline jmp_buf scheduler;
inline uint64_t clock;

inline const Index &index() { return current->index; }
inline void yield() {
  if (!_setjmp(current->jump)) _longjmp(scheduler, 1);
}
inline void resume(Fibre *f) {
  current = f;
  if (_setjmp(scheduler)) return;
  if (f->entered) _longjmp(f->jump, 1);
  f->entered = true;
  setcontext(&f->context);
}
inline uint64_t now() { return clock; }
inline void *sharedMemory(uint64_t bytes) {
  auto &m = current->block->shared;
  if (m.empty()) m.assign(bytes / 8 + 1, 0xabababababababab);
  return m.data();
}
inline bool pass(uint32_t id, uint32_t threads, bool v) {
  Gate &g = current->block->gates[id];
  uint32_t mine = g.generation;
  g.any |= v;
  if (++g.waiting == threads) {
    g.result = g.any;
    g.waiting = 0, g.any = false, g.generation++;
  } else {
    while (g.generation == mine) yield();
  }
  return g.result;
}
inline void barrier(uint32_t id, uint32_t threads) { pass(id, threads, false); }
inline bool vote(bool v) { return pass(1000 + current->index.thread / 32, 32, v); }

// A warp stores as one: what lanes store becomes visible when all have stored
// the same number of times.
inline void storeByWarp(void *p, const uint32_t *w) {
  constexpr size_t lanes = 32, each = 4;
  auto &list = current->block->pending[current->index.thread / 32];
  Store s = {p, {w[0], w[1], w[2], w[3]}};
  list.push_back(s);
  if (list.size() < lanes * each) return;
  for (Store &x : list) memcpy(x.to, x.words, 16);
  list.clear();
}

inline void enter() {
  current->body();
  current->body = nullptr;
  _longjmp(scheduler, 1);
}

// Grid collects launches that run side by side.
class Grid {
  std::vector<std::unique_ptr<Fibre>> fibres;

public:
  template <class F> void launch(uint32_t blocks, uint32_t threads, F body) {
    for (uint32_t b = 0; b < blocks; b++) {
      auto block = std::make_shared<Block>();
      for (uint32_t t = 0; t < threads; t++) {
        auto f = std::make_unique<Fibre>();
        f->index = {t, b, threads, blocks};
        f->block = block;
        f->body = body;
        f->stack.resize(32768);
        getcontext(&f->context);
        f->context.uc_stack.ss_sp = f->stack.data();
        f->context.uc_stack.ss_size = f->stack.size();
        f->context.uc_link = nullptr;
        makecontext(&f->context, enter, 0);
        fibres.push_back(std::move(f));
      }
    }
  }
  // run lets fibres take turns in an order drawn from seed, until all are done.
  void run(uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!fibres.empty()) {
      for (size_t i = fibres.size(); i > 0; i--) {
        size_t k = random() % fibres.size();
        clock++;
        resume(fibres[k].get());
        if (!current->body) {
          std::swap(fibres[k], fibres.back());
          fibres.pop_back();
          if (fibres.empty()) return;
        }
      }
    }
  }
};
} // namespace model
