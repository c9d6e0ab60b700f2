// Preloaded by Node: says at the end how many threads the addon has, and what is open.
const fs = require('node:fs');
process.on('exit', () => {
  const addon = Object.keys(require.cache).find((path) => path.endsWith('fastcp.node'));
  const { threads } = addon ? require.cache[addon].exports : { threads: () => 0 };
  // Those without work end after a moment.
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let wait = 0; threads() > 0 && wait < 100; wait++) Atomics.wait(cell, 0, 0, 10);
  const open = fs.readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return [fs.readlinkSync(`/proc/self/fd/${name}`)];
    } catch {
      return []; // the listing's own
    }
  });
  fs.writeFileSync(process.env.PROBE, JSON.stringify({ open, threads: threads() }));
});
