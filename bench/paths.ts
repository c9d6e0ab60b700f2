import { join, resolve } from 'node:path';
import { cacheDirectory } from '../scripts/tools.mjs';

/** The project. The bundle lies in build, as deep below it as this file. */
export const root = join(import.meta.dirname, '..');

/** Kept between runs: what was built or downloaded, and images that do not fit into memory. */
export const benchCache = join(cacheDirectory, 'bench');

/** A tree of the user's, in place of the corpus. */
export const ownCorpus = process.env.FASTCP_CORPUS;
export const corpus = ownCorpus ? resolve(ownCorpus) : join(cacheDirectory, 'corpus/node_modules');
export const peers = join(cacheDirectory, 'peers/node_modules');
export const latest = join(root, 'bench/results/latest.json');
export const plotImage = join(root, 'bench/results/chart.svg');
export const allFigures = join(root, 'bench/results/figures.md');
export const readme = join(root, 'README.md');
export const performancePage = join(root, 'docs/performance.md');
