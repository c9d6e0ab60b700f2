#!/usr/bin/env node
import manifest from '../package.json' with { type: 'json' };
import type { Invocation } from './args.js';
import { readArguments } from './arguments.js';
import { guardedStream, Output, trouble } from './output.js';
import { asksForVersion, plainInvocation } from './plain.js';

main().then(
  // Not process.exit(), because output may still be waiting.
  (exitCode) => {
    process.exitCode ||= exitCode;
  },
  (error: Error) => {
    guardedStream('stderr').write(
      `fastcp: ${process.env.FASTCP_DEBUG ? error.stack : error.message}\n`,
    );
    process.exitCode = trouble.exitCode;
  },
);

/** Returns 0 if done, 1 if something failed, 2 for wrong usage, and 128 + n after signal n. */
async function main(): Promise<number> {
  const argv = readArguments();
  if (asksForVersion(argv)) {
    const out = Output.to('stdout', new AbortController().signal);
    await out.line(manifest.version);
    await out.flush();
    return 0;
  }
  const invocation = plainInvocation(argv) ?? (await withOptions(argv));
  if (typeof invocation === 'number') return invocation;
  // Loads the addon, which help and usage errors do not need.
  const { run } = await import('./run.js');
  return run(invocation);
}

/** Parses a command line with options. Returns the exit code if something else than a copy was asked for, and is done. */
async function withOptions(argv: readonly string[]): Promise<Invocation | number> {
  // Commander writes to both, and so does the doctor.
  guardedStream('stdout');
  guardedStream('stderr');
  const { parseArgs, usageExitCode } = await import('./args.js');
  try {
    const invocation = parseArgs(argv);
    if (invocation === 'doctor') {
      const { runDoctor } = await import('./doctor.js');
      return await runDoctor(argv);
    }
    if (!invocation.compare) return invocation;
    trouble.exitCode = 2;
    const { runCompare } = await import('./compare.js');
    return await runCompare(invocation);
  } catch (error) {
    const exitCode = usageExitCode(error);
    if (exitCode === undefined) throw error;
    if (exitCode > 0 && argv.includes('--json')) {
      const { usageLine } = await import('./report-json.js');
      guardedStream('stdout').write(`${usageLine(error as Error)}\n`);
    }
    return exitCode;
  }
}
