import { describe, expect, test } from 'vitest';
import { contenders } from '../../bench/contenders.js';
import { listRows, planRows, type Selection } from '../../bench/plan.js';
import { fastestPeer, workloads } from '../../bench/workloads.js';

const rows = planRows({});

describe('all rows', () => {
  test('no row is there twice', () => {
    const ids = rows.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('--list names each, with its contenders', () => {
    const lines = listRows(rows).split('\n');
    expect(lines).toHaveLength(rows.length);
    for (const [index, row] of rows.entries()) {
      const names = row.contenders.map(({ name }) => name).join(' ');
      expect(lines[index]).toMatch(new RegExp(`^${row.id} +${row.rounds} x ${names}$`));
    }
  });

  test('every contender is in one', () => {
    const used = new Set(workloads.flatMap((workload) => workload.contenders));
    expect([...used].sort()).toEqual(contenders.map(({ name }) => name).sort());
  });

  test.each(workloads)('$name on $fileSystems compares with whom it names', (workload) => {
    expect(workload.contenders).toContain(workload.subject);
    for (const target of workload.targets) {
      const needed = {
        faster: 'than' in target && target.than !== fastestPeer ? [target.than] : [],
        cpu: ['node', 'floor'],
        start: ['node'],
        memory: [],
        duration: ['fastcp-library'],
        'per file': ['node'],
      }[target.kind];
      expect(workload.contenders).toEqual(expect.arrayContaining(needed));
      if ('row' in target) expect(rows.map(({ id }) => id)).toContain(target.row);
    }
  });
});

describe('selection', () => {
  const idsOf = (selection: Selection) => planRows(selection).map(({ id }) => id);

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

  test('a contender is compared with ours, and with what Node takes to start', () => {
    const [row] = planRows({ only: ['corpus/tmpfs', 'cpz'] });
    expect(row?.contenders.map(({ name }) => name)).toEqual(['fastcp', 'node', 'cpz']);
    expect(row?.partial).toBe(true);
  });

  test('rounds', () => {
    expect(planRows({ only: ['wide/xfs'], rounds: 2 })[0]).toMatchObject({
      rounds: 2,
      partial: false,
    });
  });

  test('a pattern that matches nothing is named', () => {
    expect(() => planRows({ only: ['tmpfs', 'nothing'] })).toThrow(/'nothing'/);
  });
});

function coldExt4(): string[] {
  return rows.map(({ id }) => id).filter((id) => /^(corpus|corpus-cold|.*-cold)\/ext4$/.test(id));
}
