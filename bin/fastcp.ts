#!/usr/bin/env node
import { CommanderError } from 'commander';
import { asksForDoctor, parseArgs } from './args.js';
import { readArguments } from './arguments.js';
import { ignoreBrokenPipes, trouble } from './output.js';
import { sizePool } from './pool.js';

sizePool();
ignoreBrokenPipes();
main().then(
  // Not process.exit(): output may still be on its way.
  (exitCode) => {
    process.exitCode ||= exitCode;
  },
  (error: Error) => {
    process.stderr.write(`fastcp: ${process.env.FASTCP_DEBUG ? error.stack : error.message}\n`);
    process.exitCode = trouble.exitCode;
  },
);

/** 0: done. 1: something failed. 2: wrong usage. 128 + n: interrupted by signal n. */
async function main(): Promise<number> {
  try {
    const argv = readArguments();
    if (asksForDoctor(argv)) {
      const { runDoctor } = await import('./doctor.js');
      return await runDoctor(argv);
    }
    const invocation = parseArgs(argv);
    if (invocation.compare) trouble.exitCode = 2;
    // Loaded late, the addon with it: help and usage errors need none of it.
    const { run } = await import('./run.js');
    return await run(invocation);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}
