/** Removes trees that the library made or moved away: never through links, never into what is mounted. */
import { Answers } from './answers.js';
import { EventQueue } from './events.js';
import { checkRequest } from './options.js';
import { Report } from './result.js';
import { runEngine } from './run-engine.js';

/** A folder and all in it. Rejects where something cannot be removed. One that is not there is no error. */
export async function removeTree(path: Buffer): Promise<void> {
  const request = checkRequest(path, path, { onError: 'continue' });
  const root = { src: path, dest: path, followSrc: false, scope: 0, remove: true, isFolder: true };
  const text = (bytes: Buffer): string => bytes.toString();
  const walk = { roots: [root], into: false, shown: { src: text, dest: text } };
  const report = new Report([]);
  await runEngine(walk, Answers.prepareNow(walk, request), request, new EventQueue(), report);
  const [error] = report.result.errors;
  if (error) throw error;
}
