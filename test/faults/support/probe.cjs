// Preloaded by Node: says at the end how many threads there are and what is open.
const fs = require('node:fs');
process.on('exit', () => {
  const open = fs.readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return [fs.readlinkSync(`/proc/self/fd/${name}`)];
    } catch {
      return []; // the listing's own
    }
  });
  const threads = fs.readdirSync('/proc/self/task').length;
  fs.writeFileSync(process.env.PROBE, JSON.stringify({ open, threads }));
});
