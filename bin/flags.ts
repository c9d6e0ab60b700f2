import { nameAs } from '../lib/errors/arguments.js';
import { type Spelling, table } from '../lib/request/table.js';

const paths: Record<string, string | undefined> = { src: 'SRC', dest: 'DEST' };

/** Lets the library's messages name options as flags: `options.include[0]` is `--include`, and `src` is SRC. */
export function speakInFlags(): void {
  nameAs((name, value) => {
    const plain = name.replace(/^options\.|\[\d+\]$/g, '');
    const { cli } = (table as Record<string, { cli?: Spelling }>)[plain] ?? {};
    const [flag] = /--[\w-]+/.exec(cli?.flags ?? '') ?? [];
    if (flag === undefined) return paths[plain] ?? plain;
    if (typeof value !== 'string') return flag;
    return `${flag}=${/^[\w-]+$/.test(value) ? value : `'${value}'`}`;
  });
}
