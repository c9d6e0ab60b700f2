/** Checks the values of single options. */

import { invalidType, invalidValue, outOfRange } from '../errors/arguments.js';
import { ownSignal } from '../io/abort.js';
import type { CopyOptions, PreserveKind } from '../types.js';
import type { Checked, Request } from './request.js';
import { type Choice, type Flag, table } from './table.js';

/** Checks every flag and choice of the table. */
export function checkAll(options: CopyOptions): Checked {
  const checked: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(table)) {
    const value = (options as Record<string, unknown>)[name];
    if (spec.type === 'flag') checked[name] = checkFlag(value, name, spec);
    if (spec.type === 'choice') checked[name] = checkChoice(value, name, spec);
  }
  return checked as unknown as Checked;
}

function checkFlag(value: unknown, name: string, spec: Flag): boolean {
  if (value === undefined) return spec.default;
  if (typeof value !== 'boolean') throw invalidType(`options.${name}`, 'a boolean', value);
  return value;
}

function checkChoice(value: unknown, name: string, spec: Choice<string>): string | undefined {
  if (value === undefined) return spec.default;
  if (typeof value !== 'string') throw invalidType(`options.${name}`, 'a string', value);
  if (spec.choices.includes(value)) return value;
  throw invalidValue(`options.${name}`, `one of ${quoted(spec.choices)}`, value);
}

export function checkAtomic(value: unknown): Request['atomic'] {
  if (value === undefined) return false;
  if (typeof value === 'boolean' || value === 'two-step') return value;
  const expected = "a boolean or 'two-step'";
  if (typeof value !== 'string') throw invalidType('options.atomic', expected, value);
  throw invalidValue('options.atomic', expected, value);
}

const preserveKinds: readonly PreserveKind[] = [
  'mode',
  'timestamps',
  'ownership',
  'xattrs',
  'hardLinks',
];

export function withTimes(preserve: readonly PreserveKind[]): readonly PreserveKind[] {
  return preserve.includes('timestamps') ? preserve : [...preserve, 'timestamps'];
}

/** Returns the part of the request that `options.preserve` alone decides. */
export function preserved(value: unknown): Pick<Request, 'preserve' | 'existingDirectories'> {
  if (value === undefined) return { preserve: ['mode'], existingDirectories: false };
  if (value === true) return { preserve: preserveKinds, existingDirectories: true };
  if (value === false) return { preserve: [], existingDirectories: false };
  if (!Array.isArray(value)) {
    throw invalidType('options.preserve', 'a boolean or an array of strings', value);
  }
  const preserve = value.map((one: unknown, index) => {
    const name = `options.preserve[${index}]`;
    if (typeof one !== 'string') throw invalidType(name, 'a string', one);
    const kind = preserveKinds.find((known) => known === one);
    if (kind) return kind;
    throw invalidValue(name, `one of ${quoted(preserveKinds)}`, one);
  });
  return { preserve, existingDirectories: true };
}

export function checkShard(value: unknown): Pick<Request, 'shard' | 'shards'> {
  if (value === undefined) return { shard: 0, shards: 0 };
  if (typeof value !== 'string') throw invalidType('options.shard', 'a string', value);
  const [, part, parts] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(value) ?? [];
  if (Number(part) <= Number(parts)) return { shard: Number(part) - 1, shards: Number(parts) };
  throw invalidValue('options.shard', "'i/n' with i from 1 to n, at most 999999", value);
}

const quoted = (list: readonly string[]): string => list.map((one) => `'${one}'`).join(', ');

export function checkConcurrency(value: unknown): number {
  const most = 1024;
  if (value === undefined) return most;
  if (typeof value !== 'number') throw invalidType('options.concurrency', 'a number', value);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw outOfRange('options.concurrency', `an integer from 1 to ${most}`, value);
}

export function checkSeconds(value: unknown): number {
  if (value === undefined) return 600;
  if (typeof value !== 'number') throw invalidType('options.lockTimeout', 'a number', value);
  if (value >= 0) return value;
  throw outOfRange('options.lockTimeout', 'a number of seconds, at least 0', value);
}

/** A string stands for a list of one. Null is not a list. */
export function listOf(value: unknown): unknown {
  if (typeof value === 'string') return [value];
  return value === undefined ? [] : value;
}

export function checkFunction<T>(value: T, name: string): T {
  if (value === undefined || typeof value === 'function') return value;
  throw invalidType(`options.${name}`, 'a function', value);
}

export function checkSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined) return undefined;
  const signal = value as AbortSignal | null;
  if (typeof signal?.aborted !== 'boolean' || typeof signal.addEventListener !== 'function')
    throw invalidType('options.signal', 'an AbortSignal', value);
  return ownSignal(signal);
}
