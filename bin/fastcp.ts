#!/usr/bin/env node
import { CommanderError } from 'commander';
import { parseArgs } from './args.js';
import { readArguments } from './arguments.js';
import { ignoreBrokenPipes, trouble } from './output.js';
import { sizePool } from './pool.js';

sizePool();
ignoreBrokenPipes();
main().then(
  // Not process.exit(), because output may still be waiting.
  (exitCode) => {
    process.exitCode ||= exitCode;
  },
  (error: Error) => {
    process.stderr.write(`fastcp: ${process.env.FASTCP_DEBUG ? error.stack : error.message}\n`);
    process.exitCode = trouble.exitCode;
  },
);

/** Returns 0 if done, 1 if something failed, 2 for wrong usage, and 128 + n after signal n. */
async function main(): Promise<number> {
  try {
    const argv = readArguments();
    const invocation = parseArgs(argv);
    if (invocation === 'doctor') {
      const { runDoctor } = await import('./doctor.js');
      return await runDoctor(argv);
    }
    if (invocation.compare) trouble.exitCode = 2;
    // Loaded late, together with the addon: help and usage errors do not need them.
    const { run } = await import('./run.js');
    return await run(invocation);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}
