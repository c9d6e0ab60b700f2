import { describe, expect, test } from 'vitest';
import { listBenchmarks, orderOf, planBenchmarks, type Selection } from '../../bench/plan.js';
import { tools } from '../../bench/tools.js';
import { fastestPeer, workloads } from '../../bench/workloads.js';

const benchmarks = planBenchmarks({});

describe('all benchmarks', () => {
  test('no benchmark is there twice', () => {
    const ids = benchmarks.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('--list names each, with its tools', () => {
    const lines = listBenchmarks(benchmarks).split('\n');
    expect(lines).toHaveLength(benchmarks.length);
    for (const [index, benchmark] of benchmarks.entries()) {
      const names = benchmark.tools.map(({ name }) => name).join(' ');
      expect(lines[index]).toMatch(new RegExp(`^${benchmark.id} +${benchmark.rounds} x ${names}$`));
    }
  });

  test('every tool is in one', () => {
    const used = new Set(workloads.flatMap((workload) => workload.tools));
    expect([...used].sort()).toEqual(tools.map(({ name }) => name).sort());
  });

  test.each(workloads)('$name on $fileSystems compares with whom it names', (workload) => {
    expect(workload.tools).toContain(workload.subject);
    for (const target of workload.targets) {
      const needed = {
        faster: 'than' in target && target.than !== fastestPeer ? [target.than] : [],
        cpu: 'of' in target ? ['node', target.of] : [],
        start: ['node'],
        memory: [],
        duration: ['fastcp-library'],
        'per file': ['node'],
      }[target.kind];
      expect(workload.tools).toEqual(expect.arrayContaining(needed));
      if ('benchmark' in target) expect(benchmarks.map(({ id }) => id)).toContain(target.benchmark);
    }
  });
});

describe('selection', () => {
  const idsOf = (selection: Selection) => planBenchmarks(selection).map(({ id }) => id);

  test.each<[Selection, string[]]>([
    [{ only: ['wide'] }, ['wide/tmpfs', 'wide/ext4', 'wide/xfs']],
    [{ only: ['wide/xfs'] }, ['wide/xfs']],
    [{ only: ['wide', 'large', 'tmpfs'] }, ['wide/tmpfs', 'large/tmpfs']],
    [{ only: ['*-cold', 'ext4', 'corpus*'] }, coldExt4()],
    [{ only: ['cpy'] }, ['library-small/tmpfs', 'library-corpus/tmpfs']],
    [{ quick: true }, ['corpus/tmpfs', 'corpus/ext4']],
    [{ quick: true, only: ['ext4'] }, ['corpus/ext4']],
  ])('%j', (selection, expected) => {
    expect(idsOf(selection).sort()).toEqual(expected.sort());
  });

  test('a tool is compared with ours, and with what Node takes to start', () => {
    const [benchmark] = planBenchmarks({ only: ['corpus/tmpfs', 'cpz'] });
    expect(benchmark?.tools.map(({ name }) => name)).toEqual(['fastcp', 'node', 'cpz']);
    expect(benchmark?.partial).toBe(true);
  });

  test('rounds', () => {
    expect(planBenchmarks({ only: ['wide/xfs'], rounds: 2 })[0]).toMatchObject({
      rounds: 2,
      partial: false,
    });
  });

  test('a pattern that matches nothing is named', () => {
    expect(() => planBenchmarks({ only: ['tmpfs', 'nothing'] })).toThrow(/'nothing'/);
  });
});

function coldExt4(): string[] {
  return benchmarks
    .map(({ id }) => id)
    .filter((id) => /^(corpus|corpus-cold|.*-cold)\/ext4$/.test(id));
}

test('in the rounds no tool always comes first, or after the same one', () => {
  const tools = ['fastcp', 'a', 'b', 'c'];
  const orders = [...tools, ...tools].map((_, round) => orderOf(tools, round));
  expect(orderOf(['fastcp', 'a'], 1)).toEqual(orderOf(['fastcp', 'a'], 0).reverse());
  for (const order of orders) expect([...order].sort()).toEqual([...tools].sort());
  expect(orders[0]?.at(-1)).toBe('fastcp');
  expect(new Set(orders.map(([first]) => first)).size).toBeGreaterThan(2);
  for (const tool of tools) {
    const before = orders.map((order) => order[order.indexOf(tool) - 1]);
    expect(new Set(before).size, tool).toBeGreaterThan(1);
  }
});
