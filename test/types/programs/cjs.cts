// The same package as a CommonJS module.
import fastcp = require('fastcp');
import fs = require('fastcp/fs');

const options: fastcp.CopyOptions = { sync: true, signal: undefined, backup: undefined };
const job: fastcp.CopyJob = fastcp.copyTree('a', 'b', options);

async function main(): Promise<fastcp.CopyResult> {
  for await (const event of job) {
    if (event.type === 'warning') event.warning.code satisfies fastcp.WarningCode;
    if (event.type === 'error') event.error.code satisfies string;
    // @ts-expect-error only errors have it
    if (event.type === 'entry') event.error;
  }
  return job;
}

main().then(
  ({ methods }) => methods.clone,
  (error: unknown) => error instanceof fastcp.CopyError && error.code === 'ENOSPC',
);
fs.cpSync('a', 'b', { recursive: true });
fastcp.compareTrees('a', 'b', { filter: undefined });
// @ts-expect-error an option that there is not
fastcp.copyTree('a', 'b', { overwrite: true });
