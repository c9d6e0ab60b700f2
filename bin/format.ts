const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

// Control characters, and those that reorder or break a line. A name must not steer a terminal.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const SHORT: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

export function escapeControls(text: string): string {
  return text.replace(UNSAFE, (char) => SHORT[char] ?? unicodeEscape(char));
}

/** Returns a name unchanged if that is safe. Otherwise quotes it in a form that a shell accepts: `$'a\nb'`. */
export function quoteName(name: string): string {
  if (name.search(UNSAFE) === -1) return name;
  return `$'${escapeControls(name.replace(/[\\']/g, '\\$&'))}'`;
}

/** Also escapes DEL and the upper control characters, which JSON does not. */
export function toJsonLine(value: object): string {
  return JSON.stringify(value).replace(UNSAFE, unicodeEscape);
}

/** Returns for example `1,234`. Intl takes 15 ms to load. */
export function number(value: number): string {
  return value.toFixed(0).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** Returns for example `1 file` or `1,234 files`. */
export function count(value: number, noun: string, plural = `${noun}s`): string {
  return `${number(value)} ${value === 1 ? noun : plural}`;
}

/** Returns three digits with a decimal unit, such as `1.33 GB`. */
export function bytes(value: number): string {
  let unit = 0;
  // 999.5 would be rounded to 1000.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${value === 1 && unit === 0 ? 'byte' : UNITS[unit]}`;
}

/** Returns for example `45 ms`, `2.9 s`, `3:05 min` or `1:02:03 h`. */
export function duration(ms: number): string {
  if (ms < 999.5) return `${ms.toFixed(0)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  return `${clock(ms)} ${ms < 3_600_000 ? 'min' : 'h'}`;
}

/** Returns for example `0:02` or `1:02:03`. */
export function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60];
  if (seconds >= 3600) parts.unshift(Math.floor(seconds / 3600));
  return parts.map((part, index) => (index === 0 ? part : String(part).padStart(2, '0'))).join(':');
}

/** Returns a rate. Uses at least a millisecond, so that nothing is divided by zero. */
export function perSecond(value: number, ms: number): number {
  return (value * 1000) / Math.max(ms, 1);
}

function unicodeEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
